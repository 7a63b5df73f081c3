// SPDX-License-Identifier: BSL-1.0
'use strict';
// What is Node's own: buffers, exact numbers, exceptions, iterators, collection.
const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { Worker } = require('node:worker_threads');
const extmem = require(process.env.EM_PACKAGE || '..');

const ctx = new extmem.Context({ memory: '32M' });
const folder = (fn) => () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'extmem-node-'));
	try {
		fn((name) => path.join(dir, name));
	} finally {
		fs.rmSync(dir, { recursive: true });
	}
};
const up = (a, b) => a < b ? -1 : a > b ? 1 : 0;
let state = 88172645463325252n;
function random() {
	state ^= BigInt.asUintN(64, state << 13n);
	state ^= state >> 7n;
	return state ^= BigInt.asUintN(64, state << 17n);
}

test('the module has what methods made of the interface call', () => {
	const folder = process.env.EM_PACKAGE || path.join(__dirname, '..');
	const { c } = require(path.join(folder, 'base.js'));
	const names = fs.readFileSync(path.join(folder, 'calls.js'), 'utf8').match(/\bc\.\w+/g)
		.map((name) => name.slice(2));
	assert(names.length > 100);
	assert.deepStrictEqual(names.filter((name) => c[name] === undefined), []);
	assert.deepStrictEqual(Object.keys(extmem.Vector.prototype), []);
});

test('buffers with offsets', () => {
	const whole = new ArrayBuffer(64);
	const view = new BigUint64Array(whole, 16, 4);
	view.set([4n, 2n ** 64n - 1n, 0n, 2n]);
	const want = [0n, 2n, 4n, 2n ** 64n - 1n];
	for (const data of [view, Buffer.from(whole, 16, 32), new DataView(whole, 16, 32), whole.slice(16, 48)]) {
		const s = new extmem.Sorter('u64', { ctx });
		assert.deepStrictEqual([...s.push(data)], want);
	}
	const s = new extmem.Sorter('u64', { ctx }).push(view);
	const room = new BigUint64Array(whole, 8, 3);
	assert.strictEqual(s.readInto(room), 3);
	assert.deepStrictEqual([...room], want.slice(0, 3));
	assert.deepStrictEqual([...new BigUint64Array(whole)].slice(1, 4), want.slice(0, 3));
	assert.strictEqual(s.readInto(room), 1);
	assert.strictEqual(s.readInto(room), 0);
	assert.throws(() => new extmem.Sorter('u64', { ctx }).push(Buffer.alloc(7)), extmem.UsageError);
	assert.throws(() => new extmem.Sorter('u64', { ctx }).push(new Float64Array(1)), TypeError);
	assert.deepStrictEqual(extmem.sort(Float64Array.of(2, -1), { ctx }), Float64Array.of(-1, 2));
});

test('streams', folder((at) => {
	const stream = (...values) => new extmem.Stream('u64', [BigUint64Array.from(values)], { ctx });
	assert.deepStrictEqual([...stream(1n, 2n, 3n).filter((b) => Array.from(b, (n) => n % 2n))], [1n, 3n]);
	assert.deepStrictEqual([...stream(1n, 2n).flatMap(
		(b) => Array.from(b).flatMap((n) => Array(Number(n)).fill(n)))],
		[1n, 2n, 2n]);
	const seen = [];
	assert.deepStrictEqual([...stream(1n, 1n, 2n).inspect((b) => seen.push(...b)).reduce((sum, b) =>
		sum.map((n) => b.reduce((p, c) => p + c, n)))], [2n, 2n]);
	assert.deepStrictEqual(seen, [1n, 1n, 2n]);
	assert.deepStrictEqual([...stream(1n, 2n).concat(stream(9n), stream(8n)).skip(1).take(2).reverse()], [9n, 2n]);
	assert.deepStrictEqual([...stream(1n, 5n).merge([stream(2n), stream(3n)])], [1n, 2n, 3n, 5n]);
	assert.deepStrictEqual([...stream(1n, 5n).zip([stream(2n)], { a: 'u64', b: 'u64' })], [{ a: 1n, b: 2n }]);
	assert.deepStrictEqual([...stream(7n, 7n).unique(undefined, { counted: { n: 'u64', many: 'u64' } })],
		[{ n: 7n, many: 2n }]);
	assert.deepStrictEqual([...stream(1n, 2n, 3n).window(2, 1, { a: 'u64', b: 'u64' })].map(({ a, b }) => [a, b]),
		[[1n, 2n], [2n, 3n]]);
	const fn = (l, r) => l * 10n + (r ?? 0n);
	assert.deepStrictEqual([...stream(1n, 2n, 2n).join(stream(2n, 3n), 'value', 'value', { kind: 'left', fn,
		records: 'u64' })], [10n, 22n, 22n]);
	assert.deepStrictEqual([...stream(1n, 2n).join(stream(2n), 'value', 'value', { kind: 'anti' })], [1n]);
	const [a, b] = stream(4n, 1n).tee({ spill: true });
	assert.deepStrictEqual([[...a.batch(1)], [...b.prefixSum('value')]], [[4n, 1n], [4n, 5n]]);
	assert.throws(() => [...stream(1n).map(() => Buffer.alloc(3))], /3 bytes in place of 1 records of 8/);
	// Where streams come from, and go to.
	const v = new extmem.Vector('u64', { ctx }), s = new extmem.Sorter('u64', { ctx });
	assert.strictEqual(stream(7n, 8n).to(v), 2);
	assert.strictEqual(new extmem.Stream('u64', v, { ctx }).to(s), 2);
	assert.strictEqual(stream(1n).to(s), 1);
	assert.strictEqual(new extmem.Stream('u64', s, { ctx }).to(at('out')), 3);
	assert.deepStrictEqual([...extmem.Stream.file('u64', [at('out'), at('out')], { ctx })],
		[1n, 7n, 8n, 1n, 7n, 8n]);
	for (const Class of [extmem.Stack, extmem.Queue, extmem.Deque, extmem.PriorityQueue]) {
		const c = new Class('u64', { ctx });
		assert.strictEqual(stream(5n, 6n).to(c), 2);
		assert.strictEqual(c.length, 2);
	}
	const tree = new extmem.BTree('u64', 0, { ctx });
	stream(5n, 6n).to(tree);
	assert.deepStrictEqual([...tree.keys()], [5n, 6n]);
	assert.throws(() => extmem.Stream.file('u64', [at('none')], { ctx }), extmem.NotFoundError);
}));

