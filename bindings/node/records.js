// SPDX-License-Identifier: BSL-1.0
'use strict';
// What records look like, and in which order they come.
const os = require('os');
const { c, Base, defaultContext, options } = require('./base');

const CHUNK = 1 << 20;
const LITTLE = os.endianness() === 'LE';
const NUMBERS = {
	__proto__: null,
	u64: BigUint64Array, i64: BigInt64Array, u32: Uint32Array, i32: Int32Array, u16: Uint16Array, i16: Int16Array,
	u8: Uint8Array, i8: Int8Array, f64: Float64Array, f32: Float32Array,
};

/** What is thrown where something else is. */
const wanted = (what, value) =>
	new TypeError(`${what} is wanted, and not ${value === null ? value : `a ${typeof value}`}`);

const isBytes = (a) => a instanceof ArrayBuffer || ArrayBuffer.isView(a);

function bytesOf(a) {
	if (!isBytes(a))
		throw wanted('a buffer', a);
	return ArrayBuffer.isView(a) ? new Uint8Array(a.buffer, a.byteOffset, a.byteLength) : new Uint8Array(a);
}

/** Many items, one by one. */
function each(data) {
	if (typeof data !== 'object' || typeof data?.[Symbol.iterator] !== 'function')
		throw new TypeError('what is many is a buffer, or an iterable of items');
	return data;
}
const viewOf = (a) => new DataView(a.buffer, a.byteOffset, a.byteLength);

/** A number among others. */
class Field {
	constructor(name, type, at) {
		if (!NUMBERS[type])
			throw new TypeError(`there are no numbers of the type ${type}`);
		Object.assign(this, { name, type, at, bytes: NUMBERS[type].BYTES_PER_ELEMENT });
		[this.get, this.set] = ['get', 'set'].map((how) => how + NUMBERS[type].name.replace('Array', ''));
	}

	load(view) { return view[this.get](this.at, LITTLE); }

	/** Never rounded, never cut off. */
	store(view, value) {
		const whole = this.bytes === 8 && this.type !== 'f64';
		if (typeof value !== 'number' && !(whole && typeof value === 'bigint'))
			throw wanted(`a ${whole ? 'BigInt or ' : ''}Number`, value);
		if (whole && typeof value === 'number' && !Number.isSafeInteger(value))
			throw new RangeError(`${value} is no exact number of 64 bits: use a BigInt`);
		value = whole ? BigInt(value) : value;
		view[this.set](this.at, value, LITTLE);
		if (this.load(view) !== value && !this.type.startsWith('f'))
			throw new RangeError(`${value} is no number of the type ${this.type}`);
	}

	/** As names of orders have it. */
	get key() { return `${this.type}${this.bytes > 1 ? LITTLE ? 'le' : 'be' : ''}@${this.at}`; }
}

/** What many records are for functions of the caller's, which have numbers in the module. */
class Shape {
	/** Its answer becomes what the module wants. */
	asking(fn, answer) { return (...some) => answer(fn(this.wrap(...some))); }

	/** Of a sum and records: makes the sum with them. */
	adding(fn) { return (sum, some) => this.many(fn(this.wrap(sum), this.wrap(some))); }

	visiting(fn) { return (i, some) => fn(this.wrap(some), i); }

	testing(fn) { return (record) => fn(this.unpack(record)); }

	/** Where a part begins or ends; null: nowhere. */
	bound(item) { return item === undefined || item === null ? null : this.pack(item); }
}

class Records extends Shape {
	/** 'u64', ...; a number of bytes; or { name: 'u64', ... }. */
	constructor(spec) {
		super();
		const named = { string: { value: spec }, number: {}, object: spec }[typeof spec];
		if (!named)
			throw new TypeError('records are a type of numbers, a number of bytes, or fields, ' +
				`and not ${spec}`);
		this.fields = [];
		this.bytes = typeof spec === 'number' ? spec : 0;
		for (const [name, type] of Object.entries(named)) {
			this.fields.push(new Field(name, type, this.bytes));
			this.bytes += this.fields.at(-1).bytes;
		}
		/** How many of them are an array, where they are numbers. */
		this.Array = typeof spec === 'string' ? NUMBERS[spec] : null;
	}

	static of(spec) { return spec instanceof Shape ? spec : spec === 'lines' ? LINES : new Records(spec); }

	pack(item) {
		const plain = this.fields.length === 0;
		if (plain && item.byteLength !== this.bytes)
			throw new RangeError(`records have ${this.bytes} bytes, and not ${item.byteLength}`);
		const out = plain ? bytesOf(item) : new Uint8Array(this.bytes);
		this.fields.forEach((field) => field.store(viewOf(out), this.Array ? item : item[field.name]));
		return out;
	}

	unpack(b) {
		if (!this.fields.length)
			return b;
		const view = viewOf(b);
		return this.Array ? this.fields[0].load(view)
			: Object.fromEntries(this.fields.map((field) => [field.name, field.load(view)]));
	}

	/** Items, or a buffer of records, as a buffer. */
	many(data) {
		if (!isBytes(data))
			return Buffer.concat(Array.from(each(data), (item) => this.pack(item)));
		if (![ArrayBuffer, Uint8Array, DataView, this.Array ?? DataView].some((Class) => data instanceof Class))
			throw new TypeError(`records of ${this.bytes} bytes are no ${data.constructor.name}`);
		return data;
	}

	/** Bytes as they are shown. */
	wrap(b) { return this.Array ? new this.Array(b.buffer, b.byteOffset, b.byteLength / this.bytes) : b; }

	/** Of what is shown: how many, and one of them. */
	count(some) { return some.byteLength / this.bytes; }

