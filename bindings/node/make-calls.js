// SPDX-License-Identifier: BSL-1.0
'use strict';
// Makes calls.js of index.d.ts: its errors, its functions and, for all classes, each method with `= CALL' behind it.
//
// CALL is NAME(ARGUMENTS), or NAME with those of the method.  NAME is em_KIND_NAME() of the module, with the handle in
// front; KIND is said beside the class.  em_...(ARGUMENTS) and emb_...() are themselves; % in them is the kind.  As
// what an argument is handed over, and what becomes of the result, follows from its type.  Of SortOptions and
// FileOptions the key or cmp is `order'.  `of RECORDS' behind it are those of a stream or sink that is made, if they
// are not the same.
const fs = require('fs');

const ARGUMENTS = {
	Item: (x) => `this.records.pack(${x})`,
	Many: (x) => `this.records.many(${x})`,
	Keys: (x) => `this.records.keys.many(${x})`,
	'Keys | null': (x) => `${x} && this.records.keys.many(${x})`,
	From: (x) => `this.records.bound(${x})`,
	Position: (x) => `this._at(${x})`,
	Field: (x) => `this.records.order(${x})`,
	Key: (x) => `keyed(this, ${x})`,
	Chosen: (x) => `register(this.records.asking(${x}, (got) => Uint8Array.from(got, Number)))`,
	Seen: (x) => `register(this.records.asking(${x}, () => null))`,
	Sent: (x) => `register(this.records.asking(${x}, (got) => Uint32Array.from(got, Number)))`,
	Sum: (x) => `register(this.records.adding(${x}))`,
	Visit: (x) => `register(this.records.visiting(${x}))`,
	Progress: (x) => `register(${x})`,
	Test: (x) => `register(this.records.testing(${x}))`,
	boolean: (x) => `${x} ? 1 : 0`,
	Sorter: (x) => `${x}._h`,
	Sink: (x) => `${x}._h`,
	Stream: (x) => `${x}._h`,
	'Sink[]': (x) => `handles(${x})`,
	'Stream[]': (x) => `handles([this, ...${x}])`,
	SortOptions: (x) => `options({ ...${x}, key: undefined, cmp: undefined })`,
};
const RESULTS = {
	'Some | null': (call) => `const got = ${call};\n\t\treturn got && this.records.wrap(...[got].flat());`,
	any: (call) => `return this.records.wrap(${call});`,
	T: (call) => `${call};\n\t\treturn room;`,
	'Count | null': (call) => `return known(${call});`,
	bigint: (call) => `return BigInt(${call});`,
	Item: (call) => `return this._item(${call});`,
	'Item | undefined': (call) => `return this._item(${call});`,
	'Value | undefined': (call) => `return this._item(${call})?.[1];`,
	Popped: (call) => `return until(() => this._item(${call}));`,
	Found: (call) => `const [, records, found] = ${call};\n\t\treturn { records, found };`,
	'Entry | undefined': (call) => `return this._item(${call});`,
	Stats: (call) => `return told(${call});`,
	Stream: (call, ctx, records) => `return made(Stream, ${call}, ${ctx}, ${records});`,
	Sink: (call, ctx, records) => `return made(Sink, ${call}, ${ctx}, ${records});`,
	'[Stream, Stream]': (call, ctx, records) => `return ${call}.map((h) => made(Stream, h, ${ctx}, ${records}));`,
	this: (call) => `${call};\n\t\treturn this;`,
	void: (call) => `${call};`,
};
/** Options of functions on files that are no fields of structs of the library; a key and cmp are an order. */
const FILES = {
	FileOptions: 'key, cmp, ',
	ShuffleOptions: '',
	UniqueOptions: 'key, cmp, count, presorted, min_count, max_count, ',
	TopOptions: 'key, cmp, start = 0, ',
};
const ERROR = /^export class (\w+) extends (\w*Error) {}(?:\s+\/\/ (.*))?$/gm;
const CLASS = /^(?:export|declare) class (\w+)(?: extends (\w+))?.*?\{(?: \/\/ em_(\w+))?$/;
const FUNCTION = /^export function (\w+)\((.*)\): (\w+); \/\/ = (.*)$/gm;
const MEMBER = /^\t(static |readonly |)(\w+)(?:<.*>)?(?:\((.*)\))?: ([^;]+);(?:\s*\/\/ = (.*?)(?: of (.*))?)?$/;

/** Of each class its base, its kind, and by name those of its members that are calls. */
function read(text) {
	const classes = {};
	let members = {};
	for (const line of text.split('\n')) {
		const [, name, base, kind] = line.match(CLASS) ?? [];
		const [, how, member, list, type, call, of] = line.match(MEMBER) ?? [];
		if (name)
			classes[name] = { base, kind, members: members = {} };
		else if (member)
			members[how + member] = call && { how, name: member, list: list || '', type, call, of };
	}
	return classes;
}

function method({ how, name, list, type, call, of }, kind) {
	const parameters = list.split(/, (?=[.\w]+\??:)/).filter(Boolean)
		.map((one) => one.match(/^(\.*)(\w+)\??: (.*)$/));
	const before = parameters.flatMap(([, , one, is]) => [
		is === 'SortOptions' && `const order = keyed(this, ${one}?.key, ${one}?.cmp);`,
		is === 'In' && `const { ctx = defaultContext(), format: own } = ${one} ?? {}, format = options(own);`,
		is in FILES && `const { records = 'lines', ctx = defaultContext(), ` +
			`${FILES[is]}...rest } = ${one} ?? {};`,
		FILES[is] && 'const order = orderOf(records, key, { cmp, ctx })._h;',
		ARGUMENTS[is] && `${one} = ${ARGUMENTS[is](one)};`,
	]).filter(Boolean);
	/* A function is kept from then on, so nothing else may fail after that. */
	before.sort((a, b) => a.includes('register(') - b.includes('register('));
	const whole = /^\w+$/.test(call) ? `${call}(${parameters.map(([, , one]) => one).join(', ')})` : call;
	const made = whole.replace(/^(emb?_)/, 'c.$1').replace(/^(\w+)\(/, `c.em_${kind}_$1(this._h, `)
		.replace('(this._h, )', '(this._h)').replace('%', kind);
	const result = RESULTS[type] ?? ((value) => `return ${value};`);
	const after = result(made, how === 'static ' ? 'ctx' : 'this._ctx', of ? `Records.of(${of})` : 'this.records');
	const taken = parameters.map(([, rest, one]) => rest + one).join(', ');
	const head = `${how.replace('readonly', 'get')}${name}(${taken})`;
	return `\t${head} {\n\t\t${[...before, after].join('\n\t\t')}\n\t}\n`;
}

/* A call may have a line of its own, or two. */
const text = fs.readFileSync(process.argv[2], 'utf8').replace(/;\n\s+\/\/ =/g, '; // =')
	.replace(/(\/\/ = .*,)\n\s+\/\/\s+/g, '$1 ');
const classes = read(text);
const all = (name) => name ? { ...all(classes[name].base), ...classes[name].members } : {};
console.log(`// SPDX-License-Identifier: BSL-1.0
'use strict';
// Made of index.d.ts by make-calls.js: errors, and methods and functions that are only a call of the module.
const { c, ALL, constant, defaultContext, errorOf, errors, handles, known, made, options, register, told,
	until } = require('./base');
const { Records, keyed, orderOf } = require('./records');
const { Stream, Sink, beside, counted, makes, runsFlags } = require('./streams');
`);
for (const [, name, base, codes] of text.matchAll(ERROR))
	console.log(`errors.${name} = class ${name} extends errors.${base} {};${(codes ?? '').replace(/\w+/g,
		(code) => `\nerrorOf.${code} = errors.${name};`)}`);
console.log('\nexports.functions = {');
for (const [, name, list, type, call] of text.matchAll(FUNCTION))
	console.log(method({ how: '', name, list, type, call }).replace(/\n$/, ','));
console.log('};\nexports.classes = {');
for (const [name, { kind }] of Object.entries(classes).filter(([, { kind }]) => kind)) {
	const calls = Object.values(all(name)).filter(Boolean).map((one) => method(one, kind)).join('');
	console.log(`${name}: class {\n\tget _kind() { return '${kind}'; }\n${calls}},`);
}
console.log('};');