test('runs, sinks, and streams of containers', folder((at) => {
	const data = Array.from({ length: 5000 }, () => random() % 1000n);
	const want = [...data].sort(up);
	const r = new extmem.Runs('u64', { ctx, run_records: 400, memory: '2M' });
	r.push(data.slice(0, 1000));
	r.append(BigUint64Array.from(data.slice(1000, 2000).sort(up))).end();
	r.feed(new extmem.Stream('u64', data.slice(2000, 3000), { ctx }));
	r.feed(new extmem.Stream('u64', data.slice(3000, 4000).sort(up), { ctx }), { sorted: true });
	const k = r.sink({ more: true });
	k.push(data.slice(4000)).finish();
	assert.strictEqual(k.length, 1000);
	r.finish();
	assert(r.info().runs > 1);
	assert.deepStrictEqual([...r.merge()], want);
	const part = want.filter((n) => n >= 100n && n < 200n);
	assert.deepStrictEqual([...r.merge({ from: 100n, to: 200n, skip: 3, take: 7 })], part.slice(3, 10));
	const left = r.merge();
	r.close();
	assert.deepStrictEqual([...left], want);
	// Containers.
	for (const Class of [extmem.Vector, extmem.Deque, extmem.Stack, extmem.Queue, extmem.PriorityQueue]) {
		const c = new Class('u64', { ctx }), into = c.sink();
		assert.strictEqual(new extmem.Stream('u64', [4n, 1n, 3n], { ctx }).pump(into), 3);
		into.finish();
		const s = c.stream();
		c.close();
		assert.throws(() => c.length, { code: 'EM_ERR_STATE' });
		assert.deepStrictEqual([...s], Class === extmem.Stack ? [3n, 1n, 4n] :
			Class === extmem.PriorityQueue ? [1n, 3n, 4n] : [4n, 1n, 3n]);
	}
	const v = new extmem.Vector('u64', { ctx, items: [1n, 2n, 3n, 4n] });
	assert.deepStrictEqual([...v.stream({ from: 1, to: 3, reverse: true })], [3n, 2n]);
	v.sink({ from: 3 }).push([8n, 9n]).finish();
	assert.deepStrictEqual([...v], [1n, 2n, 3n, 8n, 9n]);
	const t = new extmem.BTree('u32', 0, { ctx, entries: [[1], [2], [3]] });
	assert.strictEqual([...t.stream({ from: 2 })].length, 2);
	const sorter = new extmem.Sorter('u64', { ctx });
	sorter.sink().push([2n, 1n]).finish();
	assert.deepStrictEqual([...sorter.stream()], [1n, 2n]);
	// Functions and files.
	const seen = [];
	const all = new extmem.Sink('u64', (some) => { seen.push(some && [...some]); }, { ctx });
	all.push([1n, 2n]).finish();
	assert.deepStrictEqual([seen.slice(0, -1).flat(), seen.at(-1)], [[1n, 2n], null]);
	const bad = new extmem.Sink('u64', () => { throw new RangeError('mine'); }, { ctx });
	assert.throws(() => { bad.push([1n]).finish(); }, RangeError);
	const file = extmem.Sink.file('u64', at('sunk'), { ctx });
	file.push([7n]);
	assert(!fs.existsSync(at('sunk')));
	file.finish();
	assert.strictEqual(fs.statSync(at('sunk')).size, 8);
	const none = extmem.Sink.discard('u64', { ctx });
	const halves = new extmem.Stream('u64', [1n, 2n, 3n], { ctx })
		.split((some) => Array.from(some, (n) => n % 2n), none);
	assert.deepStrictEqual([[...halves], none.length], [[2n], 2]);
	const summed = new extmem.Stream('u64', data, { ctx }).sortReduce((sum) => sum, { run_records: 500 });
	assert.strictEqual(summed.graphInfo().phases, 2);
	assert.deepStrictEqual([...summed], [...new Set(want)]);
	assert.strictEqual(summed.runsInfo().pushed, 5000);
}));

