// SPDX-License-Identifier: BSL-1.0
'use strict';
// Streams: records that are made when they are asked for, batch by batch, with nothing in between on a disk.
const { c, Base, handle, options, sortOptions, register, told, count, text, texts,
	defaultContext } = require('./base');
const { Records, orderOf, bytesOf, ended, split } = require('./records');
const containers = require('./containers');

const ALL = 2n ** 64n - 1n;

/** Batches of anything that has some: a function, a sorter, a container, an iterable of batches or of items. */
function* batchesOf(source, records) {
	if (typeof source === 'function') {
		for (let batch = source(); batch !== null && batch !== undefined; batch = source())
			yield records.many(batch);
	} else if (ArrayBuffer.isView(source) || source instanceof ArrayBuffer) {
		yield records.many(source);
	} else if (source.batches) {
		yield* source.batches();
	} else {
		let some = [];
		for (const one of source) {
			const batch = ArrayBuffer.isView(one) && (one.byteLength !== records.bytes || records.type);
			if (!batch && some.push(one) < 4096)
				continue;
			if (some.length)
				yield records.many(some);
			some = [];
			if (batch)
				yield records.many(one);
		}
		yield records.many(some);
	}
}

const handles = (list) => bytesOf(BigUint64Array.from(list, handle));

const nameOf = (o) => (o._name || o._prefix).slice(3, -1);

/** An object for a handle. */
const made = (Class, h, ctx, records) => Object.assign(Object.create(Class.prototype), { ctx,
	records: records && Records.of(records) })._own(h);

/** A function that adds many records to a sum. */
const adding = (records, fn) => register((sum, some) => records.many(fn(records.wrap(sum), records.wrap(some))));

class Stream extends Base {
	/** source: what has batches or items of records; opts.count: how many there will be, if that is known. */
	constructor(records, source, { ctx = defaultContext(), count: n = ALL } = {}) {
		super();
		const r = Records.of(records), batches = batchesOf(source, r);
		const fn = register(() => batches.next().value ?? null, () => batches.return());
		Object.assign(this, { ctx, records: r })._own(c.emb_stream_source(handle(ctx), r.bytes, n, fn));
	}

	/** The records of files, one after the other. */
	static file(records, paths, { ctx = defaultContext() } = {}) {
		const r = Records.of(records);
		return made(Stream, c.em_stream_file(handle(ctx), r.bytes, texts(paths)), ctx, r);
	}

	/** The lines of files; format: fields of em_format, which say how other records of any length stand there. */
	static lines(paths, { format, ctx = defaultContext() } = {}) {
		return made(Stream, c.em_stream_lines(handle(ctx), texts(paths), options(format)), ctx, null);
	}

	/** The node that a function of the module makes of this stream, which is no longer the caller's. */
	_node(h, records = this.records) { return made(Stream, h, this.ctx, records); }

	_order(key) { return handle(orderOf(this.records ?? 'lines', key, { ctx: this.ctx })); }

	_with(others) { return handles([this, ...others]); }

	_ask(what, fn, records = this.records) {
		const to = records && Records.of(records);
		const ask = (some, ends) => {
			const got = fn(this.records ? this.records.wrap(some) : split(some, ends));
			return what === c.EMB_INSPECT ? null : what === c.EMB_FILTER ? Uint8Array.from(got, Number)
				: what === c.EMB_FLAT_MAP && (got === null || got === undefined) ? null : to.many(got);
		};
		if (!to && what === c.EMB_MAP)
			throw new TypeError('map() of lines needs records: what they become');
		return this._node(c.emb_stream_node(this._h, what, to?.bytes ?? 0, register(ask)), to);
	}

	/** As many records, of this kind or another, as fn gets in a batch. */
	map(fn, records) { return this._ask(c.EMB_MAP, fn, records); }

	/** Any number of records for those of a batch; null: none. */
	flatMap(fn, records) { return this._ask(c.EMB_FLAT_MAP, fn, records); }

