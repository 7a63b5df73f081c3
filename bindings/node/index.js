// SPDX-License-Identifier: BSL-1.0
'use strict';
// External memory for Node: what the module that SWIG makes does with numbers and bytes, as objects.  index.d.ts says
// what there is.  The module is private.
const { c, ExtmemError, UsageError, MemoryLimitError, IOError, NoSpaceError, NotFoundError, DataError, CallbackError,
	CanceledError, Base, Context, handle, options, sortOptions, register, told, count, text, texts,
	defaultContext } = require('./base');
const { NUMBERS, Records, Order, orderOf, bytesOf, ended, split } = require('./records');
const containers = require('./containers');
const { Stream, Sink, Runs, flowing } = require('./streams');

// Sorters.

class Pull extends Base {
	_begin(prefix, open, ctx, records, key, cmp, opts) {
		this.order = orderOf(records, key, { cmp, ctx });
		this.records = this.order.records;
		this._ctx = ctx;
		this._own(open(handle(ctx), handle(this.order), options(sortOptions(opts))), this.order);
		this._prefix = prefix;
		this._done = false;
	}

	_do(name, ...rest) { return c[this._prefix + name](this._h, ...rest); }

	/** Add records: a buffer, or an iterable of items; of lines, strings or buffers without their newlines. */
	push(data) {
		if (this.records)
			this._do('push', this.records.many(data));
		else
			this._do('push_batch', ended(data));
		return this;
	}

	finish() {
		this._do('finish');
		this._done = true;
		return this;
	}

	/** The next records, which are a copy, or null behind the last; of lines, a list of buffers. */
	nextBatch() {
		const got = this._do('next');
		if (got === null)
			return null;
		return this.records ? this.records.wrap(got) : split(...got);
	}

	*batches() {
		if (!this._done)
			this.finish();
		for (let batch = this.nextBatch(); batch !== null; batch = this.nextBatch())
			yield batch;
	}

	*[Symbol.iterator]() {
		for (const batch of this.batches())
			yield* this.records && !this.records.type ? this.records.items(batch) : batch;
	}

	/** All that is left. */
	read() {
		if (!this.records)
			return Array.from(this);
		const all = Buffer.concat(Array.from(this.batches(), bytesOf));
		return this.records.wrap(all.byteOffset % 8 ? new Uint8Array(all) : bytesOf(all));
	}

	get pushed() { return count(this._do('pushed')); }

	cancel() { c.cancel(this._h); }

	stats() { return told(this._do('stats_get')); }
}

class Sorter extends Pull {
	constructor(records, { key, cmp, ctx = defaultContext(), ...opts } = {}) {
		super();
		this._begin('em_sorter_', c.em_sorter_open, ctx, records, key, cmp, opts);
	}

	/** Fill a TypedArray or buffer with the next records: how many there were; 0 behind the last. */
	readInto(room) {
		if (!this._done)
			this.finish();
		return Number(c.emb_read(this._h, room) ?? 0);
	}

	pushFile(file) { this._do('push_file', text(file)); }

	/** Write what is left into a file, which appears when it is whole. */
	writeFile(file) {
		if (!this._done)
			this.finish();
		this._do('pull_file', text(file));
	}

	clear() {
		this._do('clear');
		this._done = false;
	}
}

flowing(Sorter);

class Top extends Pull {
	constructor(records, k, { key, cmp, ctx = defaultContext(), start = 0, ...opts } = {}) {
		super();
		this._begin('em_top_', (...rest) => c.em_top_open(rest[0], rest[1], start, k, rest[2]), ctx, records, key, cmp,
			opts);
	}
}

/** A sorted copy of a TypedArray, or of items. */
function sort(data, { records, ...opts } = {}) {
	const type = Object.keys(NUMBERS).find((t) => data.constructor === NUMBERS[t]);
	const s = new Sorter(records ?? type ?? data.BYTES_PER_ELEMENT, opts);
	try {
		return s.push(data).read();
	} finally {
		s.close();
	}
}

// Files.

function files(records, key, ctx, opts) {
	const order = orderOf(records, key, { ctx });
	return { order, h: [handle(ctx), handle(order)], opts: sortOptions(opts) };
}

function sortFile(inputs, output, { key, records = 'lines', ctx = defaultContext(), ...opts } = {}) {
	const f = files(records, key, ctx, opts);
	return told(c.em_sort_files(...f.h, texts(inputs), text(output), options(f.opts)));
}

function mergeFiles(inputs, output, { key, records = 'lines', ctx = defaultContext(), ...opts } = {}) {
	const f = files(records, key, ctx, opts);
	return told(c.em_merge_files(...f.h, texts(inputs), text(output), options(f.opts)));
}

function uniqueFile(inputs, output, { key, records = 'lines', ctx = defaultContext(), count: counted, presorted,
	min_count, max_count, ...opts } = {}) {
	const f = files(records, key, ctx, opts);
	const all = { count: counted, presorted, min_count, max_count, sort: f.opts };
	return told(c.em_unique_files(...f.h, texts(inputs), text(output), options(all)));
}

function topFile(inputs, output, k, { key, start = 0, records = 'lines', ctx = defaultContext(), ...opts } = {}) {
	const f = files(records, key, ctx, opts);
	return told(c.em_top_files(...f.h, texts(inputs), start, k, text(output), options(f.opts)));
}

function shuffleFile(inputs, output, { records = 'lines', ctx = defaultContext(), ...opts } = {}) {
	const size = records === 'lines' ? 0 : Records.of(records).bytes;
	return told(c.em_shuffle_files(handle(ctx), size, texts(inputs), text(output), options(sortOptions(opts))));
}

/** Look whether a file is sorted: what was found, with `first`, the first record that is not in its place. */
function checkFile(file, { key, records = 'lines', ctx = defaultContext(), ...opts } = {}) {
	const f = files(records, key, ctx, opts);
	let first = null;
	const fn = register((_, record) => { first ??= Buffer.from(record); });
	return { ...told(c.em_check_file(...f.h, text(file), options(f.opts), fn)), first };
}

module.exports = {
	version: c.em_version(), ExtmemError, UsageError, MemoryLimitError, IOError, NoSpaceError, NotFoundError, DataError,
	CallbackError, CanceledError, Context, Records, Order, Sorter, Top, sort, sortFile, mergeFiles, uniqueFile, topFile,
	shuffleFile, checkFile, defaultContext, ...containers, Stream, Sink, Runs,
};
