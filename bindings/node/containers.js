// SPDX-License-Identifier: BSL-1.0
'use strict';
// Containers of any number of records of one size.
const { c, Base, defaultContext, options } = require('./base');
const { Records, Order, orderOf } = require('./records');

class Container extends Base {
	constructor(records, { items, ctx = defaultContext(), ...opts } = {}) {
		super();
		const r = Records.of(records);
		this._own(this._open(r, ctx, opts), ctx, r);
		if (items)
			this.extend(items);
	}

	_open(records, ctx, opts) {
		return c[`em_${this._kind}_open`](ctx._h, options({ ...opts, record_bytes: records.bytes }));
	}

	_item(record) { return record === null ? undefined : this.records.unpack(record); }
}

class Sequence extends Container {
	_at(i) {
		const n = this.length;
		const at = i < 0 ? BigInt(i) + BigInt(n) : BigInt(i);
		if (at < 0n || at >= n)
			throw new RangeError(`there is no record ${i}`);
		return at;
	}

	/** What a stream is of. */
	_part({ from = 0, to = this.length, reverse } = {}) {
		return [from, Math.max(to - from, 0), reverse ? c.EM_VECTOR_REVERSE : 0];
	}

	slice(begin = 0, end = this.length) {
		const size = Number(this.length);
		const [from, to] = [begin, end].map((i) => Math.trunc(Number(i)) || 0)
			.map((i) => i < 0 ? Math.max(i + size, 0) : Math.min(i, size));
		return this.records.filled(to - from, (room) => { this.readInto(from, room); });
	}

	*[Symbol.iterator]() {
		for (let at = 0; at < this.length; at += this.records.chunk)
			yield* this.records.items(this.slice(at, at + this.records.chunk));
	}
}

const MODES = { r: c.EM_VECTOR_READ_ONLY, 'r+': c.EM_VECTOR_CREATE, w: c.EM_VECTOR_CREATE | c.EM_VECTOR_TRUNCATE };

class Vector extends Sequence {
	_open(records, ctx, { mode = 'r+', ...opts }) {
		if (opts.path !== undefined && !(mode in MODES))
			throw new TypeError(`there is no mode ${mode}`);
		const flags = opts.path === undefined ? opts.flags : (opts.flags || 0) | MODES[mode];
		return super._open(records, ctx, { ...opts, flags });
	}
}

class Deque extends Sequence {}

class Ends extends Container {
	popMany(n) {
		return this.records.filled(Math.min(Math.trunc(Number(n)), Number(this.length)) || 0,
			(room) => { this._do('pop_many', room); });
	}

	*drain() {
		while (this.length > 0)
			yield this.pop();
	}
}

class Stack extends Ends {}

class Queue extends Ends {}

class PriorityQueue extends Ends {
	_open(records, ctx, { key, cmp, ...opts }) {
		return c.em_pq_open(ctx._h, options({ ...opts, order: orderOf(records, key, { cmp, ctx }) }));
	}

	popUntil(bound, { n = 1 << 16, inclusive } = {}) {
		const flags = inclusive ? c.EM_PQ_INCLUSIVE : 0;
		return this.records.filled(Math.min(n, Number(this.length)), (room) =>
			this._do('pop_until', this.records.pack(bound), flags, room) ?? 0);
	}
}

class RadixHeap extends Ends {
	_open(records, ctx, opts) { return super._open(records, ctx, { ...opts, key: records.order(opts.key) }); }
}

class BTree extends Container {
	constructor(key, value = 0, { entries = [], order, ctx = defaultContext(), ...opts } = {}) {
		const [keys, values] = [Records.of(key), Records.of(value)];
		const bytes = keys.bytes + values.bytes;
		const by = order instanceof Order ? order : new Order(bytes, keys.order(order), { ctx });
		super(bytes, { ...opts, ctx, order: by });
		Object.assign(this, { keys_: keys, values_: values, order: by });
		for (const [k, v] of entries)
			this.set(k, v);
	}

	_open(records, ctx, { order, path, ...opts }) {
		return path === undefined ? c.em_btree_open(ctx._h, order._h, options(opts))
			: c.em_btree_open_file(ctx._h, path, order._h, options(opts));
	}

	_entry(record) {
		const n = this.keys_.bytes;
		return record === null ? undefined : [this.keys_.unpack(record.subarray(0, n)),
			this.values_.bytes ? this.values_.unpack(record.subarray(n)) : undefined];
	}

	_key(key) { return key === undefined || key === null ? null : this.keys_.pack(key); }

	set(key, value) {
		const after = this.values_.bytes ? [this.values_.pack(value)] : [];
		this._do('upsert', Buffer.concat([this.keys_.pack(key), ...after]));
		return this;
	}

	*range(from, to, { reverse } = {}) {
		const cursor = this.cursor();
		const walk = (begin) => c.emb_btree_walk(cursor._h, this._key(from), this._key(to), begin, reverse ? 1 : 0);
		try {
			for (let record = walk(1); record !== null; record = walk(0))
				yield this._entry(record);
		} finally {
			cursor.close();
		}
	}

	[Symbol.iterator]() { return this.range(); }

	/** Keys, or values. */
	*_sides(which) {
		for (const entry of this.range())
			yield entry[which];
	}

	cursor() { return new Cursor(this); }
}

class Cursor extends Base {
	constructor(tree) {
		super();
		this._tree = tree;
		this._own(c.em_btree_cursor_open(tree._h));
	}

	_entry(record) { return this._tree._entry(record); }

	seek(key, how = 'ge') {
		return this._do('seek', this._tree._key(key), c[`EM_BTREE_${how.toUpperCase()}`]) ? undefined : this.get();
	}
}

module.exports = { Vector, Deque, Stack, Queue, PriorityQueue, RadixHeap, BTree, Cursor };