	item(some, i) {
		return this.Array ? some[i] : this.unpack(some.subarray(i * this.bytes, (i + 1) * this.bytes));
	}

	join(batches) {
		const all = Buffer.concat(batches.map(bytesOf));
		/* Small ones are a part of something, and may lie anywhere. */
		return this.wrap(all.byteOffset % 8 ? new Uint8Array(all) : bytesOf(all));
	}

	/** So many at most, which a function of the module puts there: how many these were, or all. */
	filled(most, fn) {
		const room = new Uint8Array(Math.max(Math.trunc(Number(most)) || 0, 0) * this.bytes);
		const got = fn(room);
		return this.wrap(got === undefined ? room : room.subarray(0, Number(got) * this.bytes));
	}

	get chunk() { return Math.max(Math.floor(CHUNK / this.bytes), 1); }

	/** The name of an order by fields: all, 'field', '-field', several, or as the library has it ('u64le@0:r'). */
	order(key) {
		if (typeof key === 'string' && key.includes('@'))
			return key;
		const names = typeof key === 'string' ? key.split(',') : key ?? this.fields.map(({ name }) => name);
		return names.map((one) => {
			const field = this.fields.find(({ name }) => name === one.replace(/^-/, ''));
			if (!field)
				throw new RangeError(`records have no field ${one}`);
			return field.key + (one.startsWith('-') ? ':r' : '');
		}).join(',') || `bytes${this.bytes}@0`;
	}
}

/** Keys with values behind them, which may have no bytes. */
class Pairs extends Records {
	constructor(keys, values) {
		super(keys.bytes + values.bytes);
		Object.assign(this, { keys, values });
	}

	pack([key, value]) {
		return Buffer.concat([this.keys.pack(key), ...this.values.bytes ? [this.values.pack(value)] : []]);
	}

	unpack(b) {
		const end = this.keys.bytes, value = b.subarray(end);
		return [this.keys.unpack(b.subarray(0, end)), value.length ? this.values.unpack(value) : undefined];
	}

	bound(key) { return this.keys.bound(key); }

	order(key) { return this.keys.order(key); }
}

/** Records of any length: lists of buffers, which the module has as bytes and where they end. */
class Lines extends Shape {
	bytes = 0;

	pack(line) { return typeof line === 'string' ? Buffer.from(line) : bytesOf(line); }

	unpack(line) { return Buffer.from(line.buffer, line.byteOffset, line.byteLength); }

	/** The first one is the sum. */
	adding(fn) { return this.asking(([sum, ...more]) => fn(sum, more), this.pack); }

	/** How many, where they end, and they. */
	many(lines) {
		const list = Array.from(each(lines), this.pack);
		let end = 0;
		const head = BigUint64Array.from([list.length, ...list.map((line) => end += line.byteLength)], BigInt);
		return Buffer.concat([bytesOf(head), ...list]);
	}

	wrap(lines, ends) {
		const all = this.unpack(lines);
		return Array.from(new BigUint64Array(ends.buffer, ends.byteOffset, ends.byteLength / 8), Number)
			.map((end, i, at) => all.subarray(i ? at[i - 1] : 0, end));
	}

	count(some) { return some.length; }

	item(some, i) { return some[i]; }

	join(batches) { return batches.flat(); }

	/** Options of the command. */
	order(key) { return key ?? ''; }
}
const LINES = new Lines();

/** The items of what has batches.  A generator would take twice as long for a number. */
function walk(object) {
	const batches = object.batches(), { records } = object;
	let some, n = 0, at = 0, mark = 0;
	return {
		next() {
			while (at === n) {
				const one = batches.next();
				if (one.done)
					return one;
				[some, n, at, mark] = [one.value, records.count(one.value), 0, object._back?.(0, 0)];
			}
			return { done: false, value: records.item(some, at++) };
		},
		/** The loop is left. */
		return() {
			object._back?.(mark, n - at);
			at = n;
			return batches.return();
		},
		[Symbol.iterator]() { return this; },
	};
}

class Order extends Base {
	/** key: fields, options of the command for 'lines', or a function of many records, to a BigUint64Array. */
	constructor(records, key, { cmp, ctx = defaultContext() } = {}) {
		const r = Records.of(records);
		if (r === LINES && (cmp || typeof key === 'function'))
			throw new TypeError('lines are sorted by options of the command');
		const by = (fn) => options({ record_size: r.bytes, fn });
		super(r === LINES ? c.emb_order_options(ctx._h, r.order(key))
			: cmp ? c.em_order_cmp(ctx._h, by((a, b) => compared(cmp(r.unpack(a), r.unpack(b)))))
				: typeof key === 'function' ? c.em_order_key_fn(ctx._h, by(keysBy(key, r)))
					: c.em_order_parse(ctx._h, r.bytes, r.order(key)), ctx, r);
	}

	compare(a, b) {
		const name = this.records === LINES ? 'em_text_compare' : 'em_order_compare';
		return c[name](this._h, this.records.pack(a), this.records.pack(b));
	}
}

function compared(result) {
	if (typeof result !== 'number')
		throw wanted('a Number, below, at or above 0, from a comparison', result);
	return result;
}

const keysBy = (fn, records) => (some, n) => {
	const keys = fn(records.wrap(some));
	if (!(keys instanceof BigUint64Array) || keys.length !== n)
		throw new TypeError(`the function of the keys has to give a BigUint64Array of ${n}`);
	return keys;
};

const orderOf = (records, key, opts) => key instanceof Order ? key : new Order(records, key, opts);

/** The handle of an order of the records of an object. */
const keyed = (object, key, cmp) => orderOf(object.records, key, { cmp, ctx: object._ctx })._h;

module.exports = { NUMBERS, LINES, Records, Pairs, Order, isBytes, keyed, orderOf, walk };
