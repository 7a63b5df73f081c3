// SPDX-License-Identifier: BSL-1.0
'use strict';
// External memory for Node: what the module that SWIG makes does with numbers and bytes, as objects.  index.d.ts says
// what there is, and what is only a call.  The module is private.
const { c, Context, defaultContext, errors } = require('./base');
const { Records, Order } = require('./records');
const { Stream, Sink, Runs } = require('./streams');

const all = { Context, Records, Order, Stream, Sink, Runs, ...require('./containers'), ...require('./sort') };

const { functions, classes } = require('./calls');

for (const [name, calls] of Object.entries(classes)) {
	// Without what any class has.
	const { constructor, ...methods } = Object.getOwnPropertyDescriptors(calls.prototype);
	const { length, name: none, prototype, ...statics } = Object.getOwnPropertyDescriptors(calls);
	Object.defineProperties(all[name], statics);
	Object.defineProperties(all[name].prototype, methods);
}

module.exports = { version: c.em_version(), ...errors, ...all, ...functions, defaultContext };
