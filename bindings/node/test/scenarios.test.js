// SPDX-License-Identifier: BSL-1.0
'use strict';
// The scenarios that the tests of all languages run: bindings/scenarios.txt.
const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const extmem = require(process.env.EM_PACKAGE || '..');

const MIB = 1 << 20;
const numbers = (text) => text === '-' ? [] : text.split(' ').map(BigInt);
const items = (spec, text) => numbers(text).map((n) => spec.endsWith('32') ? Number(n) : n);
const sorter = (ctx, records, values, opts) => new extmem.Sorter(records, { ctx, ...opts }).push(values);

class Mine extends Error {}
function fail() {
	throw new Mine('of the caller');
}

const stream = (ctx, values) => new extmem.Stream('u64', numbers(values), { ctx });
const random = (n) => new BigUint64Array(new Uint8Array(crypto.randomBytes(8 * n)).buffer);

const PAIR = { key: 'u64', n: 'u64' };
const pairs = (keys, counts) => {
	const n = numbers(counts);
	return numbers(keys).map((key, i) => ({ key, n: n[i] }));
};
/** Adds what comes third, fifth, ... among u64 in bytes. */
const add = (sum, some) => {
	const view = (b) => new DataView(b.buffer, b.byteOffset, b.byteLength), all = view(some);
	let n = view(sum).getBigUint64(8, true);
	for (let at = 8; at < some.byteLength; at += 16)
		n += all.getBigUint64(at, true);
	view(sum).setBigUint64(8, n, true);
	return sum;
};
const formed = (ctx, pushed, sorted) => {
	const r = new extmem.Runs('u64', { ctx }).push(pushed);
	if (sorted.length)
		r.append(sorted).end();
	return r.finish();
};
const lineFile = (dir, text, name = 'in') => {
	fs.writeFileSync(path.join(dir, name), text.replaceAll('|', '\n') + '\n');
	return path.join(dir, name);
};
const twoFiles = (ctx, dir, ...texts) => texts.map((text, i) =>
	extmem.Stream.lines(lineFile(dir, text, `in${i}`), { ctx }));

/** What loops have seen that are left at the first and at the second item, then a batch, then another loop. */
const left = (s) => {
	const seen = [];
	for (const stop of [1, 2]) {
		let n = 0;
		for (const item of s) {
			seen.push(item);
			if (++n === stop)
				break;
		}
	}
	const [one] = s;
	return [...seen, one, ...s.nextBatch(), ...s];
};

