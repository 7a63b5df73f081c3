// SPDX-License-Identifier: BSL-1.0
'use strict';
// Containers of any number of records of one size.
const { c, Base, handle, options, sortOptions, register, told, count, text, defaultContext } = require('./base');
const { Records, Order, orderOf, bytesOf } = require('./records');

/** A container with the functions em_NAME_...(); opts are the fields of its options. */
class Container extends Base {
	_begin(name, records, h, ctx) {
		this.records = Records.of(records);
		this._ctx = ctx;
		this._name = `em_${name}_`;
		this._own(h);
	}

	_plain(name, records, ctx, opts) {
		const all = options({ ...opts, record_bytes: Records.of(records).bytes });
		this._begin(name, records, c[`em_${name}_open`](handle(ctx), all), ctx);
	}

	_do(name, ...rest) { return c[this._name + name](this._h, ...rest); }

	_item(record) { return record === null ? undefined : this.records.unpack(record); }

	get length() { return count(this._do('size')); }

	stats() { return told(this._do('stats_get')); }

	clear() { this._do('clear'); }
}

/** What has positions. */
class Sequence extends Container {
	_at(i) {
		const n = this._do('size');
		const at = BigInt(i) < 0n ? BigInt(i) + n : BigInt(i);
		if (at < 0n || at >= n)
			throw new RangeError(`there is no record ${i}`);
		return at;
	}

	get(i) { return this._item(this._do('get', this._at(i))); }

	set(i, item) { this._do('set', this._at(i), this.records.pack(item)); }

	/** Fill a TypedArray or buffer with the records from i on. */
	readInto(i, room) {
		this._do('read', i, room);
		return room;
	}

	/** The records [begin, end). */
	slice(begin = 0, end = this.length) {
		const stop = Math.min(Number(end), Number(this.length));
		return this.records.wrap(this.readInto(begin, this.records.room(Math.max(stop - Number(begin), 0))));
	}

	write(i, data) { this._do('write', i, this.records.many(data)); }

	*[Symbol.iterator]() {
		for (let at = 0; at < this.length; ) {
			const some = bytesOf(this.slice(at, at + this.records.chunk));
			at += some.byteLength / this.records.bytes;
			yield* this.records.items(some);
		}
	}
}

const MODES = { r: c.EM_VECTOR_READ_ONLY, 'r+': c.EM_VECTOR_CREATE, w: c.EM_VECTOR_CREATE | c.EM_VECTOR_TRUNCATE };

/** An array on disks with a cache; with path, the file is the array (mode 'r', 'r+' or 'w'). */
class Vector extends Sequence {
	constructor(records, { items, path, mode = 'r+', ctx = defaultContext(), ...opts } = {}) {
		super();
		if (path !== undefined && !(mode in MODES))
			throw new TypeError(`there is no mode ${mode}`);
		if (path !== undefined)
			opts = { ...opts, path, flags: (opts.flags || 0) | MODES[mode] };
		this._plain('vector', records, ctx, opts);
		if (items)
			this.extend(items);
	}

	push(item) { this._do('push', this.records.pack(item)); }

	extend(items) { return count(this._do('push_many', this.records.many(items))); }

	resize(n) { this._do('resize', n); }

	clear() { this.resize(0); }

	/** The records of these positions, many read at a time. */
	readMany(positions) { return this.records.wrap(this._do('read_many', new Records('u64').many(positions))); }

	flush(durable = false) { this._do('flush', durable ? 1 : 0); }

	export(file) { this._do('export', text(file)); }

	/** Sort in place: how many are left in front, which are fewer with unique. */
	sort({ key, ...opts } = {}) {
		const order = orderOf(this.records, key, { ctx: this._ctx });
		return count(this._do('sort', 0, this._do('size'), handle(order), options(sortOptions(opts))));
	}

	shuffle({ seed = 0, ...opts } = {}) { this._do('shuffle', 0, this._do('size'), seed, options(sortOptions(opts))); }

	reverse() { this._do('reverse', 0, this._do('size')); }

	fill(item) { this._do('fill', 0, this._do('size'), this.records.pack(item)); }

	_scan(name, fn) { return this._do(name, 0, this._do('size'), register(fn)); }

	/** fn(many records, position) of all in order. */
	forEach(fn) { this._scan('for_each', (i, some) => fn(this.records.wrap(some), count(i))); }

	/** The same, of records that may be changed. */
	mutate(fn) { this._scan('mutate', (i, some) => fn(this.records.wrap(some), count(i))); }

	/** The position of the first record for which fn is true, or -1. */
	findIndex(fn) {
		const at = this._scan('find', (record) => fn(this.records.unpack(record)));
		return at === null ? -1 : count(at);
	}

