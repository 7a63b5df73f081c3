// SPDX-License-Identifier: BSL-1.0
'use strict';
// What everything hangs from: errors, functions of the caller's, options, handles.
const fs = require('fs');
const os = require('os');
const path = require('path');

const c = require(fs.existsSync(path.join(__dirname, '_extmem.node')) ? './_extmem.node'
	: './build/Release/_extmem.node');
const NATIVE = os.endianness() === 'LE' ? 'le' : 'be';
const PHASES = ['runs', 'merge', 'output'];
Symbol.dispose ??= Symbol.for('nodejs.dispose');

// Errors.

class ExtmemError extends Error {
	get name() { return this.constructor.name; }
}
class UsageError extends ExtmemError {}
class MemoryLimitError extends ExtmemError {}
class IOError extends ExtmemError {}
class NoSpaceError extends IOError {}
class NotFoundError extends IOError {}
class DataError extends ExtmemError {}
class CallbackError extends ExtmemError {}
class CanceledError extends ExtmemError {}

const CLASSES = {
	EM_ERR_NOMEM: MemoryLimitError, EM_ERR_MEMLIMIT: MemoryLimitError, EM_ERR_NOSPACE: NoSpaceError,
	EM_ERR_NOENT: NotFoundError, EM_ERR_USER: CallbackError, EM_ERR_CANCELED: CanceledError,
};

function makeError(status, errno, op, file, offset, bytes, record, text, name, done) {
	const Class = CLASSES[name] || (status > -100 ? UsageError : status > -300 ? IOError : status > -400 ? DataError
		: ExtmemError);
	const e = new Class(text);
	Object.assign(e, { code: name, status, errno, op, path: file || null, offset: offset === 2n ** 64n - 1n ? null
		: offset, bytes: bytes || null, record: record || null, done: done ?? null });
	return e;
}

// Functions of the caller's are numbers in the module.

const functions = new Map();
let lastFunction = 0;

/** forgotten: called when the library does not need it any more. */
function register(fn, forgotten) {
	functions.set(++lastFunction, forgotten ? Object.assign(fn, { forgotten }) : fn);
	return lastFunction;
}

c.set_up((what, id, ...rest) => {
	if (what === 0)
		return makeError(id, ...rest);
	if (what === 1) {
		const { forgotten } = functions.get(id) || {};
		functions.delete(id);
		return forgotten?.();
	}
	return functions.get(id)(...rest);
});

// Arguments.

const text = (s) => Buffer.from(s + '\0');
const texts = (list) => Buffer.from((typeof list === 'string' ? [list] : Array.from(list)).map((s) => s + '\0').join(''));

/** Options as the module wants them: options.h. */
function options(opts) {
	let out = '';
	const add = (name, value) => {
		if (value === undefined || value === null)
			return;
		if (Array.isArray(value))
			value.forEach((one, i) => add(typeof one === 'object' ? `${name}.${i}` : name, one));
		else if (value instanceof Base)
			out += `${name}\0${handle(value)}\0`;
		else if (typeof value === 'function')
			out += `${name}\0${register(value)}\0`;
		else if (typeof value === 'object')
			Object.entries(value).forEach(([key, one]) => add(`${name}.${key}`, one));
		else if (String(value).includes('\0'))
			throw new TypeError(`the option ${name} has a zero in it`);
		else
			out += `${name}\0${value === true ? 1 : value === false ? 0 : value}\0`;
	};
	Object.entries(opts || {}).forEach(([name, value]) => add(name, value));
	return Buffer.from(out);
}

/** Options of a sort: progress gets the name of the phase, and numbers. */
function sortOptions({ progress, ...opts } = {}) {
	if (progress)
		opts.progress = (phase, done, total) => progress(PHASES[phase] || String(phase), Number(done), Number(total));
	return opts;
}

/** Statistics: numbers that are not exact as Number are BigInt. */
function told(json) {
	return JSON.parse(json.replace(/:(\d{16,})(?=[,}])/g, ':"$1n"'), (_, v) => typeof v !== 'string' ? v
		: Number.isSafeInteger(Number(v.slice(0, -1))) ? Number(v.slice(0, -1)) : BigInt(v.slice(0, -1)));
}

function count(n) {
	return n <= Number.MAX_SAFE_INTEGER ? Number(n) : n;
}

// Objects.

const collected = new FinalizationRegistry((h) => c.close(h, true));

class Base {
	_own(h, ...kept) {
		Object.defineProperty(this, '_h', { value: h });
		Object.defineProperty(this, '_kept', { value: kept });
		collected.register(this, h, this);
		return this;
	}

	close() {
		c.close(this._h, false);
		collected.unregister(this);
	}

	get closed() { return !c.is_open(this._h); }

	[Symbol.dispose]() { this.close(); }
}

const handle = (o) => o._h;

class Context extends Base {
	constructor({ log, ...opts } = {}) {
		super();
		this._own(c.em_ctx_open(options(log ? { ...opts, log } : opts)));
	}

	cancel() { c.em_ctx_cancel(this._h); }

	stats() {
		const h = this._h;
		return { ...told(c.em_ctx_io_stats_get(h)), memory: count(c.em_ctx_memory(h)),
			memory_used: count(c.em_ctx_memory_used(h)), memory_peak: count(c.em_ctx_memory_peak(h)),
			threads: c.em_ctx_threads(h), version: c.em_version(), backend: c.em_ctx_backend(h), isa: c.em_ctx_isa(h) };
	}
}

let common = null;
function defaultContext() {
	if (!common || common.closed)
		common = new Context();
	return common;
}

module.exports = { c, ExtmemError, UsageError, MemoryLimitError, IOError, NoSpaceError, NotFoundError, DataError,
	CallbackError, CanceledError, NATIVE, Base, Context, handle, options, sortOptions, register, told, count, text, texts,
	defaultContext };