test('lines of any length', folder((at) => {
	fs.writeFileSync(at('a'), 'b,2\n\na,10\nc,1\n');
	const lines = () => extmem.Stream.lines([at('a'), at('a')], { ctx });
	assert.deepStrictEqual([...lines()].map(String), ['b,2', '', 'a,10', 'c,1', 'b,2', '', 'a,10', 'c,1']);
	const seen = [];
	const s = lines().filter((some) => some.map((line) => line.length)).inspect((some) => seen.push(...some)).sort({
		key: '-t, -k2,2n -u' });
	assert.deepStrictEqual([[...s].map(String), seen.length], [['c,1', 'b,2', 'a,10'], 6]);
	const format = { kind: 1, width: 2 };
	assert.strictEqual(lines().slice(1, 2).to(at('b'), { format }), 2);
	assert.strictEqual(fs.readFileSync(at('b'), 'latin1'), '\0\0\x04\0a,10');
	assert.deepStrictEqual([...extmem.Stream.lines(at('b'), { format, ctx })].map(String), ['', 'a,10']);
	const k = extmem.Sink.lines(at('c'), { ctx });
	k.push(['\u00e4', Buffer.from('x'), '']);
	assert.strictEqual(lines().pump(k), 8);
	assert.strictEqual(k.length, 11);
	k.finish();
	assert(fs.readFileSync(at('c'), 'utf8').startsWith('\u00e4\nx\n\nb,2\n'));
	assert.throws(() => lines().map((some) => some), TypeError);
	const two = ([line]) => line.length > 3 ? ['x', Buffer.alloc(0)] : null;
	assert.deepStrictEqual([...lines().batch(1).flatMap(two)].map(String), ['x', '', 'x', '']);
	assert.throws(() => [...lines().flatMap(() => [5])], TypeError);
	assert.throws(() => lines().flatMap((some) => some, 'u64'), { code: 'EM_ERR_NOTSUP' });
	assert.throws(() => new extmem.Stream('u64', [1n], { ctx }).flatMap((some) => some, 'lines'), TypeError);
	assert.throws(() => [...lines().map(() => { throw new RangeError('mine'); }, 'u64')], RangeError);
	assert.throws(() => [...lines().filter(() => [1])], /1 bytes in place of/);
	assert.throws(() => lines().sortReduce((sum) => sum), extmem.UsageError);
	const joined = (own) => [...lines().sort().join(lines().sort(), '-t, -k1,1', undefined, own)].map(String);
	assert.strictEqual(joined({ separator: ';' })[4], 'a;10;10');
	assert.deepStrictEqual(joined({ kind: 'semi', fn: () => '' }), Array(8).fill(''));
	assert.throws(() => joined({ fn: () => undefined }), TypeError);
	assert.throws(() => joined({ separator: 'ab' }), { code: 'EM_ERR_INVAL' });
	assert.throws(() => lines().join(new extmem.Stream('u64', [], { ctx })), { code: 'EM_ERR_INVAL' });
	assert.throws(() => extmem.Stream.lines(at('none'), { ctx }).nextBatch(), extmem.NotFoundError);
}));