	count(fn) { return count(this._scan('count', (record) => fn(this.records.unpack(record)))); }

	/** Those for which fn is true come first: how many these are. */
	partition(fn) { return count(this._scan('partition', (record) => fn(this.records.unpack(record)))); }

	/** The first position whose record is not less, in a vector that is sorted. */
	lowerBound(item, { key } = {}) {
		const order = orderOf(this.records, key, { ctx: this._ctx });
		return count(this._do('lower_bound', 0, this._do('size'), handle(order), this.records.pack(item)));
	}
}

/** Records enter and leave at both ends. */
class Deque extends Sequence {
	constructor(records, { items, ctx = defaultContext(), ...opts } = {}) {
		super();
		this._plain('deque', records, ctx, opts);
		if (items)
			this.extend(items);
	}

	push(item) { this._do('push_back', this.records.pack(item)); }

	unshift(item) { this._do('push_front', this.records.pack(item)); }

	pop() { return this._item(this._do('pop_back')); }

	shift() { return this._item(this._do('pop_front')); }

	extend(items) { return count(this._do('push_back_many', this.records.many(items))); }
}

/** What is pushed, popped and looked at, one record or many; nothing there is undefined. */
class Ends extends Container {
	push(item) { this._do('push', this.records.pack(item)); }

	extend(items) { return count(this._do('push_many', this.records.many(items))); }

	pop() { return this._item(this._do('pop')); }

	/** Up to n; of a stack in the order in which they were pushed. */
	popMany(n) {
		const room = this.records.room(Math.min(n, Number(this.length)));
		this._do('pop_many', room);
		return this.records.wrap(room);
	}

	peek() { return this._item(this._do(this._peek)); }

	/** Take out item after item. */
	*drain() {
		while (this.length > 0)
			yield* this.records.items(bytesOf(this.popMany(this.records.chunk)));
	}
}

/** What was pushed last is popped first. */
class Stack extends Ends {
	constructor(records, { ctx = defaultContext(), ...opts } = {}) {
		super();
		this._peek = 'peek';
		this._plain('stack', records, ctx, opts);
	}
}

/** What was pushed first is popped first. */
class Queue extends Ends {
	constructor(records, { ctx = defaultContext(), ...opts } = {}) {
		super();
		this._peek = 'front';
		this._plain('queue', records, ctx, opts);
	}
}

/** The first record of an order comes out, whatever has been pushed. */
class PriorityQueue extends Ends {
	constructor(records, { key, cmp, ctx = defaultContext(), ...opts } = {}) {
		super();
		const order = orderOf(records, key, { cmp, ctx });
		this._peek = 'top';
		this._begin('pq', order.records, c.em_pq_open(handle(ctx), options({ ...opts, order })), ctx);
	}

	pushpop(item) { return this._item(this._do('pushpop', this.records.pack(item))); }

	replace(item) { return this._item(this._do('replace', this.records.pack(item))); }

	/** Up to n records that come before a bound. */
	popUntil(bound, { n = 1 << 16, inclusive } = {}) {
		const room = this.records.room(Math.min(n, Number(this.length)));
		const got = this._do('pop_until', this.records.pack(bound), inclusive ? c.EM_PQ_INCLUSIVE : 0, room);
		return this.records.wrap(room.subarray(0, Number(got ?? 0) * this.records.bytes));
	}
}

/** A priority queue for keys that are numbers and never go back: key names the field. */
class RadixHeap extends Ends {
	constructor(records, { key, ctx = defaultContext(), ...opts } = {}) {
		super();
		const r = Records.of(records);
		this._peek = 'top';
		this._plain('radix_heap', r, ctx, { ...opts, key: r.order(key) });
	}

	/** The key that was popped last: a later one may not be less. */
	get last() { return this._do('last'); }
}

/** A B+-tree: a sorted map.  With path, one that was saved, to be read. */
class BTree extends Container {
	constructor(key, value = 0, { entries, order, path, ctx = defaultContext(), ...opts } = {}) {
		super();
		this.keys_ = Records.of(key);
		this.values_ = Records.of(value);
		const bytes = this.keys_.bytes + this.values_.bytes;
		this.order = orderOf(bytes, order instanceof Order ? order : this.keys_.order(order), { ctx });
		this._begin('btree', bytes, path === undefined
			? c.em_btree_open(handle(ctx), handle(this.order), options(opts))
			: c.em_btree_open_file(handle(ctx), text(path), handle(this.order), options(opts)), ctx);
		for (const [k, v] of entries || [])
			this.set(k, v);
	}