	/** fn(batch) gives what is true or false for each record. */
	filter(fn) { return this._ask(c.EMB_FILTER, fn); }

	/** fn(batch) looks at what goes by. */
	inspect(fn) { return this._ask(c.EMB_INSPECT, fn); }

	/** Of neighbours with equal keys one record: fn(sum, batch) gives the sum with those of the batch. */
	reduce(fn, key) {
		return this._node(c.emb_stream_reduce(this._h, this._order(key), adding(this.records, fn)));
	}

	/** As sort() and reduce() behind it, which adds before anything is written: sums must not depend on the order of
	 *  what is added, nor change how records are sorted. */
	sortReduce(fn, { key, ...opts } = {}) {
		return this._node(c.emb_stream_sort_reduce(this._h, this._order(key), options(sortOptions(opts)),
			adding(this.records, fn)));
	}

	/** What stays, while fn(batch) tells of each record where it goes: 0, or the number of a sink, from 1. */
	split(fn, ...sinks) {
		const ask = (some) => bytesOf(Uint32Array.from(fn(this.records.wrap(some)), Number));
		return this._node(c.emb_stream_split(this._h, handles(sinks), register(ask)));
	}

	sort({ key, ...opts } = {}) {
		return this._node(c.em_stream_sort(this._h, this._order(key), options(sortOptions(opts))));
	}

	/** Of neighbours that are equal the first; counted: followed by how many they were, as a u64. */
	unique(key, { counted } = {}) {
		const records = counted ? counted === true ? this.records.bytes + 8 : counted : this.records;
		return this._node(c.em_stream_unique(this._h, this._order(key), counted ? c.EM_UNIQUE_COUNT : 0), records);
	}

	concat(...others) { return this._node(c.em_stream_concat(this._with(others))); }

	merge(others, key) { return this._node(c.em_stream_merge(this._with(others), this._order(key))); }

	/** Records of all side by side, as records of the kind that is said. */
	zip(others, records) {
		const bytes = [this, ...others].reduce((sum, one) => sum + one.records.bytes, 0);
		return this._node(c.em_stream_zip(this._with(others)), records ?? bytes);
	}

	/** 'union', 'intersection', 'difference' or 'symmetric' of two sorted streams. */
	set(operation, other, key) {
		return this._node(c.em_stream_set(this._h, handle(other), this._order(key),
			c[`EM_SET_${operation.toUpperCase()}`] ?? 99));
	}

	/** Two streams that are sorted by fields; kind: 'inner', 'left', 'full', 'semi', 'anti'.  Without fn(left, right),
	 *  which get null where there is none, records are those of both, side by side. */
	join(other, left, right = left, { kind = 'inner', fn, records, memory_bytes = 0 } = {}) {
		const one = kind === 'semi' || kind === 'anti';
		const to = Records.of(records ?? (one ? this.records : this.records.bytes + other.records.bytes));
		const seen = (r, b) => b === null ? null : r.unpack(b);
		const ask = fn && register((a, b) => to.pack(fn(seen(this.records, a), seen(other.records, b))));
		return this._node(c.emb_stream_join(this._h, handle(other), c[`EM_JOIN_${kind.toUpperCase()}`] ?? 99,
			text(this.records.order(left)), text(other.records.order(right)), to.bytes, memory_bytes, ask || 0),
			to);
	}

	/** It, of whose graph fn(phase, done, total) is told how far that got, as graphInfo() says; what is true stops it. */
	progress(fn) {
		const tell = register((phase, done, total) => fn(phase, Number(done), Number(total)));
		return this._node(c.emb_stream_progress(this._h, tell));
	}

	slice(skip = 0, take = ALL) { return this._node(c.em_stream_slice(this._h, skip, take)); }

	take(n) { return this.slice(0, n); }

	skip(n) { return this.slice(n); }

	reverse({ memory_bytes = 0 } = {}) { return this._node(c.em_stream_reverse(this._h, memory_bytes)); }

