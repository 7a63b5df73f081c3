// SPDX-License-Identifier: BSL-1.0
'use strict';
// A hundred thousand visits: sorted by page and time, the pages counted in a tree, the slowest ones by a heap.
const os = require('os');
const extmem = require(process.env.EM_PACKAGE || 'extmem');

const VISIT = { page: 'u32', second: 'u32', ms: 'f64' };
const ctx = new extmem.Context({ memory: '32M', dirs: [os.tmpdir()] });
const visits = new extmem.Sorter(VISIT, { key: 'page,second', ctx });
let state = 1;
const random = (n) => Math.floor((state = (state * 48271) % 2147483647) / 2147483647 * n);
visits.push(Array.from({ length: 100000 }, (_, second) => ({ page: random(1000), second, ms: random(200) })));

const pages = new extmem.BTree('u32', { visits: 'u64', last: 'u64' }, { ctx });
const slowest = new extmem.PriorityQueue({ ms: 'f64', page: 'u32' }, { key: '-ms', ctx });
for (const { page, second, ms } of visits) {
	const known = pages.get(page) ?? { visits: 0n, last: 0n };
	if (BigInt(second) < known.last)
		throw new Error('not sorted');
	pages.set(page, { visits: known.visits + 1n, last: BigInt(second) });
	if (ms > 190)
		slowest.push({ ms, page });
}
console.log(`${pages.size} pages, the last five: ${[...pages.range(995)].map(([page]) => page)}`);
console.log(`${slowest.length} slow visits, the slowest of page ${slowest.peek().page}`);
if ([...pages.values()].reduce((n, v) => n + v.visits, 0n) !== 100000n)
	throw new Error('visits were lost');
ctx.close();