test('streams that belong to others, or are closed half-way', () => {
	let ended = 0;
	const endless = () => new extmem.Stream('u64', (function* () {
		try {
			for (let i = 0n; ; i++)
				yield BigUint64Array.of(i);
		} finally {
			ended++;
		}
	})(), { ctx });
	const input = endless(), node = input.slice(1);
	assert.throws(() => input.nextBatch(), { code: 'EM_ERR_STATE' });
	assert(input.closed);
	input.close();
	assert.deepStrictEqual(node.nextBatch(), BigUint64Array.of(1n));
	assert.throws(() => node.merge([node]), { code: 'EM_ERR_INVAL' });
	assert.deepStrictEqual(node.nextBatch(), BigUint64Array.of(2n));
	node.close();
	assert.strictEqual(ended, 1);
	// Two groups become one, and a tee leaves two of it.
	const [a, b] = endless().map((x) => x).concat(endless().filter(() => [1])).tee();
	a.nextBatch();
	a.close();
	b.nextBatch();
	b.close();
	assert.strictEqual(ended, 2);
	const self = endless().map((x) => {
		self.close();
		return x;
	});
	assert.deepStrictEqual(self.nextBatch(), BigUint64Array.of(0n));
	assert.throws(() => self.nextBatch(), { code: 'EM_ERR_STATE' });
	const again = endless().map(() => again.nextBatch());
	assert.throws(() => again.nextBatch(), { code: 'EM_ERR_BUSY' });
	const early = new extmem.Context({ memory: '8M' });
	const left = new extmem.Stream('u64', [BigUint64Array.of(1n)], { ctx: early }).sort();
	early.close();
	assert.deepStrictEqual([...left], [1n]);
});

test('many numbers, read in pieces of any size', () => {
	const all = BigUint64Array.from({ length: 200000 }, random);
	const s = new extmem.Sorter('u64', { ctx, run_records: 5000 }).push(all);
	const got = [];
	for (let n = 1; ; n = n * 3 % 4099) {
		const room = new BigUint64Array(n), k = s.readInto(room);
		got.push(...room.subarray(0, k));
		if (k === 0)
			break;
	}
	assert.deepStrictEqual(got, [...all].sort(up));
	assert.strictEqual(s.pushed, 200000);
	assert(s.stats().phases.runs.seconds >= 0);
});

test('numbers are exact', () => {
	const q = new extmem.PriorityQueue('u64', { ctx });
	q.push(2n ** 64n - 1n);
	q.push(7);
	assert.throws(() => q.push(2 ** 53), RangeError);
	assert.throws(() => q.push(-1n), RangeError);
	assert.throws(() => q.push(2n ** 64n), RangeError);
	assert.throws(() => q.push(0.5), RangeError);
	assert.throws(() => new extmem.Vector('u8', { ctx }).push(256), RangeError);
	assert.throws(() => new extmem.Vector('u8', { ctx }).push('1'), TypeError);
	assert.deepStrictEqual([q.pop(), q.pop(), q.pop()], [7n, 2n ** 64n - 1n, undefined]);
	const v = new extmem.Vector({ a: 'i64', b: 'f32', c: 'u8' }, { ctx });
	v.push({ a: -(2n ** 63n), b: 0.5, c: 255 });
	assert.deepStrictEqual(v.get(-1), { a: -(2n ** 63n), b: 0.5, c: 255 });
	assert.throws(() => v.get(1), RangeError);
	assert.throws(() => v.get(2n ** 70n), RangeError);
});

test('what is no number, no record, or no function is refused', folder((at) => {
	const u = new extmem.Vector('u32', { ctx }), v = new extmem.Vector('u64', { ctx });
	for (const no of [NaN, -1, 0.5, 2 ** 32, 1n, '1', null, undefined])
		assert.throws(() => u.push(no), /Number|number/);
	for (const no of ['5', true, null, [5], NaN])
		assert.throws(() => v.push(no), /Number|number/);
	const s = new extmem.Sorter('u32', { ctx });
	for (const no of [5, {}, null, '12', new SharedArrayBuffer(8)])
		assert.throws(() => s.push(no), TypeError);
	const lines = new extmem.Sorter('lines', { ctx });
	for (const no of ['abc', [5], [null]])
		assert.throws(() => lines.push(no), TypeError);
	assert.deepStrictEqual([u.length, v.length, s.pushed, lines.pushed], [0, 0, 0, 0]);
	for (const no of [null, undefined, true, 'toString', { a: '__proto__' }])
		assert.throws(() => new extmem.Sorter(no, { ctx }), TypeError);
	for (const no of [[3, 1], 5, null, undefined])
		assert.throws(() => extmem.sort(no, { ctx }), TypeError);
	assert.throws(() => extmem.sort(Uint32Array.of(2, 1), { ctx, cmp: (a, b) => a < b }), TypeError);
	for (const no of [{ cmp: () => 0 }, { key: () => 0 }])
		assert.throws(() => new extmem.Sorter('lines', { ctx, ...no }), TypeError);
	for (const no of [{ progress: 1 }, { run_records: 2n ** 64n }])
		assert.throws(() => new extmem.Sorter('u32', { ctx, ...no }), extmem.UsageError);
	for (const no of [{ log: 1 }, { priority: 'x' }, { priority: 2 ** 40 }])
		assert.throws(() => new extmem.Context(no), extmem.UsageError);
	const odd = Buffer.concat([Buffer.from(at('a')), Buffer.from([0xff, 0x61])]);
	fs.writeFileSync(odd, 'b\na\n');
	extmem.sortFile([odd], Buffer.from(at('out')), { ctx });
	assert.strictEqual(fs.readFileSync(at('out'), 'latin1'), 'a\nb\n');
	new extmem.Vector('u8', { ctx, path: odd, mode: 'r' }).close();
	/* The folder is removed by names that are text. */
	fs.unlinkSync(odd);
	assert.throws(() => extmem.sortFile(Buffer.from('a\0'), at('out'), { ctx }), extmem.UsageError);
}));

