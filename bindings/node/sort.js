// SPDX-License-Identifier: BSL-1.0
'use strict';
// Sorters, and sorts of files.
const { c, defaultContext, options, register, told } = require('./base');
const { NUMBERS, orderOf } = require('./records');
const { Batches } = require('./streams');

class Pull extends Batches {
	/** range: numbers in front of the options, if the library wants some. */
	constructor(records, { key, cmp, ctx = defaultContext(), ...opts } = {}, ...range) {
		const order = orderOf(records, key, { cmp, ctx }), open = c[`em_${new.target.prototype._kind}_open`];
		super(open(ctx._h, order._h, ...range, options(opts)), ctx, order.records);
		Object.assign(this, { order, _done: false });
	}

	finish() {
		this._do('finish');
		this._done = true;
		return this;
	}

	_finished() { return this._done ? this : this.finish(); }

	read() { return this.records.join(Array.from(this.batches())); }
}

class Sorter extends Pull {
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
	const type = Object.keys(NUMBERS).find((name) => data?.constructor === NUMBERS[name]);
	const s = new Sorter(records ?? type ?? data?.BYTES_PER_ELEMENT, opts);
	try {
		return s.push(data).read();
	} finally {
		s.close();
	}
}

// Files.

/** Look whether a file is sorted: what was found, with `first`, the first record that is not in its place. */
function checkFile(file, { key, cmp, records = 'lines', ctx = defaultContext(), ...opts } = {}) {
	let first = null;
	const fn = register((_, record) => { first ??= Buffer.from(record); });
	const order = orderOf(records, key, { cmp, ctx });
	return { ...told(c.em_check_file(ctx._h, order._h, file, options(opts), fn)), first };
}

module.exports = { Sorter, Top, sort, checkFile };
