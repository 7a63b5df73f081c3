// SPDX-License-Identifier: BSL-1.0
/** External memory: sorting and containers for more records than memory holds. */

export type NumberType = 'u64' | 'i64' | 'u32' | 'i32' | 'u16' | 'i16' | 'u8' | 'i8' | 'f64' | 'f32';
/** A number, a number of bytes, or fields side by side. */
export type RecordSpec = NumberType | number | { [field: string]: NumberType } | Records;
export type Bytes = ArrayBuffer | ArrayBufferView;
/** A BigInt where it has 64 bits, a Number, an object of fields, or bytes. */
export type Item = any;
export type Key = string | string[] | Order | ((records: any) => BigUint64Array);
export type Size = number | bigint | string;
/** Fields of em_format. */
export type Format = { [field: string]: number };
export type Stats = { [name: string]: any };
/** Other fields of the structs in <extmem/*.h>, by name. */
export interface Options { memory?: Size; ctx?: Context; [field: string]: any }
export interface SortOptions extends Options {
	key?: Key;
	cmp?: (a: Item, b: Item) => number;
	unique?: boolean;
	/** What is true stops it. */
	progress?: (phase: string, done: number, total: number) => unknown;
}
export interface FileOptions extends SortOptions { records?: RecordSpec | 'lines' }

export const version: string;

/** code is the name of the status. */
export class ExtmemError extends Error {
	code: string;
	status: number;
	errno: number;
	op: string;
	path: string | null;
	offset: bigint | null;
	bytes: bigint | null;
	record: bigint | null;
	done: bigint | null;
}
export class UsageError extends ExtmemError {}
export class MemoryLimitError extends ExtmemError {}
export class IOError extends ExtmemError {}
export class NoSpaceError extends IOError {}
export class NotFoundError extends IOError {}
export class DataError extends ExtmemError {}
export class CallbackError extends ExtmemError {}
export class CanceledError extends ExtmemError {}

declare class Base {
	readonly closed: boolean;
	close(): void;
	[Symbol.dispose](): void;
}

export class Context extends Base {
	constructor(opts?: { memory?: Size; threads?: number; dirs?: string[]; log?: (level: number, line: string) => void;
		[field: string]: any });
	cancel(): void;
	stats(): Stats;
}
export function defaultContext(): Context;

type Some = any;
/** Records that are made when they are asked for.  A stream that another one is made of belongs to that. */
export class Stream extends Base implements Iterable<Item> {
	constructor(records: RecordSpec, source: (() => Some | null) | Iterable<Some> | Pull | Bytes,
		opts?: { ctx?: Context; count?: number | bigint });
	static file(records: RecordSpec, paths: string | string[], opts?: { ctx?: Context }): Stream;
	/** Lines, or what the fields of em_format say.  Functions get and lists have buffers, without newlines.  Nodes of
	 *  lines are map, which makes records, filter, inspect, sort, slice and concat. */
	static lines(paths: string | string[], opts?: { format?: Format; ctx?: Context }): Stream;
	readonly count: number | bigint | null;
	map(fn: (batch: Some) => Some, records?: RecordSpec): Stream;
	flatMap(fn: (batch: Some) => Some | null, records?: RecordSpec): Stream;
	filter(fn: (batch: Some) => ArrayLike<unknown>): Stream;
	inspect(fn: (batch: Some) => unknown): Stream;
	/** It, which tells how far its graph got: the phase, from 1, and records, as of graphInfo().  What is true
	 *  stops it. */
	progress(fn: (phase: number, done: number, total: number) => unknown): Stream;
	reduce(fn: (sum: Some, batch: Some) => Some, key?: Key): Stream;
	sort(opts?: SortOptions): Stream;
	/** As sort() and reduce(), which adds before anything is written. */
	sortReduce(fn: (sum: Some, batch: Some) => Some, opts?: SortOptions): Stream;
	/** What stays; fn has 0 for it, or the number of a sink, from 1. */
	split(fn: (batch: Some) => Iterable<number | bigint>, ...sinks: Sink[]): Stream;
	unique(key?: Key, opts?: { counted?: boolean | RecordSpec }): Stream;
	concat(...others: Stream[]): Stream;
	merge(others: Stream[], key?: Key): Stream;
	zip(others: Stream[], records?: RecordSpec): Stream;
	set(operation: 'union' | 'intersection' | 'difference' | 'symmetric', other: Stream, key?: Key): Stream;
	join(other: Stream, left: string, right?: string, opts?: { kind?: 'inner' | 'left' | 'full' | 'semi' | 'anti';
		fn?: (left: Item | null, right: Item | null) => Item; records?: RecordSpec; memory_bytes?: number }): Stream;
	slice(skip?: number | bigint, take?: number | bigint): Stream;
	take(n: number | bigint): Stream;
	skip(n: number | bigint): Stream;
	reverse(opts?: { memory_bytes?: number }): Stream;
	prefixSum(field: string): Stream;
	window(n: number, step?: number, records?: RecordSpec): Stream;
	tee(opts?: { spill?: boolean; buffer_bytes?: number }): [Stream, Stream];
	batch(n: number): this;
	nextBatch(): any | null;
	batches(): Generator<any>;
	[Symbol.iterator](): Iterator<Item>;
	/** To a sink, which is left open, and not finished. */
	pump(sink: Sink): number | bigint;
	to(sink: string | Sorter | Vector | Stack | Queue | Deque | PriorityQueue | BTree,
		opts?: { format?: Format }): number | bigint;
	sortStats(): Stats;
	runsInfo(): Stats;
	graphInfo(): Stats;
}