test('comparisons of files', folder((at) => {
	const own = { ctx, records: 'u32', cmp: (a, b) => b - a };
	const numbers = (name) => [...new extmem.Vector('u32', { ctx, path: at(name), mode: 'r' })];
	fs.writeFileSync(at('in'), Uint32Array.of(3, 1, 2, 1));
	extmem.sortFile(at('in'), at('sorted'), own);
	assert.deepStrictEqual(numbers('sorted'), [3, 2, 1, 1]);
	extmem.mergeFiles([at('sorted'), at('sorted')], at('merged'), own);
	assert.deepStrictEqual(numbers('merged'), [3, 3, 2, 2, 1, 1, 1, 1]);
	extmem.uniqueFile(at('in'), at('unique'), own);
	assert.deepStrictEqual(numbers('unique'), [3, 2, 1]);
	extmem.topFile(at('in'), at('top'), 2, own);
	assert.deepStrictEqual(numbers('top'), [3, 2]);
	assert.strictEqual(extmem.checkFile(at('merged'), own).first, null);
	const { first } = extmem.checkFile(at('in'), own);
	assert.deepStrictEqual(first, Buffer.from(Uint32Array.of(2).buffer));
	for (const no of [{ cmp: own.cmp }, { key: 'value' }])
		assert.throws(() => extmem.shuffleFile(at('in'), at('top'), { ctx, records: 'u32', ...no }),
			extmem.UsageError);
}));

test('comparisons, loops that are left early, and those over what is closed', () => {
	const by = { cmp: (a, b) => b - a };
	const down = new extmem.Vector('u32', { ctx, items: [3, 1, 2] });
	down.sort(by);
	assert.deepStrictEqual([[...down], [...new extmem.Stream('u32', [1, 2], { ctx }).sort(by)]],
		[[3, 2, 1], [2, 1]]);
	const q = new extmem.PriorityQueue('u32', { ctx, items: [3, 1, 2] });
	for (const n of q.drain())
		if (n === 1)
			break;
	assert.deepStrictEqual([...q.drain()], [2, 3]);
	for (const [n, many] of [[2, 2], [2n, 2], [9n, 3], [2n ** 70n, 3], [Infinity, 3], [1.7, 1], [NaN, 0], [-1n, 0]])
		for (const pop of [(q) => q.popMany(n), (q) => q.popUntil(9, { n })]) {
			const some = new extmem.PriorityQueue('u32', { ctx, items: [3, 1, 2] });
			assert.deepStrictEqual([...pop(some), ...some.drain()], [1, 2, 3], `${n}`);
			some.extend([3, 1, 2]);
			assert.strictEqual(pop(some).length, many);
		}
	const v = new extmem.Vector('u32', { ctx, items: [0, 1, 2, 3] });
	assert.deepStrictEqual([[-2], [0, -1], [1, 99], [7, 9], [3, 1], [0n, 2n]].map((part) => [...v.slice(...part)]),
		[[2, 3], [0, 1, 2], [1, 2, 3], [], [], [0, 1]]);
	const tree = new extmem.BTree('u32', 'u32', { ctx, entries: [[1, 2], [3, 4]] });
	const all = tree.range();
	all.next();
	tree.close();
	assert.throws(() => all.next(), extmem.UsageError);
});

test('errors have their details', folder((at) => {
	const e = (fn) => { try { fn(); } catch (x) { return x; } return assert.fail('nothing was thrown'); };
	const missing = e(() => extmem.sortFile(at('none'), at('out'), { ctx }));
	assert(missing instanceof extmem.NotFoundError && missing instanceof extmem.IOError
		&& missing instanceof Error);
	assert.deepStrictEqual([missing.code, missing.errno, missing.path], ['EM_ERR_NOENT', 2, at('none')]);
	fs.writeFileSync(at('odd'), '12345');
	assert.strictEqual(e(() => extmem.sortFile(at('odd'), at('out'), { ctx, records: 'u32' })).path, at('odd'));
	assert.throws(() => new extmem.Sorter('u64', { ctx, nothing: 1 }), /nothing/);
	assert.throws(() => new extmem.Sorter('u64', { ctx, memory: 'much' }), extmem.UsageError);
	assert.throws(() => new extmem.Order('u64', 'field'), RangeError);
	for (const bad of ['a\0b', ['a', 'b\0'], [1], 7])
		assert.throws(() => extmem.sortFile(bad, at('out'), { ctx }), { code: 'EM_ERR_INVAL' });
	assert.throws(() => new extmem.Sorter('u64', { ctx, memory: '1\0' }), { code: 'EM_ERR_INVAL' });
	let reads = 0;
	const shrinks = Object.defineProperty(['a', 'b'], 1, { get: () => 'b'.repeat(100 - ++reads) });
	assert.throws(() => extmem.sortFile(shrinks, at('out'), { ctx }), { code: 'EM_ERR_INVAL' });
	assert(fs.readdirSync(path.dirname(at('x'))).length === 1);
}));

