// SPDX-License-Identifier: BSL-1.0
'use strict';
// Sorters, and sorts of files.
const { c, defaultContext, options, register, told } = require('./base');
const { NUMBERS, Records, orderOf } = require('./records');
const { Batches } = require('./streams');

class Pull extends Batches {
	/** range: numbers in front of the options, if the library wants some. */
	constructor(records, { key, cmp, ctx = defaultContext(), ...opts } = {}, ...range) {
		super();
		const order = this.order = orderOf(records, key, { cmp, ctx });
		this._own(c[`em_${this._kind}_open`](ctx._h, order._h, ...range, options(opts)), ctx, order.records);
		this._done = false;
	}

	finish() {
		this._do('finish');
		this._done = true;
		return this;
	}

	_finished() { return this._done ? this : this.finish(); }

	*batches() {
		this._finished();
		yield* super.batches();
	}

	read() { return this.records.join(Array.from(this.batches())); }
}

class Sorter extends Pull {
	readInto(room) { return Number(c.emb_read(this._finished()._h, room) ?? 0); }

	writeFile(file) { this._finished()._do('pull_file', file); }

	clear() {
		this._do('clear');
		this._done = false;
	}
}

class Top extends Pull {
	constructor(records, k, { start = 0, ...opts } = {}) { super(records, opts, start, k); }
}

/** A sorted copy of a TypedArray, or of items. */
function sort(data, { records, ...opts } = {}) {
	const type = Object.keys(NUMBERS).find((name) => data.constructor === NUMBERS[name]);
	const s = new Sorter(records ?? type ?? data.BYTES_PER_ELEMENT, opts);
	try {
		return s.push(data).read();
	} finally {
		s.close();
	}
}

// Files.

/** Statistics of a function that gets a context, an order, and what is made of the other options. */
function sorting(name, { key, records = 'lines', ctx = defaultContext(), ...opts } = {}, more) {
	return told(c[name](ctx._h, orderOf(records, key, { ctx })._h, ...more(opts)));
}

function sortFile(inputs, output, opts) {
	return sorting('em_sort_files', opts, (rest) => [inputs, output, options(rest)]);
}

function mergeFiles(inputs, output, opts) {
	return sorting('em_merge_files', opts, (rest) => [inputs, output, options(rest)]);
}

function uniqueFile(inputs, output, { count, presorted, min_count, max_count, ...opts } = {}) {
	const own = { count, presorted, min_count, max_count };
	return sorting('em_unique_files', opts, (sort) => [inputs, output, options({ ...own, sort })]);
}

function topFile(inputs, output, k, { start = 0, ...opts } = {}) {
	return sorting('em_top_files', opts, (rest) => [inputs, start, k, output, options(rest)]);
}

function shuffleFile(inputs, output, { records = 'lines', ctx = defaultContext(), ...opts } = {}) {
	return told(c.em_shuffle_files(ctx._h, Records.of(records).bytes, inputs, output, options(opts)));
}

/** Look whether a file is sorted: what was found, with `first`, the first record that is not in its place. */
function checkFile(file, opts) {
	let first = null;
	const fn = register((_, record) => { first ??= Buffer.from(record); });
	return { ...sorting('em_check_file', opts, (rest) => [file, options(rest), fn]), first };
}

module.exports = { Sorter, Top, sort, sortFile, mergeFiles, uniqueFile, topFile, shuffleFile, checkFile };