/** Where records are pushed to. */
export class Sink extends Base {
	constructor(records: RecordSpec, fn: (batch: Some | null) => unknown, opts?: { ctx?: Context });
	static file(records: RecordSpec, path: string, opts?: { ctx?: Context }): Sink;
	static lines(path: string, opts?: { format?: Format; ctx?: Context }): Sink;
	static discard(records: RecordSpec, opts?: { ctx?: Context }): Sink;
	push(data: Bytes | Iterable<Item>): this;
	finish(): void;
	readonly length: number | bigint;
}

/** Sorted runs: formed once, merged as often as one likes, also in parts; then cleared, and formed anew. */
export class Runs extends Base {
	constructor(records: RecordSpec, opts?: SortOptions & { combine?: (sum: Some, batch: Some) => Some;
		merge_memory?: Size });
	push(data: Bytes | Iterable<Item>): this;
	append(data: Bytes | Iterable<Item>): this;
	end(): void;
	feed(stream: Stream, opts?: { sorted?: boolean }): void;
	sink(opts?: { sorted?: boolean; more?: boolean }): Sink;
	finish(): this;
	clear(): void;
	merge(part?: { from?: Item; to?: Item; skip?: number | bigint; take?: number | bigint; memory?: number }): Stream;
	cancel(): void;
	info(): Stats;
}

export class Records {
	constructor(spec: NumberType | number | { [field: string]: NumberType });
	readonly bytes: number;
	pack(item: Item): Uint8Array;
	unpack(bytes: Uint8Array): Item;
}

export class Order extends Base {
	constructor(records: RecordSpec | 'lines', key?: Key, opts?: { cmp?: (a: Item, b: Item) => number; ctx?: Context });
	readonly name: string;
	compare(a: Item, b: Item): number;
}

declare class Pull extends Base implements Iterable<Item> {
	push(data: Bytes | Iterable<Item>): this;
	finish(): this;
	nextBatch(): any | null;
	batches(): Generator<any>;
	[Symbol.iterator](): Iterator<Item>;
	read(): any;
	readonly pushed: number | bigint;
	cancel(): void;
	stats(): Stats;
}
export class Sorter extends Pull {
	constructor(records: RecordSpec | 'lines', opts?: SortOptions);
	readInto(room: Bytes): number;
	pushFile(file: string): void;
	/** Sorted records; the sorter has to be finished. */
	stream(): Stream;
	sink(): Sink;
	writeFile(file: string): void;
	clear(): void;
}
export class Top extends Pull {
	constructor(records: RecordSpec | 'lines', k: number | bigint, opts?: SortOptions & { start?: number | bigint });
}

export function sort<T extends ArrayBufferView>(data: T, opts?: SortOptions & { records?: RecordSpec }): T;
export function sort(data: Iterable<Item>, opts: SortOptions & { records: RecordSpec | 'lines' }): any;

export function sortFile(inputs: string | string[], output: string, opts?: FileOptions): Stats;
export function mergeFiles(inputs: string | string[], output: string, opts?: FileOptions): Stats;
export function uniqueFile(inputs: string | string[], output: string, opts?: FileOptions & { count?: boolean;
	presorted?: boolean; min_count?: number; max_count?: number }): Stats;