test('files', folder((at) => {
	fs.writeFileSync(at('a'), 'b,2\na,10\nc,1\n');
	extmem.sortFile(at('a'), at('b'), { key: '-t, -k2,2nr', ctx });
	assert.strictEqual(fs.readFileSync(at('b'), 'utf8'), 'a,10\nb,2\nc,1\n');
	assert.strictEqual(extmem.checkFile(at('b'), { key: '-t, -k2,2nr', ctx }).first, null);
	assert.strictEqual(String(extmem.checkFile(at('b'), { key: '-r', ctx }).first), 'b,2');
	extmem.mergeFiles([at('b'), at('b')], at('c'), { ctx });
	extmem.uniqueFile(at('c'), at('d'), { ctx, count: true });
	assert.match(fs.readFileSync(at('d'), 'utf8'), /^2\ta,10\n2\tb,2\n2\tc,1\n$/);
	extmem.topFile(at('c'), at('e'), 2, { ctx, key: '-r' });
	assert.strictEqual(fs.readFileSync(at('e'), 'utf8'), 'c,1\nc,1\n');
	const stats = extmem.shuffleFile(at('c'), at('f'), { ctx, seed: 3 });
	assert.strictEqual(JSON.parse(JSON.stringify(stats)).phases.output.seconds, stats.phases.output.seconds);
	assert.strictEqual(fs.readFileSync(at('f'), 'utf8').split('\n').sort().join(), ',a,10,a,10,b,2,b,2,c,1,c,1');
	const s = new extmem.Sorter('lines', { ctx });
	s.pushFile(at('f'));
	s.writeFile(at('g'));
	assert.strictEqual(fs.readFileSync(at('g'), 'utf8'), 'a,10\na,10\nb,2\nb,2\nc,1\nc,1\n');
}));

test('functions: keys of many records, comparisons, progress that stops', () => {
	const by = (a) => BigUint64Array.from(a, (n) => 2n ** 64n - 1n - n);
	assert.deepStrictEqual([...extmem.sort(BigUint64Array.of(1n, 3n, 2n), { ctx, key: by })], [3n, 2n, 1n]);
	const cmp = (a, b) => b.n - a.n || up(a.m, b.m);
	const pairs = [{ n: 1, m: 2 }, { n: 2, m: 1 }, { n: 2, m: 0 }];
	assert.deepStrictEqual([...new extmem.Sorter({ n: 'u32', m: 'u32' }, { ctx, cmp }).push(pairs)],
		[{ n: 2, m: 0 }, { n: 2, m: 1 }, { n: 1, m: 2 }]);
	assert.throws(() => extmem.sort(BigUint64Array.of(1n, 2n), { ctx, key: () => new BigUint64Array(1) }),
		TypeError);
	const s = new extmem.Sorter('u64', { ctx, run_records: 1000, progress: () => true });
	assert.throws(() => { for (;;) s.push(new BigUint64Array(300000)); }, extmem.CanceledError);
	const closing = new extmem.Sorter('u64', { ctx, run_records: 1000, progress: () => closing.close() });
	assert.throws(() => { for (;;) closing.push(new BigUint64Array(300000)); }, (e) =>
		['EM_ERR_CANCELED', 'EM_ERR_STATE'].includes(e.code));
	assert(closing.closed);
	// Inside of a function everything else can be used.
	const inner = new extmem.Vector('u16', { ctx });
	const nested = (a) => { inner.push(a.length); return a; };
	assert.deepStrictEqual([...extmem.sort(BigUint64Array.of(2n, 1n), { ctx, key: nested })], [1n, 2n]);
	assert(inner.length > 0 && inner.get(0) === 2);
});

