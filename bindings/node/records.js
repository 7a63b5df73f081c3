// SPDX-License-Identifier: BSL-1.0
'use strict';
// What records look like, and in which order they come.
const { c, NATIVE, Base, handle, options, register, text, defaultContext } = require('./base');

const CHUNK = 1 << 20;

const NUMBERS = {
	u64: BigUint64Array, i64: BigInt64Array, u32: Uint32Array, i32: Int32Array, u16: Uint16Array, i16: Int16Array,
	u8: Uint8Array, i8: Int8Array, f64: Float64Array, f32: Float32Array,
};
const GETTERS = {
	u64: 'BigUint64', i64: 'BigInt64', u32: 'Uint32', i32: 'Int32', u16: 'Uint16', i16: 'Int16', u8: 'Uint8', i8: 'Int8',
	f64: 'Float64', f32: 'Float32',
};

/** A number as one element of an array: never rounded, never cut off. */
function exact(type, value) {
	const a = new NUMBERS[type](1);
	if (type === 'u64' || type === 'i64') {
		if (typeof value === 'number' && !Number.isSafeInteger(value))
			throw new RangeError(`${value} is no exact number of 64 bits: use a BigInt`);
		value = BigInt(value);
	} else if (typeof value !== 'number') {
		throw new TypeError(`a Number is wanted, and not a ${typeof value}`);
	}
	a[0] = value;
	if (a[0] !== value && type !== 'f32' && !Number.isNaN(value))
		throw new RangeError(`${value} is no number of the type ${type}`);
	return a;
}

const bytesOf = (a) => a instanceof ArrayBuffer ? new Uint8Array(a) : new Uint8Array(a.buffer, a.byteOffset, a.byteLength);

class Records {
	/** 'u64', ...; a number of bytes; or { name: 'u64', ... }. */
	constructor(spec) {
		this.fields = [];
		if (typeof spec === 'number') {
			this.bytes = spec;
		} else if (typeof spec === 'string') {
			if (!NUMBERS[spec])
				throw new TypeError(`there are no records of the type ${spec}`);
			this.type = spec;
			this.bytes = NUMBERS[spec].BYTES_PER_ELEMENT;
			this.fields = [['value', spec, 0]];
		} else {
			this.bytes = 0;
			for (const [name, type] of Object.entries(spec)) {
				if (!NUMBERS[type])
					throw new TypeError(`there are no fields of the type ${type}`);
				this.fields.push([name, type, this.bytes]);
				this.bytes += NUMBERS[type].BYTES_PER_ELEMENT;
			}
		}
	}

	static of(spec) { return spec instanceof Records ? spec : new Records(spec); }

	pack(item) {
		if (this.type)
			return bytesOf(exact(this.type, item));
		const out = new Uint8Array(this.bytes);
		if (!this.fields.length) {
			if (item.byteLength !== this.bytes)
				throw new RangeError(`records have ${this.bytes} bytes, and not ${item.byteLength}`);
			out.set(bytesOf(item));
		}
		for (const [name, type, at] of this.fields)
			out.set(bytesOf(exact(type, item[name])), at);
		return out;
	}

	unpack(b) {
		if (!this.fields.length)
			return b;
		const view = new DataView(b.buffer, b.byteOffset, b.byteLength);
		if (this.type)
			return view[`get${GETTERS[this.type]}`](0, NATIVE === 'le');
		return Object.fromEntries(this.fields.map(([name, type, at]) =>
			[name, view[`get${GETTERS[type]}`](at, NATIVE === 'le')]));
	}

	/** Items, or a buffer of records, as a buffer. */
	many(data) {
		if (data instanceof ArrayBuffer || ArrayBuffer.isView(data)) {
			const plain = data instanceof ArrayBuffer || data instanceof Uint8Array || data instanceof DataView;
			if (!plain && !(this.type && data instanceof NUMBERS[this.type]))
				throw new TypeError(`records are ${this.type || `${this.bytes} bytes`}, and no ${data.constructor.name}`);
			return data;
		}
		return Buffer.concat(Array.from(data, (item) => this.pack(item)));
	}