	get size() { return this.length; }

	_entry(record) {
		const n = this.keys_.bytes;
		return record === null ? undefined : [this.keys_.unpack(record.subarray(0, n)),
			this.values_.bytes ? this.values_.unpack(record.subarray(n)) : undefined];
	}

	_record(key, value) {
		const record = new Uint8Array(this.records.bytes);
		record.set(this.keys_.pack(key));
		if (this.values_.bytes)
			record.set(this.values_.pack(value), this.keys_.bytes);
		return record;
	}

	_key(key) { return key === undefined || key === null ? null : this.keys_.pack(key); }

	get(key) { return this._entry(this._do('get', this.keys_.pack(key)))?.[1]; }

	has(key) { return this._do('get', this.keys_.pack(key)) !== null; }

	set(key, value) {
		this._do('upsert', this._record(key, value));
		return this;
	}

	delete(key) { return this._do('erase', this.keys_.pack(key)) !== null; }

	/** Entries whose keys are at least from and less than to, in order; the tree may change meanwhile. */
	*range(from, to, { reverse } = {}) {
		const cursor = this.cursor();
		const [first, last] = reverse ? [to, from] : [from, to];
		const bound = last === undefined || last === null ? null : this._record(last, this._zero());
		const how = !reverse ? c.EM_BTREE_GE : first === undefined ? c.EM_BTREE_LE : c.EM_BTREE_LT;
		try {
			let record = c.em_btree_cursor_seek(handle(cursor), this._key(first), how) ? null
				: c.em_btree_cursor_get(handle(cursor));
			while (record !== null) {
				if (bound) {
					const key = new Uint8Array(this.records.bytes);
					key.set(record.subarray(0, this.keys_.bytes));
					const side = c.em_order_compare(handle(this.order), key, bound);
					if (reverse ? side < 0 : side >= 0)
						return;
				}
				yield this._entry(record);
				record = c[`em_btree_cursor_${reverse ? 'prev' : 'next'}`](handle(cursor));
			}
		} finally {
			cursor.close();
		}
	}

	_zero() { return this.values_.bytes ? this.values_.unpack(new Uint8Array(this.values_.bytes)) : undefined; }

	[Symbol.iterator]() { return this.range(); }

	entries() { return this.range(); }

	*keys() {
		for (const [key] of this.range())
			yield key;
	}

	*values() {
		for (const [, value] of this.range())
			yield value;
	}

	first() { return this._entry(this._do('min')); }

	last() { return this._entry(this._do('max')); }

	popFirst() { return this._entry(this._do('pop_min')); }

	popLast() { return this._entry(this._do('pop_max')); }

	/** How many keys are at least from and at most to. */
	count(from, to) { return count(this._do('count', this._key(from), this._key(to))); }

	/** Take out keys that are at least from and less than to: how many. */
	deleteRange(from, to) { return count(this._do('erase_range', this._key(from), this._key(to))); }

	/** Add or overwrite a buffer of keys with values: how many are new. */
	setRecords(data) { return count(this._do('upsert_many', data)); }

	/** For a buffer or an iterable of keys: records, and for each a byte that is 1 where there is one. */
	getMany(keys) {
		const [, records, found] = this._do('get_many', this.keys_.many(keys));
		return { records, found };
	}

	/** Fill an empty tree with all that a Sorter of whole records, by the order of the tree, has. */
	load(sorter) { this._do('load_sorted', handle(sorter), options()); }

	save(file) { this._do('save', text(file)); }

	verify() { this._do('verify'); }

	cursor() { return new Cursor(this); }
}

/** A place in a tree, which stays where it is while that changes.  Methods return an entry, or undefined. */
class Cursor extends Base {
	constructor(tree) {
		super();
		this._tree = tree;
		this._own(c.em_btree_cursor_open(handle(tree)), tree);
	}

	/** To the first key that is not less; how: 'ge', 'gt', 'le', 'lt'. */
	seek(key, how = 'ge') {
		const at = c[`EM_BTREE_${how.toUpperCase()}`];
		return c.em_btree_cursor_seek(this._h, this._tree._key(key), at) ? undefined : this.get();
	}

	get() { return this._tree._entry(c.em_btree_cursor_get(this._h)); }

	next() { return this._tree._entry(c.em_btree_cursor_next(this._h)); }

	prev() { return this._tree._entry(c.em_btree_cursor_prev(this._h)); }

	/** Take out the entry, and stand in the gap. */
	delete() { c.em_btree_cursor_erase(this._h); }
}

module.exports = { Container, Vector, Deque, Stack, Queue, PriorityQueue, RadixHeap, BTree, Cursor };