	/** A field, a number of 64 bits, becomes its sum with those of all records before. */
	prefixSum(field) { return this._node(c.emb_stream_sums(this._h, text(this.records.order(field)))); }

	/** Each window of n neighbours as one record. */
	window(n, step = 1, records = this.records.bytes * n) {
		return this._node(c.emb_stream_window(this._h, n, step), records);
	}

	/** Two streams of all records; spill: what one has read and the other has not may go to scratch. */
	tee({ spill = false, buffer_bytes = 0 } = {}) {
		return c.emb_stream_tee(this._h, spill ? 1 : 0, buffer_bytes).map((h) => this._node(h));
	}

	/** Lend and work on so many records at a time. */
	batch(n) {
		c.em_stream_batch(this._h, n);
		return this;
	}

	/** The next records, which are a copy, or null behind the last. */
	nextBatch() {
		const got = c.em_stream_next(this._h);
		return got === null ? null : this.records ? this.records.wrap(got) : split(...got);
	}

	*batches() {
		for (let batch = this.nextBatch(); batch !== null; batch = this.nextBatch())
			yield batch;
	}

	*[Symbol.iterator]() {
		for (const batch of this.batches())
			yield* this.records ? this.records.items(bytesOf(batch)) : batch;
	}

	/** Push all that there is to a Sink, which is left open: how many these were. */
	pump(sink) { return count(c.em_stream_pump(this._h, handle(sink))); }

	/** Push all to a sorter, a container or a file, of which format may say how lines stand there: how many there were. */
	to(sink, { format } = {}) {
		if (typeof sink === 'string' && !this.records)
			return count(c.emb_stream_to_lines(this._h, handle(this.ctx), text(sink), options(format)));
		if (typeof sink === 'string')
			return count(c.emb_stream_to_file(this._h, handle(this.ctx), text(sink)));
		if (sink instanceof containers.Vector)
			return count(c.emb_stream_to_vector(this._h, handle(sink), c.em_vector_size(handle(sink))));
		return count(c[`emb_stream_to_${nameOf(sink)}`](this._h, handle(sink)));
	}

	/** How many records were not lent yet, or null: nobody knows. */
	get count() {
		const n = c.em_stream_count(this._h);
		return n === ALL ? null : count(n);
	}

	/** Of the sort that this stream is. */
	sortStats() { return told(c.em_stream_sort_stats_get(this._h)); }

	/** Of the runs of the sortReduce() that this stream is. */
	runsInfo() { return told(c.em_stream_runs_info_get(this._h)); }

	/** What its graph takes of memory, and how far that got. */
	graphInfo() { return told(c.em_stream_graph_info_get(this._h)); }
}

/** Where records are pushed to: fn(batch), and fn(null) when it is finished. */
class Sink extends Base {
	constructor(records, fn, { ctx = defaultContext() } = {}) {
		super();
		const r = this.records = Records.of(records);
		const ask = (some) => { fn(some && r.wrap(some)); };
		this._own(c.emb_sink_function(handle(ctx), r.bytes, register(ask)));
	}

	/** A file, which is there when it is finished. */
	static file(records, path, { ctx = defaultContext() } = {}) {
		const r = Records.of(records);
		return made(Sink, c.em_sink_file(handle(ctx), r.bytes, text(path)), ctx, r);
	}

	/** A file of lines, or of other records of any length, as Stream.lines() has them. */
	static lines(path, { format, ctx = defaultContext() } = {}) {
		return made(Sink, c.em_sink_lines(handle(ctx), text(path), options(format)), ctx, null);
	}

	/** Nothing: they are counted. */
	static discard(records, { ctx = defaultContext() } = {}) {
		const r = Records.of(records);
		return made(Sink, c.em_sink_discard(handle(ctx), r.bytes), ctx, r);
	}