test('containers', folder((at) => {
	const v = new extmem.Vector('u32', { ctx, items: [5, 1, 4] });
	assert.strictEqual(v.sort({ key: '-value' }), 3);
	assert.deepStrictEqual([...v], [5, 4, 1]);
	v.mutate((some) => some.forEach((n, i) => { some[i] = n + 1; }));
	assert.deepStrictEqual(v.slice(1, 9), Uint32Array.of(5, 2));
	assert.deepStrictEqual(v.readMany([2, 0]), Uint32Array.of(2, 6));
	assert.deepStrictEqual([v.findIndex((n) => n < 3), v.findIndex((n) => n < 1), v.count((n) => n > 2)],
		[2, -1, 2]);
	assert.throws(() => v.forEach(() => { throw new TypeError('mine'); }), TypeError);
	const opened = (name, mode) => new extmem.Vector('u8', { ctx, path: at(name), mode });
	for (const mode of ['w', 'r+', undefined, 'r'])
		assert.strictEqual(opened('vector', mode).length, 0);
	assert.throws(() => opened('vector', 'r').push(1), { code: 'EM_ERR_ACCESS' });
	assert.throws(() => opened('vector', 'x'), { code: 'EM_ERR_INVAL' });
	assert.throws(() => opened('none', 'r'), extmem.NotFoundError);
	const d = new extmem.Deque('i8', { ctx, items: [1, 2] });
	d.unshift(-1);
	assert.deepStrictEqual([[...d], d.pop(), d.shift(), d.length], [[-1, 1, 2], 2, -1, 1]);
	const s = new extmem.Stack('u16', { ctx });
	s.extend([1, 2, 3]);
	assert.deepStrictEqual([s.peek(), s.pop(), [...s.popMany(9)], s.pop()], [3, 3, [1, 2], undefined]);
	const f = new extmem.Queue(3, { ctx });
	f.push(Buffer.from('abc'));
	f.extend(Buffer.from('defghi'));
	assert.deepStrictEqual([...f.drain()].map(String.bind(null)).length, 3);
	const q = new extmem.PriorityQueue('u64', { ctx, stable: true });
	q.extend([4n, 2n, 9n]);
	assert.deepStrictEqual([q.pushpop(3n), [...q.popUntil(9n)], q.replace(1n), [...q.drain()]],
		[2n, [3n, 4n], 9n, [1n]]);
	const t = new extmem.BTree('u32', 'f64', { ctx, entries: Array.from({ length: 1000 }, (_, i) => [i, i / 2]) });
	assert.deepStrictEqual([...t.range(10, 13)], [[10, 5], [11, 5.5], [12, 6]]);
	assert.deepStrictEqual([...t.range(10, 13, { reverse: true })].map(([k]) => k), [12, 11, 10]);
	assert.deepStrictEqual([t.get(1000), t.has(1), t.count(5, 9), t.deleteRange(0, 998)],
		[undefined, true, 5, 998]);
	const { records, found } = t.getMany([1, 999]);
	assert.deepStrictEqual([records.length, [...found]], [24, [0, 1]]);
	const tall = new extmem.BTree('u32', 'f64', { ctx, leaf_bytes: 4096,
		entries: Array.from({ length: 1000 }, (_, i) => [2 * i, i / 2]) });
	for (const bounds of [[], [101, 1501], [undefined, 600], [1200], [null, null], [7, 7]]) {
		const seen = [], places = [];
		tall.forEach((some, i) => {
			assert.strictEqual(i, seen.length);
			places.push(i);
			for (let k = 0; k < tall.records.count(some); k++)
				seen.push(tall.records.item(some, k));
		}, ...bounds);
		assert.deepStrictEqual(seen, [...tall.range(...bounds)]);
		assert(bounds.length || places.length > 1);
	}
	assert.throws(() => tall.forEach(() => { throw new TypeError('mine'); }, 5), { message: 'mine' });
	assert.throws(() => tall.forEach(() => tall.delete(1)), { code: 'EM_ERR_BUSY' });
	/* Out of order, overlapping, and empty; one end for all. */
	const from = [1201, 101, 400, 7], to = Uint32Array.of(1900, 1501, 400, 8);
	for (const [begin, end] of [[from, to], [from, null], [undefined, to], [[], []]]) {
		const ranges = Array.from(begin ?? end), seen = ranges.map(() => []);
		tall.forEachMany((some, i) => {
			for (let k = 0; k < tall.records.count(some); k++)
				seen[i].push(tall.records.item(some, k));
		}, begin, end);
		assert.deepStrictEqual(seen, ranges.map((_, i) => [...tall.range(begin?.[i], end?.[i])]));
	}
	const never = () => { assert(false); };
	assert.throws(() => tall.forEachMany(never, from, [1, 2]),
		{ code: 'EM_ERR_INVAL', message: /4 ranges.* 2 end/ });
	assert.throws(() => tall.forEachMany(never, null, null), extmem.UsageError);
	assert.throws(() => tall.forEachMany(() => { throw new TypeError('mine'); }, from, to), { message: 'mine' });
	t.save(at('tree'));
	const again = new extmem.BTree('u32', 'f64', { ctx, path: at('tree') });
	again.verify();
	assert.deepStrictEqual([...again], [[998, 499], [999, 499.5]]);
	const c = t.cursor();
	assert.deepStrictEqual([c.seek(998), c.next(), c.next(), c.seek(0, 'lt')], [[998, 499], [999, 499.5], undefined,
		undefined]);
	const sorter = new extmem.Sorter({ k: 'u32', v: 'f64' }, { ctx, key: 'k' })
		.push([{ k: 2, v: 1 }, { k: 1, v: 0 }]);
	const loaded = new extmem.BTree('u32', 'f64', { ctx });
	loaded.load(sorter.finish());
	assert.deepStrictEqual([...loaded], [[1, 0], [2, 1]]);
}));

