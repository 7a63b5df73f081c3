// SPDX-License-Identifier: BSL-1.0
'use strict';
// Containers of any number of records of one size.
const { c, Base, defaultContext, options } = require('./base');
const { Records, Pairs, Order, orderOf, walk } = require('./records');

class Container extends Base {
	constructor(records, { items, ctx = defaultContext(), ...opts } = {}) {
		const r = Records.of(records);
		super(new.target._open(r, ctx, opts), ctx, r);
		if (items)
			this.extend(items);
	}

	static _open(records, ctx, opts) {
		return c[`em_${this.prototype._kind}_open`](ctx._h, options({ ...opts, record_bytes: records.bytes }));
	}
}

class Sequence extends Container {
	_at(i) {
		const n = BigInt(this.length), at = BigInt(i) < 0n ? BigInt(i) + n : BigInt(i);
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

	*batches() {
		for (let at = 0; at < this.length; at += this.records.chunk)
			yield this.slice(at, at + this.records.chunk);
	}

	[Symbol.iterator]() { return walk(this); }
}

class Vector extends Sequence {
	static _open(records, ctx, opts) { return super._open(records, ctx, { ...opts, mode: opts.mode ?? 'r+' }); }
}

class Deque extends Sequence {}

class Stack extends Container {}

class Queue extends Container {}

class PriorityQueue extends Container {
	static _open(records, ctx, { key, cmp, ...opts }) {
		return c.em_pq_open(ctx._h, options({ ...opts, order: orderOf(records, key, { cmp, ctx }) }));
	}
}

class RadixHeap extends Container {
	static _open(records, ctx, opts) {
		return super._open(records, ctx, { ...opts, key: records.order(opts.key) });
	}
}

class BTree extends Container {
	constructor(key, value = 0, { entries = [], order, ctx = defaultContext(), ...opts } = {}) {
		const pairs = new Pairs(Records.of(key), Records.of(value));
		const by = order instanceof Order ? order : new Order(pairs.bytes, pairs.order(order), { ctx });
		super(pairs, { ...opts, ctx, order: by });
		this.order = by;
		for (const [k, v] of entries)
			this.set(k, v);
	}

	static _open(records, ctx, { order, path, ...opts }) {
		return path === undefined ? c.em_btree_open(ctx._h, order._h, options(opts))
			: c.em_btree_open_file(ctx._h, path, order._h, options(opts));
	}

	*range(from, to, { reverse } = {}) {
		const cursor = this.cursor(), [low, high] = [from, to].map((key) => this.records.bound(key));
		const walk = (begin) => this._item(c.emb_btree_walk(cursor._h, low, high, begin, reverse ? 1 : 0));
		try {
			for (let entry = walk(1); entry; entry = walk(0))
				yield entry;
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
	constructor(tree) { super(c.em_btree_cursor_open(tree._h), tree._ctx, tree.records); }
}

module.exports = { Vector, Deque, Stack, Queue, PriorityQueue, RadixHeap, BTree, Cursor };