	/** A buffer, or an iterable of items; of lines, strings or buffers without their newlines. */
	push(data) {
		if (this.records)
			c.em_sink_push(this._h, this.records.many(data));
		else
			c.emb_sink_push_lines(this._h, ended(data));
		return this;
	}

	finish() { c.em_sink_finish(this._h); }

	get length() { return count(c.em_sink_count(this._h)); }
}

/** Sorted runs: formed once, merged as often as one likes, also in parts; then cleared, and formed anew. */
class Runs extends Base {
	/** combine(sum, batch) makes one of equal records, as of reduce(); opts: the fields of em_sort_opts, for forming. */
	constructor(records, { key, cmp, combine, merge_memory = 0, ctx = defaultContext(), ...opts } = {}) {
		super();
		this.ctx = ctx;
		this.order = orderOf(records, key, { cmp, ctx });
		this.records = this.order.records;
		this._own(c.emb_runs_open(handle(ctx), handle(this.order), options({ form: sortOptions(opts), merge_memory }),
			combine ? adding(this.records, combine) : 0), this.order);
	}

	/** Add records in any order. */
	push(data) {
		c.em_runs_push(this._h, this.records.many(data));
		return this;
	}

	/** Add records of a sorted sequence, which goes on with the next call, and ends with end(). */
	append(data) {
		c.em_runs_append(this._h, this.records.many(data));
		return this;
	}

	end() { c.em_runs_end(this._h); }

	/** Add what a stream has, which stays the caller's, at its end; sorted: it is a sorted sequence. */
	feed(stream, { sorted } = {}) { c.emb_runs_feed(this._h, handle(stream), sorted ? c.EM_RUNS_SORTED : 0); }

	/** A Sink that adds, and finishes the runs when it is finished; more: it ends a sequence. */
	sink({ sorted, more } = {}) {
		const flags = (sorted ? c.EM_RUNS_SORTED : 0) | (more ? c.EM_RUNS_MORE : 0);
		return made(Sink, c.em_sink_runs(this._h, flags), this.ctx, this.records);
	}

	finish() {
		c.em_runs_finish(this._h);
		return this;
	}

	clear() { c.em_runs_clear(this._h); }

	/** The records from one to before another one; of these `take' behind the first `skip'.  The runs stay, also for
	 *  other merges at the same time. */
	merge({ from, to, skip = 0, take = ALL, memory = 0 } = {}) {
		const [low, high] = [from, to].map((item) => item === undefined ? null : this.records.pack(item));
		return made(Stream, c.emb_runs_merge(this._h, low, high, skip, take, memory), this.ctx, this.records);
	}

	cancel() { c.cancel(this._h); }

	info() { return told(c.em_runs_info_get(this._h)); }
}

/** Containers and sorters are where streams take records from, and what sinks push to.  Either may be used as long as it
 *  is open, also when what it is on was closed, which is done then. */
function flowing(Class) {
	/** Records as a Stream: of vectors and deques those of [from, to), of trees those whose keys are at least from and
	 *  less than to.  Stacks, queues, priority queues and sorters give theirs away. */
	Class.prototype.stream = function ({ from, to, reverse } = {}) {
		const name = nameOf(this), n = this.length;
		const args = name === 'vector' || name === 'deque'
			? [from ?? 0, Math.max((to ?? n) - (from ?? 0), 0), reverse ? c.EM_VECTOR_REVERSE : 0]
			: name === 'btree' ? [this._key(from), this._key(to)] : [];
		return made(Stream, c[`em_stream_${name}`](this._h, ...args), this._ctx, this.records);
	};
	/** A Sink to it: over records of a vector from a position on, or behind the last one. */
	Class.prototype.sink = function ({ from } = {}) {
		const name = nameOf(this), args = name === 'vector' ? [from ?? this.length] : name === 'btree' ? [options()] : [];
		return made(Sink, c[`em_sink_${name}`](this._h, ...args), this._ctx, this.records);
	};
}
flowing(containers.Container);

module.exports = { Stream, Sink, Runs, flowing };