	/** Bytes as a TypedArray where records are numbers. */
	wrap(b) {
		return this.type ? new NUMBERS[this.type](b.buffer, b.byteOffset, b.byteLength / this.bytes) : b;
	}

	*items(b) {
		if (this.type)
			yield* this.wrap(b);
		else
			for (let at = 0; at < b.byteLength; at += this.bytes)
				yield this.unpack(b.subarray(at, at + this.bytes));
	}

	room(n) { return new Uint8Array(Number(n) * this.bytes); }

	get chunk() { return Math.max(Math.floor(CHUNK / this.bytes), 1); }

	/** The name of an order by fields: all, 'field', '-field', several, or as the library has it ('u64le@0:r'). */
	order(key) {
		if (typeof key === 'string' && key.includes('@'))
			return key;
		const name = ([, type, at]) => `${type}${NUMBERS[type].BYTES_PER_ELEMENT > 1 ? NATIVE : ''}@${at}`;
		if (key === undefined || key === null)
			return this.fields.map(name).join(',') || `bytes${this.bytes}@0`;
		return (typeof key === 'string' ? key.split(',') : key).map((one) => {
			const field = this.fields.find(([known]) => known === one.replace(/^-/, ''));
			if (!field)
				throw new RangeError(`records have no field ${one}`);
			return name(field) + (one.startsWith('-') ? ':r' : '');
		}).join(',');
	}
}

/** Lines as the module wants them: how many, where they end, and they. */
function ended(lines) {
	const list = Array.from(lines, (line) => typeof line === 'string' ? Buffer.from(line) : bytesOf(line));
	const head = new BigUint64Array(1 + list.length);
	let at = 0;
	head[0] = BigInt(list.length);
	list.forEach((line, i) => { head[i + 1] = BigInt(at += line.byteLength); });
	return Buffer.concat([bytesOf(head), ...list]);
}

/** The other way: bytes of lines, and where they end. */
function split(lines, ends) {
	let begin = 0;
	return Array.from(new BigUint64Array(ends.buffer, ends.byteOffset, ends.byteLength / 8), (end) => {
		const line = Buffer.from(lines.buffer, lines.byteOffset + begin, Number(end) - begin);
		begin = Number(end);
		return line;
	});
}

class Order extends Base {
	/** key: fields, options of the command for 'lines', or a function of many records that returns BigUint64Array. */
	constructor(records, key, { cmp, ctx = defaultContext() } = {}) {
		super();
		if (records === 'lines') {
			this.records = null;
			this._own(c.emb_order_options(handle(ctx), text(key ?? '')));
			return;
		}
		const r = this.records = Records.of(records);
		let h;
		if (cmp) {
			const fn = register((a, b) => cmp(r.unpack(a), r.unpack(b)));
			h = c.em_order_cmp(handle(ctx), options({ record_size: r.bytes, fn }));
		} else if (typeof key === 'function') {
			const fn = register((some, n) => {
				const keys = key(r.wrap(some));
				if (!(keys instanceof BigUint64Array) || keys.length !== n)
					throw new TypeError(`the function of the keys has to give a BigUint64Array of ${n}`);
				return keys;
			});
			h = c.em_order_key_fn(handle(ctx), options({ record_size: r.bytes, fn }));
		} else {
			h = c.em_order_parse(handle(ctx), r.bytes, text(r.order(key)));
		}
		this._own(h);
	}

	get name() { return c.em_order_name(this._h); }

	compare(a, b) {
		if (this.records)
			return c.em_order_compare(this._h, this.records.pack(a), this.records.pack(b));
		return c.em_text_compare(this._h, Buffer.from(a), Buffer.from(b));
	}
}

const orderOf = (records, key, opts) => key instanceof Order ? key : new Order(records, key, opts);

module.exports = { NUMBERS, Records, Order, orderOf, bytesOf, ended, split };
