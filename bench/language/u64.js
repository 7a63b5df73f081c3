// SPDX-License-Identifier: BSL-1.0
// As u64.c, in Node: u64.js N MEMORY DIRECTORY; EM_PACKAGE is the folder of the package.
'use strict';
const extmem = require(process.env.EM_PACKAGE || 'extmem');

const BATCH = 1 << 17;
const [n, memory, dir] = [Number(process.argv[2]), process.argv[3], process.argv[4]];
const numbers = new BigUint64Array(BATCH);
let x = 88172645463325252n;
for (let i = 0; i < BATCH; i++) {
	x ^= BigInt.asUintN(64, x << 13n);
	x ^= x >> 7n;
	x ^= BigInt.asUintN(64, x << 17n);
	numbers[i] = x;
}
const ctx = new extmem.Context({ memory, dirs: [dir] });
const sorter = new extmem.Sorter('u64', { ctx });
for (let i = 0; i < n; i += BATCH) {
	numbers[0] = BigInt.asUintN(64, BigInt(i) * 0x9e3779b97f4a7c15n);
	sorter.push(n - i < BATCH ? numbers.subarray(0, n - i) : numbers);
}
let count = 0;
let sum = 0n;
for (let got; (got = sorter.readInto(numbers)); count += got)
	sum = BigInt.asUintN(64, sum + numbers[0]);
console.log(`${count} ${sum}`);
sorter.close();
ctx.close();
process.exitCode = count === n ? 0 : 1;
