// SPDX-License-Identifier: BSL-1.0
'use strict';
// Streams: records that are made when they are asked for, batch by batch, with nothing in between on a disk.
const { c, ALL, Base, constant, defaultContext, made, options, register, until } = require('./base');
const { LINES, Records, isBytes, keyed, orderOf, walk } = require('./records');

/** What has records batch by batch. */
class Batches extends Base {
	/** It, ready to be read. */
	_finished() { return this; }

	*batches() { yield* until(() => this._finished().nextBatch()); }

	/** So many of the batch with this mark come again; the mark of the last one. */
	_back(mark, n) { return this.closed ? 0 : this._do('back', mark, n); }

	[Symbol.iterator]() { return walk(this); }
}

/** Batches of anything that has some: a function, a sorter, a container, an iterable of batches or of items. */
function* batchesOf(source, records) {
	const batches = typeof source === 'function' ? until(source) : isBytes(source) ? [source] : source.batches?.();
	if (batches) {
		for (const batch of batches)
			yield records.many(batch);
	} else {
		const some = [];
		for (const one of source) {
			const batch = ArrayBuffer.isView(one) && (one.byteLength !== records.bytes || records.Array);
			if (!batch && some.push(one) < 4096)
				continue;
			yield records.many(some.splice(0));
			if (batch)
				yield records.many(one);
		}
		yield records.many(some);
	}
}

class Stream extends Batches {
	constructor(records, source, { ctx = defaultContext(), count = ALL } = {}) {
		const r = Records.of(records), batches = batchesOf(source, r);
		const more = register(() => batches.next().value ?? null, () => batches.return());
		super(c.emb_stream_source(ctx._h, r.bytes, count, more), ctx, r);
	}

	join(other, left, right = left, { kind = 'inner', fn, records, separator, memory_bytes = 0 } = {}) {
		const one = kind === 'semi' || kind === 'anti' || this.records === LINES;
		const to = Records.of(records ?? (one ? this.records : beside(this, other)));
		const item = (of, record) => record && of.records.unpack(record);
		const ask = fn ? register((a, b) => to.pack(fn(item(this, a), item(other, b)))) : 0;
		return made(Stream, c.emb_stream_join(this._h, other._h, constant('EM_JOIN', kind), keyed(this, left),
			keyed(other, right), to.bytes, separator ?? '', memory_bytes, ask), this._ctx, to);
	}

	to(sink, { format } = {}) {
		if (typeof sink === 'string' || sink instanceof Uint8Array)
			return this.records === LINES
				? c.emb_stream_to_lines(this._h, this._ctx._h, sink, options(format))
				: c.emb_stream_to_file(this._h, this._ctx._h, sink);
		const from = sink._kind === 'vector' ? [sink.length] : [];
		return c[`emb_stream_to_${sink._kind}`](this._h, sink._h, ...from);
	}
}

class Sink extends Base {
	constructor(records, fn, { ctx = defaultContext() } = {}) {
		const r = Records.of(records);
		super(c.emb_sink_function(ctx._h, r.bytes, register((some) => { fn(some && r.wrap(some)); })), ctx, r);
	}
}

class Runs extends Base {
	constructor(records, { key, cmp, combine, merge_memory = 0, ctx = defaultContext(), ...form } = {}) {
		const order = orderOf(records, key, { cmp, ctx });
		const adds = combine ? register(order.records.adding(combine)) : 0;
		super(c.emb_runs_open(ctx._h, order._h, options({ form, merge_memory }), adds), ctx, order.records);
		this.order = order;
	}
}

/** What a node has that makes records of batches: their size, and its function. */
function makes({ records }, fn, spec = records, flat = 0) {
	const to = Records.of(spec);
	if (to === LINES && !(flat && records === LINES))
		throw new TypeError('map() needs records: only flatMap() makes lines, of lines');
	return [to.bytes, register(records.asking(fn,
		(got) => got === null || got === undefined ? null : to.many(got)))];
}

/** Bytes of records side by side. */
const beside = (...streams) => streams.reduce((sum, one) => sum + one.records.bytes, 0);

/** What unique() has: with how many they were, a u64; of lines with that in front. */
const counted = ({ records }, how) => how !== true ? how || records : records === LINES ? LINES : records.bytes + 8;

const runsFlags = ({ sorted, more } = {}) => (sorted ? c.EM_RUNS_SORTED : 0) | (more ? c.EM_RUNS_MORE : 0);

module.exports = { Batches, Stream, Sink, Runs, beside, counted, makes, runsFlags };
