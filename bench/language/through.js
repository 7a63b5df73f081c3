// SPDX-License-Identifier: BSL-1.0
// The program in Node of bench/bindings, see there and through.c: through.js copy N MEMORY DIRECTORY.
// EM_PACKAGE is the folder of the package.
'use strict';
const extmem = require(process.env.EM_PACKAGE || 'extmem');

const EACH = 131072;

function copy(n, memory, dir) {
	const numbers = new BigUint64Array(EACH);
	let state = 1n;
	for (let i = 0; i < EACH; i++)
		numbers[i] = state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
	const ctx = new extmem.Context({ memory, dirs: [dir] });
	const sorter = new extmem.Sorter('u64', { ctx });
	for (let i = 0; i < Math.floor(n / EACH); i++) {
		numbers[i % EACH] = BigInt(i);
		sorter.push(numbers);
	}
	let back = 0, last = 0n;
	for (let got; (got = sorter.readInto(numbers)); back += got)
		last = numbers[got - 1];
	sorter.close();
	ctx.close();
	const used = process.cpuUsage();
	console.log(`n=${back} check=${last} cpu=${((used.user + used.system) / 1e6).toFixed(3)}`);
}

if (process.argv[2] === 'copy')
	copy(Number(process.argv[3]), Number(process.argv[4]), process.argv[5]);