export function topFile(inputs: string | string[], output: string, k: number, opts?: FileOptions & { start?: number }): Stats;
export function shuffleFile(inputs: string | string[], output: string, opts?: FileOptions & { seed?: number }): Stats;
export function checkFile(file: string, opts?: FileOptions): Stats & { first: Buffer | null };

declare class Container extends Base {
	readonly length: number;
	stream(part?: { from?: any; to?: any; reverse?: boolean }): Stream;
	sink(opts?: { from?: number }): Sink;
	stats(): Stats;
	clear(): void;
}
declare class Sequence extends Container implements Iterable<Item> {
	get(i: number | bigint): Item;
	set(i: number | bigint, item: Item): void;
	readInto<T extends Bytes>(i: number | bigint, room: T): T;
	slice(begin?: number, end?: number): any;
	write(i: number | bigint, data: Bytes | Iterable<Item>): void;
	push(item: Item): void;
	extend(items: Bytes | Iterable<Item>): number;
	[Symbol.iterator](): Iterator<Item>;
}
export class Vector extends Sequence {
	constructor(records: RecordSpec, opts?: Options & { items?: Bytes | Iterable<Item>; path?: string;
		mode?: 'r' | 'r+' | 'w' });
	resize(n: number | bigint): void;
	readMany(positions: BigUint64Array | Iterable<number | bigint>): any;
	flush(durable?: boolean): void;
	export(file: string): void;
	sort(opts?: SortOptions): number;
	shuffle(opts?: Options & { seed?: number | bigint }): void;
	reverse(): void;
	fill(item: Item): void;
	forEach(fn: (records: any, position: number) => void): void;
	mutate(fn: (records: any, position: number) => void): void;
	findIndex(fn: (item: Item) => boolean): number;
	count(fn: (item: Item) => boolean): number;
	partition(fn: (item: Item) => boolean): number;
	lowerBound(item: Item, opts?: { key?: Key }): number;
}
export class Deque extends Sequence {
	constructor(records: RecordSpec, opts?: Options & { items?: Bytes | Iterable<Item> });
	unshift(item: Item): void;
	pop(): Item | undefined;
	shift(): Item | undefined;
}
declare class Ends extends Container {
	push(item: Item): void;
	extend(items: Bytes | Iterable<Item>): number;
	pop(): Item | undefined;
	popMany(n: number): any;
	peek(): Item | undefined;
	drain(): Generator<Item>;
}
export class Stack extends Ends { constructor(records: RecordSpec, opts?: Options); }
export class Queue extends Ends { constructor(records: RecordSpec, opts?: Options); }
export class PriorityQueue extends Ends {
	constructor(records: RecordSpec, opts?: SortOptions & { stable?: boolean });
	pushpop(item: Item): Item;
	replace(item: Item): Item;
	popUntil(bound: Item, opts?: { n?: number; inclusive?: boolean }): any;
}
export class RadixHeap extends Ends {
	constructor(records: RecordSpec, opts?: Options & { key?: string });
	readonly last: bigint;
}
export class BTree extends Container implements Iterable<[Item, Item]> {
	constructor(key: RecordSpec, value?: RecordSpec, opts?: Options & { entries?: Iterable<[Item, Item?]>;
		order?: Key; path?: string });
	readonly size: number;
	get(key: Item): Item | undefined;
	has(key: Item): boolean;
	set(key: Item, value?: Item): this;
	delete(key: Item): boolean;
	range(from?: Item, to?: Item, opts?: { reverse?: boolean }): Generator<[Item, Item]>;
	[Symbol.iterator](): Iterator<[Item, Item]>;
	entries(): Generator<[Item, Item]>;
	keys(): Generator<Item>;
	values(): Generator<Item>;
	first(): [Item, Item] | undefined;
	last(): [Item, Item] | undefined;
	popFirst(): [Item, Item] | undefined;
	popLast(): [Item, Item] | undefined;
	count(from?: Item, to?: Item): number;
	deleteRange(from?: Item, to?: Item): number;
	setRecords(data: Bytes): number;
	getMany(keys: Bytes | Iterable<Item>): { records: Uint8Array; found: Uint8Array };
	load(sorter: Sorter): void;
	save(file: string): void;
	verify(): void;
	cursor(): Cursor;
}
export class Cursor extends Base {
	constructor(tree: BTree);
	seek(key: Item, how?: 'ge' | 'gt' | 'le' | 'lt'): [Item, Item] | undefined;
	get(): [Item, Item] | undefined;
	next(): [Item, Item] | undefined;
	prev(): [Item, Item] | undefined;
	delete(): void;
}