const run = {
	sort: (ctx, dir, spec, values) => [...sorter(ctx, spec, items(spec, values))],
	sort2(ctx, dir, key, first, second, expected) {
		const b = numbers(second);
		const pairs = [...sorter(ctx, { a: 'u64', b: 'u64' }, numbers(first).map((a, i) => ({ a, b: b[i] })),
			{ key })];
		assert.deepStrictEqual(pairs.map((p) => p.a), numbers(expected));
		return pairs.map((p) => p.b);
	},
	unique: (ctx, dir, spec, values) => [...sorter(ctx, spec, items(spec, values), { unique: true })],
	top: (ctx, dir, spec, k, values) => [...new extmem.Top(spec, Number(k), { ctx }).push(items(spec, values))],
	lines: (ctx, dir, key, text) => [...sorter(ctx, 'lines', text.split('|'), { key })].join('|'),
	heap(ctx, dir, spec, values) {
		const q = new extmem.PriorityQueue(spec, { ctx });
		items(spec, values).forEach((n) => q.push(n));
		return Array.from({ length: q.length }, () => q.pop());
	},
	radix(ctx, dir, values) {
		const h = new extmem.RadixHeap('u64', { ctx });
		h.extend(numbers(values));
		return Array.from({ length: h.length }, () => h.pop());
	},
	late(ctx, dir, pushes, pops, late) {
		const h = new extmem.RadixHeap('u64', { ctx });
		h.extend(numbers(pushes));
		for (let i = 0; i < Number(pops); i++)
			h.pop();
		h.push(BigInt(late));
	},
	tree(ctx, dir, keys, erased) {
		const value = (key) => BigInt.asUintN(64, 2n * key);
		const t = new extmem.BTree('u64', 'u64', { ctx,
			entries: numbers(keys).map((key) => [key, value(key)]) });
		numbers(erased).forEach((key) => assert(t.delete(key)));
		for (const [key, v] of t)
			assert.strictEqual(v, value(key));
		return [...t.keys()];
	},
	range(ctx, dir, keys, from, to) {
		const t = new extmem.BTree('u64', 0, { ctx, entries: numbers(keys).map((key) => [key]) });
		return [...t.range(BigInt(from), BigInt(to))].map(([key]) => key);
	},
	vector(ctx, dir, values) {
		const file = path.join(dir, 'vector');
		const v = new extmem.Vector('u64', { ctx, path: file, items: numbers(values) });
		v.flush();
		v.close();
		const data = fs.readFileSync(file);
		const again = new extmem.Vector('u64', { ctx, path: file, mode: 'r' });
		assert.deepStrictEqual([...again], numbers(values));
		again.close();
		return Array.from({ length: data.length / 8 }, (_, i) => data.readBigUInt64LE(8 * i));
	},
	callback(ctx, dir, where) {
		const s = new extmem.Sorter('u64', { ctx, run_records: 1000, [where]: fail });
		const data = random(300000);
		assert.throws(() => {
			// Progress is told five times a second at least: so this goes on until that is so.
			do {
				s.push(data);
				if (where !== 'progress')
					s.finish();
			} while (true);
		}, (e) => e instanceof Mine && e.message === 'of the caller');
		s.push([1n]);
	},
	full(ctx, dir, limit, n) {
		const own = new extmem.Context({ memory: 4 * MIB, scratch_max: limit });
		try {
			new extmem.Sorter('u64', { ctx: own }).push(random(Number(n))).finish();
		} finally {
			own.close();
		}
	},
	memory(ctx, dir, limit) {
		new extmem.Context({ memory: limit });
	},
	closed(ctx, dir, what) {
		const [x, use] = {
			sorter: [new extmem.Sorter('u64', { ctx }), (s) => s.push([1n])],
			vector: [new extmem.Vector('u64', { ctx }), (v) => v.push(1n)],
			tree: [new extmem.BTree('u64', 0, { ctx }), (t) => t.get(1n)],
			heap: [new extmem.PriorityQueue('u64', { ctx }), (q) => q.push(1n)],
		}[what];
		x.close();
		x[Symbol.dispose]();
		assert(x.closed);
		use(x);
	},
	misorder(ctx, dir, values) {
		const s = sorter(ctx, 'u64', numbers(values));
		assert.throws(() => s.nextBatch(), { code: 'EM_ERR_STATE' });
		assert.throws(() => { s._done = true; s.readInto(new BigUint64Array(1)); }, { code: 'EM_ERR_STATE' });
		s._done = false;
		return [...s];
	},
	reentry(ctx, dir, what) {
		const errors = [];
		const progress = () => {
			try {
				s[what]([1n]);
			} catch (e) {
				errors.push(e);
			}
		};
		const s = new extmem.Sorter('u64', { ctx, run_records: 1000, progress });
		const data = random(300000);
		while (!errors.length)
			s.push(data);
		throw errors[0];
	},
	batch(ctx, dir, values) {
		const s = sorter(ctx, 'u64', numbers(values));
		s.finish();
		const batch = s.nextBatch();
		assert.strictEqual(s.nextBatch(), null);
		s.close();
		// A copy.
		assert.deepStrictEqual([...batch], numbers(values).sort((a, b) => a < b ? -1 : a > b));
		throw new Error('copied');
	},
	missing: (ctx, dir, name) => extmem.sortFile(path.join(dir, name), path.join(dir, 'out'), { ctx }),
	stream: (ctx, dir, values) => [...stream(ctx, values).map((some) => some.map((n) => n + 1n)).sort().unique()],
	set: (ctx, dir, operation, a, b) => [...stream(ctx, a).set(operation, stream(ctx, b))],
	split(ctx, dir, values) {
		const q = new extmem.Queue('u64', { ctx }), odd = q.sink();
		const stays = [...stream(ctx, values).split((some) => some.map((n) => n % 2n), odd)];
		odd.finish();
		return [...stays, ...q.drain()];
	},
	runs(ctx, dir, pushed, sorted, from, to, skip, take) {
		const r = formed(ctx, numbers(pushed), numbers(sorted)),
			given = (n) => n === '-' ? undefined : BigInt(n);
		return [...r.merge({ from: given(from), to: given(to), skip: given(skip), take: given(take) })];
	},
	twice(ctx, dir, values) {
		const r = formed(ctx, numbers(values), []);
		const first = r.merge().batch(1), second = r.merge().batch(1);
		r.close();
		assert(r.closed);
		return [...first].flatMap((n) => [n, second.nextBatch()[0]]);
	},
	early(ctx, dir, values) {
		const r = new extmem.Runs('u64', { ctx }), s = r.merge();
		r.push(numbers(values));
		assert.throws(() => s.nextBatch(), { code: 'EM_ERR_STATE' });
		r.finish();
		return [...s];
	},
	combine(ctx, dir, keys, counts) {
		const r = new extmem.Runs(PAIR, { ctx, key: 'key', combine: add });
		return [...r.push(pairs(keys, counts)).finish().merge()].flatMap(({ key, n }) => [key, n]);
	},
	totals(ctx, dir, keys, counts) {
		const s = new extmem.Stream(PAIR, pairs(keys, counts), { ctx }).sortReduce(add, { key: 'key' });
		return [...s].flatMap(({ key, n }) => [key, n]);
	},
	sour(ctx, dir, values) {
		const r = new extmem.Runs('u64', { ctx, combine: fail });
		assert.throws(() => r.push(numbers(values)).finish(), (e) => e instanceof Mine);
		r.push([1n]);
	},
	text(ctx, dir, key, text, expected) {
		const all = extmem.Stream.lines(lineFile(dir, text), { ctx });
		const n = all.filter((some) => some.map((line) => line[0] !== 35)).sort({ key })
			.to(path.join(dir, 'out'));
		assert.strictEqual(n, expected.split('|').length);
		return fs.readFileSync(path.join(dir, 'out'), 'ascii').replace(/\n$/, '').replaceAll('\n', '|');
	},
	lengths: (ctx, dir, text) => [...extmem.Stream.lines([lineFile(dir, text)], { ctx }).map((some) =>
		BigUint64Array.from(some, (line) => BigInt(line.length)), 'u64')],
	linejoin(ctx, dir, kind, left, right, by, first, second) {
		const [a, b] = twoFiles(ctx, dir, first, second);
		return [...a.join(b, left, right, { kind, separator: by === '-' ? undefined : by })].join('|');
	},
	linepairs(ctx, dir, kind, left, right, first, second) {
		const [a, b] = twoFiles(ctx, dir, first, second);
		return [...a.join(b, left, right, { kind, fn: (x, y) => `${x ?? '-'}+${y ?? '-'}` })].join('|');
	},
	linesour(ctx, dir, text) {
		const [a, b] = twoFiles(ctx, dir, text, text), s = a.join(b, undefined, undefined, { fn: fail });
		assert.throws(() => s.nextBatch(), (e) => e instanceof Mine && e.message === 'of the caller');
		s.nextBatch();
	},
	leave(ctx, dir, what, values) {
		return left(what === 'stream' ? stream(ctx, values) : what === 'top'
			? new extmem.Top('u64', 100, { ctx }).push(numbers(values))
			: sorter(ctx, 'u64', numbers(values)));
	},
	lineleave: (ctx, dir, text) => left(sorter(ctx, 'lines', text.split('|'))).join('|'),
	linetee: (ctx, dir, text) => extmem.Stream.lines(lineFile(dir, text), { ctx }).tee({ spill: true })
		.flatMap((s) => [...s]).join('|'),
	lineset(ctx, dir, operation, first, second) {
		const [a, b] = twoFiles(ctx, dir, first, second);
		return [...a.set(operation, b)].join('|');
	},
	linesum: (ctx, dir, key, text) => [...extmem.Stream.lines(lineFile(dir, text), { ctx }).reduce((sum, more) =>
		[sum, ...more].join('+'), key)].join('|'),
	linewords: (ctx, dir, text) => [...extmem.Stream.lines(lineFile(dir, text), { ctx }).flatMap((some) =>
		some.flatMap((line) => line.toString().split(' ').filter(Boolean)))].join('|'),
	linesplit(ctx, dir, text) {
		const file = path.join(dir, 'sent'), sent = extmem.Sink.lines(file, { ctx });
		const stays = [...extmem.Stream.lines(lineFile(dir, text), { ctx }).split((some) =>
			some.map((line) => line[0] === 35), sent)];
		sent.finish();
		return [...stays, ...extmem.Stream.lines(file, { ctx })].join('|');
	},
	linecount(ctx, dir, key, first, second) {
		const [a, b] = twoFiles(ctx, dir, first, second);
		return [...a.merge([b], key).unique(key, { counted: true })].join('|').replaceAll('\t', ':');
	},
	told(ctx, dir, n) {
		const some = Number(n);
		const endless = (fn) => new extmem.Stream('u64', () => new BigUint64Array(some), { ctx }).progress(fn);
		const pull = (s) => { for (;;) s.nextBatch(); };
		assert.throws(() => pull(endless((phase, done, total) =>
			phase === 1 && done % some === 0 && total === 0)),
			extmem.CanceledError);
		const s = endless(fail);
		assert.throws(() => pull(s), (e) => e instanceof Mine);
		s.nextBatch();
	},
	broken(ctx, dir, values) {
		const s = stream(ctx, values).map(fail);
		assert.throws(() => s.nextBatch(), (e) => e instanceof Mine && e.message === 'of the caller');
		s.nextBatch();
	},
};

