// SPDX-License-Identifier: BSL-1.0
'use strict';
// Streams: records that are made when they are asked for, batch by batch, with nothing in between on a disk.
const { c, Base, handle, options, sortOptions, register, told, count, text, texts,
	defaultContext } = require('./base');
const { Records, orderOf, bytesOf } = require('./records');
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

class Stream extends Base {
	/** source: what has batches or items of records; opts.count: how many there will be, if that is known. */
	constructor(records, source, { ctx = defaultContext(), count: n = ALL } = {}) {
		super();
		const r = Records.of(records), batches = batchesOf(source, r);
		const fn = register(() => batches.next().value ?? null, () => batches.return());
		this._made(c.emb_stream_source(handle(ctx), r.bytes, n, fn), { ctx, records: r });
	}

	/** The records of files, one after the other. */
	static file(records, paths, { ctx = defaultContext() } = {}) {
		const r = Records.of(records);
		return Object.create(Stream.prototype)._made(c.em_stream_file(handle(ctx), r.bytes, texts(paths)),
			{ ctx, records: r });
	}

	_made(h, { ctx, records }) {
		this.ctx = ctx;
		this.records = records;
		return this._own(h);
	}

	/** The node that a function of the module makes of this stream, which is no longer the caller's. */
	_node(h, records = this.records) {
		return Object.create(Stream.prototype)._made(h, { ctx: this.ctx, records: Records.of(records) });
	}

	_order(key) { return handle(orderOf(this.records, key, { ctx: this.ctx })); }

	_with(others) { return bytesOf(BigUint64Array.from([this, ...others], handle)); }

	_ask(what, fn, records = this.records) {
		const to = Records.of(records);
		const ask = (some) => {
			const made = fn(this.records.wrap(some));
			return what === c.EMB_INSPECT ? null : what === c.EMB_FILTER ? Uint8Array.from(made, Number)
				: what === c.EMB_FLAT_MAP && (made === null || made === undefined) ? null : to.many(made);
		};
		return this._node(c.emb_stream_node(this._h, what, to.bytes, register(ask)), to);
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
		const ask = (sum, some) => this.records.many(fn(this.records.wrap(sum), this.records.wrap(some)));
		return this._node(c.emb_stream_reduce(this._h, this._order(key), register(ask)));
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
		return got === null ? null : this.records.wrap(got);
	}

	*batches() {
		for (let batch = this.nextBatch(); batch !== null; batch = this.nextBatch())
			yield batch;
	}

	*[Symbol.iterator]() {
		for (const batch of this.batches())
			yield* this.records.items(bytesOf(batch));
	}

	/** Push all to a sorter, a container or a file: how many there were. */
	to(sink) {
		if (typeof sink === 'string')
			return count(c.emb_stream_to_file(this._h, handle(this.ctx), text(sink)));
		if (sink instanceof containers.Vector)
			return count(c.emb_stream_to_vector(this._h, handle(sink), c.em_vector_size(handle(sink))));
		const name = `emb_stream_to_${(sink._name || sink._prefix).slice(3, -1)}`;
		return count(c[name](this._h, handle(sink)));
	}

	/** How many records were not lent yet, or null: nobody knows. */
	get count() {
		const n = c.em_stream_count(this._h);
		return n === ALL ? null : count(n);
	}

	/** Of the sort that this stream is. */
	sortStats() { return told(c.em_stream_sort_stats_get(this._h)); }
}

module.exports = { Stream };
