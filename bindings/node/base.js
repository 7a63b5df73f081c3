// SPDX-License-Identifier: BSL-1.0
'use strict';
// What everything hangs from: errors, functions of the caller's, options, handles.
const fs = require('fs');
const path = require('path');

const c = require(fs.existsSync(path.join(__dirname, '_extmem.node')) ? './_extmem.node'
	: './build/Release/_extmem.node');
const PHASES = ['runs', 'merge', 'output'];
/** Of records: as many as there are; and of streams: nobody knows how many there are. */
const ALL = 2n ** 64n - 1n;
Symbol.dispose ??= Symbol.for('nodejs.dispose');

// Errors.  Those of index.d.ts are added by calls.js: by name, and by the statuses that they are for.

class ExtmemError extends Error {
	get name() { return this.constructor.name; }
}

const errors = { ExtmemError };
const errorOf = {};

function makeError(status, errno, op, file, offset, bytes, record, text, code, done) {
	const Class = errorOf[code] || (status > -100 ? errors.UsageError : status > -300 ? errors.IOError
		: status > -400 ? errors.DataError : errors.ExtmemError);
	return Object.assign(new Class(text), { code, status, errno, op, path: file || null, bytes: bytes || null,
		offset: known(offset), record: record || null, done: done ?? null });
}

// Functions of the caller's are numbers in the module.

const functions = new Map();
let lastFunction = 0;

/** forgotten: called when the library does not need it any more. */
function register(fn, forgotten) {
	functions.set(++lastFunction, { fn, forgotten });
	return lastFunction;
}

const CALLED_FOR = [
	makeError,
	(id) => {
		const { forgotten } = functions.get(id) || {};
		functions.delete(id);
		forgotten?.();
	},
	(id, ...rest) => functions.get(id).fn(...rest),
];
c.set_up((what, ...rest) => CALLED_FOR[what](...rest));

// Arguments and results.

/** An option as the module wants it: its name and its value, as texts; of lists and objects several of these. */
function option(name, value) {
	if (Array.isArray(value ?? []))
		return value?.flatMap((one, i) =>
			option(one?.constructor === Object ? `${name}.${i}` : name, one)) ?? [];
	if (value instanceof Uint8Array)
		return [name, value];
	if (value instanceof Base)
		return [name, String(value._h)];
	if (typeof value === 'object')
		return Object.entries(value).flatMap(([key, one]) => option(`${name}.${key}`, one));
	if (typeof value === 'function')
		return [name, `#${register(name.endsWith('progress') ? byPhase(value) : value)}`];
	return [name, String(typeof value === 'boolean' ? Number(value) : value)];
}

const options = (opts) => Object.entries(opts ?? {}).flatMap(([name, value]) => option(name, value));

/** The progress of a sort has names of phases. */
const byPhase = (fn) => (phase, done, total) => fn(PHASES[phase] || String(phase), done, total);

/** A constant of the module; what it does not have is refused there. */
const constant = (prefix, name) => c[`${prefix}_${name.toUpperCase()}`] ?? 99;

/** null: nobody knows. */
const known = (n) => n === ALL ? null : n;

/** What a function gives, until it gives nothing. */
function* until(next) {
	for (let one = next(); one !== null && one !== undefined; one = next())
		yield one;
}

/** Several objects as one argument. */
const handles = (list) => BigUint64Array.from(list, (one) => BigInt(one._h));

/** Statistics: numbers that are not exact as Number are BigInt. */
function told(json) {
	return JSON.parse(json.replace(/:(\d{16,})(?=[,}])/g, ':"$1n"'), (_, v) => typeof v !== 'string' ? v
		: Number.isSafeInteger(Number(v.slice(0, -1))) ? Number(v.slice(0, -1)) : BigInt(v.slice(0, -1)));
}

// Objects.

const collected = new FinalizationRegistry((h) => c.emb_close(h, 1));

class Base {
	/** It has this handle, and records of this kind. */
	constructor(h, ctx, records) {
		collected.register(this, h, this);
		c.made(this, h);
		Object.assign(this, { _h: h, _ctx: ctx, records });
	}

	/** The function em_KIND_NAME() of the module. */
	_do(name, ...rest) { return c[`em_${this._kind}_${name}`](this._h, ...rest); }

	/** What a record that may not be there is. */
	_item(record) { return record === null ? undefined : this.records.unpack(record); }

	close() {
		c.emb_close(this._h, 0);
		collected.unregister(this);
	}

	get closed() { return !c.emb_is_open(this._h); }

	[Symbol.dispose]() { this.close(); }
}

/** An object of a class for a handle, of a context, with records: without the constructor of that class. */
const made = (Class, ...of) => Reflect.construct(Base, of, Class);

class Context extends Base {
	constructor(opts) { super(c.em_ctx_open(options(opts))); }

	stats() {
		const names = ['memory', 'memory_used', 'memory_peak', 'threads', 'backend', 'isa'];
		return { ...told(this._do('io_stats_get')), version: c.em_version(),
			...Object.fromEntries(names.map((name) => [name, this._do(name)])) };
	}
}

let common = null;
const defaultContext = () => common?.closed === false ? common : common = new Context();

module.exports = { c, ALL, Base, Context, constant, defaultContext, errorOf, errors, handles, known, made, options,
	register, told, until };