const CLASSES = {
	EM_ERR_STATE: extmem.UsageError, EM_ERR_BUSY: extmem.UsageError, EM_ERR_RANGE: extmem.UsageError,
	EM_ERR_NOSPACE: extmem.NoSpaceError, EM_ERR_NOENT: extmem.NotFoundError,
	EM_ERR_MEMLIMIT: extmem.MemoryLimitError,
	EM_ERR_USER: extmem.CallbackError, EM_ERR_CANCELED: extmem.CanceledError,
};

const file = process.env.EM_SCENARIOS || path.join(__dirname, '../../scenarios.txt');
let n = 0;
for (const line of fs.readFileSync(file, 'ascii').split('\n')) {
	if (!line || line.startsWith('#'))
		continue;
	const [name, kind, ...rest] = line.split('\t');
	const expected = rest.pop();
	n++;
	test(name, () => {
		const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'extmem-node-'));
		const ctx = new extmem.Context({ memory: 16 * MIB });
		try {
			const call = () => run[kind](ctx, dir, ...rest, expected);
			if (!expected.startsWith('!')) {
				const got = call();
				if (typeof got === 'string')
					assert.strictEqual(got, expected);
				else
					assert.deepStrictEqual(got.map(BigInt), numbers(expected));
			} else if (expected === '!') {
				assert.throws(call, /copied/);
			} else {
				assert.throws(call, (e) => e.code === expected.slice(1)
					&& e instanceof CLASSES[e.code]);
			}
		} finally {
			ctx.close();
			fs.rmSync(dir, { recursive: true });
		}
	});
}
test('all scenarios were there', () => assert(n > 30));