test('whatever is closed first, nothing crashes', () => {
	for (let i = 0; i < 20; i++) {
		const own = new extmem.Context({ memory: '16M' });
		const tree = new extmem.BTree('u64', 0, { ctx: own, entries: [[1n], [2n]] });
		const cursor = tree.cursor();
		const list = [own, tree, cursor, tree.order].sort(() => Number(random() % 3n) - 1);
		list.forEach((o) => { o.close(); });
		assert.throws(() => cursor.next(), extmem.UsageError);
		assert.throws(() => tree.get(1n), extmem.UsageError);
	}
});

test('no leak over many', () => {
	const used = ctx.stats().memory_used;
	for (let i = 0; i < 20000; i++)
		new extmem.Order('u64', null, { ctx }).close();
	assert(ctx.stats().memory_used <= used);
});

test('what is forgotten is collected', async () => {
	require('node:v8').setFlagsFromString('--expose-gc');
	const gc = require('node:vm').runInNewContext('gc');
	const own = new extmem.Context({ memory: '32M' });
	const before = own.stats().memory_used;
	for (let i = 0; i < 4; i++)
		new extmem.Stack('u64', { ctx: own }).push(1n);
	assert(own.stats().memory_used > before);
	/* Also a function, where another argument was refused. */
	const refused = [['forEach', 'x'], ['forEachMany', ['x']]].map(([name, key]) => {
		const fn = () => {}, tree = new extmem.BTree('u64', 0, { ctx: own });
		assert.throws(() => tree[name](fn, key, null), TypeError);
		return new WeakRef(fn);
	});
	const kept = () => own.stats().memory_used > before || refused.some((fn) => fn.deref());
	for (let i = 0; i < 100 && kept(); i++) {
		gc();
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
	assert.strictEqual(own.stats().memory_used, before);
	assert(!kept());
	own.close();
});

for (const waits of [false, true])
	test(`what was dropped makes room for what is made${waits ? ' in another job' : ''}`, async () => {
		const own = new extmem.Context({ memory: '8M' });
		for (let i = 0; i < 1000; i++) {
			new extmem.Sorter('u64', { ctx: own, memory: '1M' });
			new extmem.Vector('u64', { ctx: own });
			new extmem.BTree('u64', 'u64', { ctx: own });
			if (waits)
				await new Promise(setImmediate);
		}
		own.close();
	});

test('a function of an order that fails when progress is due is what the object says', () => {
	class Mine extends Error {}
	const key = () => {
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
		throw new Mine();
	};
	const s = new extmem.Sorter('u64', { ctx, run_records: 1000, key, progress: () => false });
	assert.throws(() => s.push(BigUint64Array.from({ length: 300000 }, random)).finish(), Mine);
	assert.throws(() => s.push([1n]), { code: 'EM_ERR_USER' });
	s.close();
});

test('what is closed to make room may make more', () => {
	const own = new extmem.Context({ memory: '8M' });
	let ended = 0;
	function* endless() {
		try {
			for (;;)
				yield 1n;
		} finally {
			new extmem.Vector('u64', { ctx: own });
			ended++;
		}
	}
	for (let i = 0; i < 1000; i++) {
		new extmem.Stream('u64', endless(), { ctx: own }).nextBatch();
		new extmem.BTree('u64', 'u64', { ctx: own });
	}
	assert(ended > 0);
	own.close();
});

test('threads of Node each have their own', async () => {
	const folder = path.resolve(process.env.EM_PACKAGE || path.join(__dirname, '..'));
	const code = `const extmem = require(${JSON.stringify(folder)});
		const ctx = new extmem.Context({ memory: '16M' });
		const key = (a) => a;
		const sorted = extmem.sort(BigUint64Array.of(2n, 1n), { ctx, key });
		require('worker_threads').parentPort.postMessage([...sorted]);`;
	const results = await Promise.all([1, 2].map(() => new Promise((resolve, reject) => {
		const worker = new Worker(code, { eval: true });
		worker.once('message', resolve);
		worker.once('error', reject);
	})));
	assert.deepStrictEqual(results, [[1n, 2n], [1n, 2n]]);
});
