// SPDX-License-Identifier: BSL-1.0
/** External memory: sorting and containers for more records than memory holds.
 *
 *  A method with `= CALL' behind it is only that call, and is made from here when the package is built: calls.js says
 *  how. */

export type NumberType = 'u64' | 'i64' | 'u32' | 'i32' | 'u16' | 'i16' | 'u8' | 'i8' | 'f64' | 'f32';
/** A number, a number of bytes, or fields side by side. */
export type RecordSpec = NumberType | number | { [field: string]: NumberType } | Records;
export type Bytes = ArrayBuffer | ArrayBufferView;
/** A BigInt where it has 64 bits, a Number, an object of fields, or bytes; of lines a string or bytes. */
export type Item = any;
/** Records side by side, or one by one. */
export type Many = Bytes | Iterable<Item>;
export type Key = string | string[] | Order | ((records: any) => BigUint64Array);
export type Size = number | bigint | string;
/** A BigInt where it is not exact otherwise. */
export type Count = number | bigint;
/** Fields of em_format. */
export type Format = { [field: string]: number };
export type Stats = { [name: string]: any };
/** A Buffer is a path whose bytes are no UTF-8. */
type Path = string | Uint8Array;
type Paths = Path | Path[];
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
interface UniqueOptions extends FileOptions {
	count?: boolean;
	presorted?: boolean;
	min_count?: number;
	max_count?: number;
}
interface ShuffleOptions extends FileOptions { seed?: number }
interface TopOptions extends FileOptions { start?: number }

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
export class MemoryLimitError extends ExtmemError {} // EM_ERR_NOMEM EM_ERR_MEMLIMIT
export class IOError extends ExtmemError {}
export class NoSpaceError extends IOError {}         // EM_ERR_NOSPACE
export class NotFoundError extends IOError {}        // EM_ERR_NOENT
export class DataError extends ExtmemError {}
export class CallbackError extends ExtmemError {}    // EM_ERR_USER
export class CanceledError extends ExtmemError {}    // EM_ERR_CANCELED

declare class Base {
	readonly closed: boolean;
	close(): void;
	[Symbol.dispose](): void;
}

export class Context extends Base { // em_ctx
	constructor(opts?: { memory?: Size; threads?: number; dirs?: string[];
		log?: (level: number, line: string) => void; [field: string]: any });
	cancel(): void;                                                // = cancel
	stats(): Stats;
}
export function defaultContext(): Context;

/** A batch of records: a TypedArray where they are numbers, a Uint8Array, or a list of buffers that are lines. */
type Some = any;
type Sum = (sum: Some, batch: Some) => Some;
type Chosen = (batch: Some) => ArrayLike<unknown>;
type Seen = (batch: Some) => unknown;
type Sent = (batch: Some) => Iterable<number | bigint>;
type Progress = (phase: number, done: number, total: number) => unknown;
/** format is for lines. */
type In = { ctx?: Context; format?: Format };
/** The name of a field. */
type Field = string;

declare class Batches extends Base implements Iterable<Item> {
	/** The next records, which are a copy, or null behind the last. */
	nextBatch(): Some | null;                                      // = next
	batches(): Generator<Some>;
	/** A loop that is left gives back what it has not come to, unless batches were read meanwhile. */
	[Symbol.iterator](): Iterator<Item>;
}

/** Records that are made when they are asked for.  A stream that another one is made of belongs to that. */
export class Stream extends Batches { // em_stream
	constructor(records: RecordSpec, source: (() => Some | null) | Iterable<Some> | Pull | Bytes,
		opts?: { ctx?: Context; count?: number | bigint });
	static file(records: RecordSpec, paths: Paths, opts?: In): Stream;
	                                        // = em_stream_file(ctx._h, Records.of(records).bytes, paths) of records
	/** Lines, or what the fields of em_format say.  Functions get and lists have buffers, without newlines.  Nodes
	 *  of lines are map, which makes records, filter, inspect, sort, unique, reduce, merge, set, join, tee, slice
	 *  and concat. */
	static lines(paths: Paths, opts?: In): Stream;            // = em_stream_lines(ctx._h, paths, format) of 'lines'
	/** How many were not lent yet; null: nobody knows. */
	readonly count: Count | null;                                  // = count
	/** As many records, of this kind or another, as fn gets. */
	map(fn: (batch: Some) => Some, records?: RecordSpec): Stream;
		// = emb_stream_node(this._h, c.EMB_MAP, ...makes(this, fn, records)) of records ?? this.records
	/** Any number of records; null: none.  Of lines they are lines. */
	flatMap(fn: (batch: Some) => Some | null, records?: RecordSpec): Stream;
		// = emb_stream_node(this._h, c.EMB_FLAT_MAP, ...makes(this, fn, records, 1)) of records ?? this.records
	filter(fn: Chosen): Stream;                                   // = emb_stream_node(this._h, c.EMB_FILTER, 0, fn)
	inspect(fn: Seen): Stream;                                   // = emb_stream_node(this._h, c.EMB_INSPECT, 0, fn)
	/** It, which tells how far its graph got: the phase, from 1, and records, as of graphInfo().  What is true
	 *  stops it. */
	progress(fn: Progress): Stream;                                // = emb_stream_progress(this._h, fn)
	/** Of neighbours with equal keys one record. */
	reduce(fn: Sum, key?: Key): Stream;                            // = emb_stream_reduce(this._h, key, fn)
	sort(opts?: SortOptions): Stream;                              // = sort(order, opts)
	/** As sort() and reduce(), which adds before anything is written: sums must not depend on the order of what is
	 *  added, nor change how records are sorted. */
	sortReduce(fn: Sum, opts?: SortOptions): Stream;           // = emb_stream_sort_reduce(this._h, order, opts, fn)
	/** What stays; fn has 0 for it, or the number of a sink, from 1. */
	split(fn: Sent, ...sinks: Sink[]): Stream;                     // = emb_stream_split(this._h, sinks, fn)
	/** Of neighbours that are equal the first; counted: followed by how many they were, as a u64; of lines that is
	 *  in front, in digits, with a tab. */
	unique(key?: Key, opts?: { counted?: boolean | RecordSpec }): Stream;
	                         // = unique(key, opts?.counted ? c.EM_UNIQUE_COUNT : 0) of counted(this, opts?.counted)
	concat(...others: Stream[]): Stream;                           // = em_stream_concat(others)
	merge(others: Stream[], key?: Key): Stream;                    // = em_stream_merge(others, key)
	/** Records of all side by side. */
	zip(others: readonly Stream[], records?: RecordSpec): Stream;
	              // = em_stream_zip(handles([this, ...others])) of records ?? beside(this, ...others)
	/** Of two that are sorted. */
	set(operation: 'union' | 'intersection' | 'difference' | 'symmetric', other: Stream, key?: Key): Stream;
	                                                             // = set(other, key, constant('EM_SET', operation))
	/** Of two that are sorted by keys.  fn gets null where there is none; without it records stand side by side,
	 *  and a line has the fields of the keys, and then the others, with a separator: a byte, or as those of
	 *  `left'. */
	join(other: Stream, left?: Key, right?: Key, opts?: { kind?: 'inner' | 'left' | 'full' | 'semi' | 'anti';
		fn?: (left: Item | null, right: Item | null) => Item; records?: RecordSpec; separator?: string;
		memory_bytes?: number }): Stream;
	slice(skip?: number | bigint, take?: number | bigint): Stream; // = slice(skip ?? 0, take ?? ALL)
	take(n: number | bigint): Stream;                              // = slice(0, n)
	skip(n: number | bigint): Stream;                              // = slice(n, ALL)
	reverse(opts?: { memory_bytes?: number }): Stream;             // = reverse(opts?.memory_bytes ?? 0)
	/** A field, a number of 64 bits, becomes its sum with those of all records before. */
	prefixSum(field: Field): Stream;                               // = emb_stream_sums(this._h, field)
	/** Each window of n neighbours as one record. */
	window(n: number, step?: number, records?: RecordSpec): Stream;
	                              // = emb_stream_window(this._h, n, step ?? 1) of records ?? this.records.bytes * n
	/** Two streams of all records; spill: what one has read and the other has not may go to scratch. */
	tee(opts?: { spill?: boolean; buffer_bytes?: number }): [Stream, Stream];
	                               // = emb_stream_tee(this._h, opts?.spill ? 1 : 0, opts?.buffer_bytes ?? 0)
	/** Lend and work on so many records at a time. */
	batch(n: number): this;                                        // = batch
	/** To a sink, which is left open, and not finished. */
	pump(sink: Sink): Count;                                       // = pump
	to(sink: Path | Sorter | Vector | Stack | Queue | Deque | PriorityQueue | BTree,
		opts?: { format?: Format }): Count;
	/** Of the sort that it is; of the runs of sortReduce(); what its graph takes of memory, and how far it got. */
	sortStats(): Stats;                                            // = sort_stats_get
	runsInfo(): Stats;                                             // = runs_info_get
	graphInfo(): Stats;                                            // = graph_info_get
}

/** Where records are pushed to. */
export class Sink extends Base { // em_sink
	/** fn(batch), and fn(null) when it is finished. */
	constructor(records: RecordSpec, fn: (batch: Some | null) => unknown, opts?: { ctx?: Context });
	/** A file, which is there when it is finished. */
	static file(records: RecordSpec, path: Path, opts?: In): Sink;
	                                           // = em_sink_file(ctx._h, Records.of(records).bytes, path) of records
	static lines(path: Path, opts?: In): Sink;                   // = em_sink_lines(ctx._h, path, format) of 'lines'
	/** Nothing: they are counted. */
	static discard(records: RecordSpec, opts?: In): Sink;
	                                              // = em_sink_discard(ctx._h, Records.of(records).bytes) of records
	push(data: Many): this;                                        // = emb_sink_push_lines(this._h, data)
	finish(): void;                                                // = finish
	readonly length: Count;                                        // = count
}

/** Sorted runs: formed once, merged as often as one likes, also in parts; then cleared, and formed anew. */
export class Runs extends Base { // em_runs
	/** combine makes one of equal records, as in reduce(). */
	constructor(records: RecordSpec, opts?: SortOptions & { combine?: Sum; merge_memory?: Size });
	push(data: Many): this;                                        // = push
	/** Add records of a sorted sequence, which goes on with the next call, and ends with end(). */
	append(data: Many): this;                                      // = append
	end(): void;                                                   // = end
	/** Add what a stream has, which stays the caller's; sorted: it is a sorted sequence. */
	feed(stream: Stream, opts?: { sorted?: boolean }): void;    // = emb_runs_feed(this._h, stream, runsFlags(opts))
	/** It finishes the runs when it is finished; more: it ends a sequence. */
	sink(opts?: { sorted?: boolean; more?: boolean }): Sink;       // = em_sink_runs(this._h, runsFlags(opts))
	finish(): this;                                                // = finish
	clear(): void;                                                 // = clear
	/** From one to before another one; of these `take' behind the first `skip'.  The runs stay. */
	merge(part?: { from?: Item; to?: Item; skip?: Count; take?: Count; memory?: number }): Stream;
		// = emb_runs_merge(this._h, ...[part?.from, part?.to].map((item) => this.records.bound(item)),
		//   part?.skip ?? 0, part?.take ?? ALL, part?.memory ?? 0)
	cancel(): void;                                                // = emb_cancel(this._h)
	info(): Stats;                                                 // = info_get
}

export class Records {
	constructor(spec: NumberType | number | { [field: string]: NumberType });
	readonly bytes: number;
	pack(item: Item): Uint8Array;
	unpack(bytes: Uint8Array): Item;
}

export class Order extends Base { // em_order
	constructor(records: RecordSpec | 'lines', key?: Key,
		opts?: { cmp?: (a: Item, b: Item) => number; ctx?: Context });
	readonly name: string;                                         // = name
	compare(a: Item, b: Item): number;
}

declare class Pull extends Batches {
	push(data: Many): this;                                        // = push_batch
	finish(): this;
	/** All that is left. */
	read(): any;
	readonly pushed: Count;                                        // = pushed
	cancel(): void;                                                // = emb_cancel(this._h)
	stats(): Stats;                                                // = stats_get
}
export class Sorter extends Pull { // em_sorter
	constructor(records: RecordSpec | 'lines', opts?: SortOptions);
	/** Fill it with the next records: how many there were; 0 behind the last. */
	readInto(room: Bytes): number;                                 // = emb_read(this._finished()._h, room) ?? 0
	pushFile(file: Path): void;                                    // = push_file
	/** Sorted records; the sorter has to be finished. */
	stream(): Stream;                                              // = em_stream_sorter(this._h)
	sink(): Sink;                                                  // = em_sink_sorter(this._h)
	/** What is left, to a file, which appears when it is whole. */
	writeFile(file: Path): void;                                 // = em_sorter_pull_file(this._finished()._h, file)
	clear(): void;
}
export class Top extends Pull { // em_top
	constructor(records: RecordSpec | 'lines', k: Count, opts?: SortOptions & { start?: Count });
}

export function sort<T extends ArrayBufferView>(data: T, opts?: SortOptions & { records?: RecordSpec }): T;
export function sort(data: Iterable<Item>, opts: SortOptions & { records: RecordSpec | 'lines' }): any;

export function sortFile(inputs: Paths, output: Path, opts?: FileOptions): Stats;
	// = em_sort_files(ctx._h, order, inputs, output, options(rest))
export function mergeFiles(inputs: Paths, output: Path, opts?: FileOptions): Stats;
	// = em_merge_files(ctx._h, order, inputs, output, options(rest))
export function uniqueFile(inputs: Paths, output: Path, opts?: UniqueOptions): Stats;
	// = em_unique_files(ctx._h, order, inputs, output,
	//   options({ count, presorted, min_count, max_count, sort: rest }))
export function topFile(inputs: Paths, output: Path, k: number, opts?: TopOptions): Stats;
	// = em_top_files(ctx._h, order, inputs, start, k, output, options(rest))
export function shuffleFile(inputs: Paths, output: Path, opts?: ShuffleOptions): Stats;
	// = em_shuffle_files(ctx._h, Records.of(records).bytes, inputs, output, options(rest))
export function checkFile(file: Path, opts?: FileOptions): Stats & { first: Buffer | null };

type Entry = [Item, Item];
type Part = { from?: any; to?: any; reverse?: boolean };
type Visit = (records: any, position: number) => void;
type Test = (item: Item) => boolean;
type Popped = Generator<Item>;

declare class Container extends Base {
	constructor(records: RecordSpec, opts?: Options & { items?: Many });
	readonly length: number;                                       // = size
	/** Records as a Stream: of vectors and deques those of [from, to), of trees those whose keys are at least from
	 *  and less than to.  Stacks, queues and priority queues give theirs away. */
	stream(part?: Part): Stream;                                   // = em_stream_%(this._h)
	/** A Sink to it: over records of a vector from a position on, or behind the last one. */
	sink(opts?: { from?: number }): Sink;                          // = em_sink_%(this._h)
	stats(): Stats;                                                // = stats_get
	clear(): void;                                                 // = clear
}
/** What has positions; negative ones count from the end. */
declare class Sequence extends Container implements Iterable<Item> {
	get(i: Position): Item;                                        // = get
	set(i: Position, item: Item): void;                            // = set
	/** Fill it with the records from i on. */
	readInto<T extends Bytes>(i: number | bigint, room: T): T;     // = read
	/** The records [begin, end). */
	slice(begin?: number, end?: number): any;
	/** All, some at a time. */
	batches(): Generator<Some>;
	write(i: number | bigint, data: Many): void;                   // = write
	push(item: Item): void;                                        // = push
	extend(items: Many): number;                                   // = push_many
	stream(part?: Part): Stream;                                   // = em_stream_%(this._h, ...this._part(part))
	[Symbol.iterator](): Iterator<Item>;
}
type Position = number | bigint;
/** An array on disks with a cache; with path, the file is the array. */
export class Vector extends Sequence { // em_vector
	constructor(records: RecordSpec, opts?: Options & { items?: Many; path?: Path; mode?: 'r' | 'r+' | 'w' });
	resize(n: number | bigint): void;                              // = resize
	clear(): void;                                                 // = resize(0)
	sink(opts?: { from?: number }): Sink;                    // = em_sink_vector(this._h, opts?.from ?? this.length)
	/** The records of these positions, many read at a time. */
	readMany(positions: BigUint64Array | Iterable<number | bigint>): any;
	                                                              // = read_many(new Records('u64').many(positions))
	flush(durable?: boolean): void;                                // = flush
	export(file: Path): void;                                      // = export
	/** In place: how many are left in front, which are fewer with unique. */
	sort(opts?: SortOptions): number;                              // = sort(0, this.length, order, opts)
	shuffle(opts?: Options & { seed?: number | bigint }): void;
	                            // = shuffle(0, this.length, opts?.seed ?? 0, options({ ...opts, seed: undefined }))
	reverse(): void;                                               // = reverse(0, this.length)
	fill(item: Item): void;                                        // = fill(0, this.length, item)
	/** fn(many records, position) of all in order; records of mutate() may be changed. */
	forEach(fn: Visit): void;                                      // = for_each(0, this.length, fn)
	mutate(fn: Visit): void;                                       // = mutate(0, this.length, fn)
	/** The position of the first record for which fn is true, or -1. */
	findIndex(fn: Test): number;                                   // = find(0, this.length, fn) ?? -1
	count(fn: Test): number;                                       // = count(0, this.length, fn)
	/** Those for which fn is true come first: how many these are. */
	partition(fn: Test): number;                                   // = partition(0, this.length, fn)
	/** The first position whose record is not less, in a vector that is sorted. */
	lowerBound(item: Item, opts?: { key?: Key }): number;
	                                                  // = lower_bound(0, this.length, keyed(this, opts?.key), item)
}
/** Records enter and leave at both ends. */
export class Deque extends Sequence { // em_deque
	push(item: Item): void;                                        // = push_back
	extend(items: Many): number;                                   // = push_back_many
	unshift(item: Item): void;                                     // = push_front
	pop(): Item | undefined;                                       // = pop_back
	shift(): Item | undefined;                                     // = pop_front
}
/** What is pushed, popped and looked at, one record or many; nothing there is undefined. */
declare class Ends extends Container {
	push(item: Item): void;                                        // = push
	extend(items: Many): number;                                   // = push_many
	pop(): Item | undefined;                                       // = pop
	/** Up to n; of a stack in the order in which they were pushed. */
	popMany(n: number | bigint): Some;
		// = this.records.filled(Math.min(Number(n), Number(this.length)),
		//   (room) => void c.em_%_pop_many(this._h, room))
	peek(): Item | undefined;                                      // = top
	/** Take out item after item. */
	drain(): Popped;                                               // = pop
}
/** What was pushed last is popped first. */
export class Stack extends Ends { // em_stack
	peek(): Item | undefined;                                      // = peek
}
/** What was pushed first is popped first. */
export class Queue extends Ends { // em_queue
	peek(): Item | undefined;                                      // = front
}
/** The first record of an order comes out, whatever has been pushed. */
export class PriorityQueue extends Ends { // em_pq
	constructor(records: RecordSpec, opts?: SortOptions & { stable?: boolean });
	pushpop(item: Item): Item;                                     // = pushpop
	replace(item: Item): Item;                                     // = replace
	/** Up to n records that come before a bound. */
	popUntil(bound: Item, opts?: { n?: number | bigint; inclusive?: boolean }): Some;
		// = this.records.filled(Math.min(Number(opts?.n ?? 1 << 16), Number(this.length)),
		//   (room) => c.em_pq_pop_until(this._h, bound, opts?.inclusive ? c.EM_PQ_INCLUSIVE : 0, room) ?? 0)
}
/** A priority queue for keys that are numbers and never go back: key names the field. */
export class RadixHeap extends Ends { // em_radix_heap
	constructor(records: RecordSpec, opts?: Options & { key?: string });
	stream(): never;
	sink(): never;
	/** The key that was popped last: a later one may not be less. */
	readonly last: bigint;                                         // = last
}
type From = any;
type Keys = Many;
type Value = any;
type Found = { records: Uint8Array; found: Uint8Array };
/** A sorted map, a B+-tree.  With path, one that was saved, to be read. */
export class BTree extends Container implements Iterable<Entry> { // em_btree
	constructor(key: RecordSpec, value?: RecordSpec, opts?: Options & { entries?: Iterable<[Item, Item?]>;
		order?: Key; path?: Path });
	readonly size: number;                                         // = size
	stream(part?: Part): Stream;
		// = em_stream_btree(this._h, this.records.bound(part?.from),
		//   this.records.bound(part?.to)) of this.order.records
	sink(): Sink;                                              // = em_sink_btree(this._h, []) of this.order.records
	get(key: From): Value | undefined;                             // = get
	has(key: From): boolean;                                       // = get(key) !== null
	set(key: any, value?: any): this;                              // = upsert(this.records.pack([key, value]))
	delete(key: From): boolean;                                    // = erase(key) !== null
	/** Entries whose keys are at least from and less than to, in order; the tree may change meanwhile. */
	range(from?: Item, to?: Item, opts?: { reverse?: boolean }): Generator<Entry>;
	[Symbol.iterator](): Iterator<Entry>;
	entries(): Generator<Entry>;                                   // = this.range()
	keys(): Generator<Item>;                                       // = this._sides(0)
	values(): Generator<Item>;                                     // = this._sides(1)
	first(): Entry | undefined;                                    // = min
	last(): Entry | undefined;                                     // = max
	popFirst(): Entry | undefined;                                 // = pop_min
	popLast(): Entry | undefined;                                  // = pop_max
	/** How many keys are at least from and at most to. */
	count(from?: From, to?: From): number;                         // = count
	/** fn(many records, position) of keys that are at least from and less than to; positions in what is visited. */
	forEach(fn: Visit, from?: From, to?: From): void;              // = for_each(from, to, fn)
	/** fn(many records, number of the range) of many ranges, each from a key of from to that of to; null: no bound
	 *  for any.  Each part of the tree is read once: ranges that overlap take turns, and each is in order. */
	forEachMany(fn: Visit, from: Keys | null, to: Keys | null): void; // = for_each_many(from, to, fn)
	/** Take out keys that are at least from and less than to: how many. */
	deleteRange(from?: From, to?: From): number;                   // = erase_range
	/** Add or overwrite a buffer of keys with values: how many are new. */
	setRecords(data: Bytes): number;                               // = upsert_many
	/** For many keys: records, and for each a byte that is 1 where there is one. */
	getMany(keys: Keys): Found;                                    // = get_many
	/** Fill an empty tree with all that a Sorter of whole records, by the order of the tree, has. */
	load(sorter: Sorter): void;                                    // = load_sorted(sorter, [])
	save(file: Path): void;                                        // = save
	verify(): void;                                                // = verify
	cursor(): Cursor;
}
/** A place in a tree, which stays where it is while that changes. */
export class Cursor extends Base { // em_btree_cursor
	constructor(tree: BTree);
	/** To the first key that is not less, or as how says. */
	seek(key: From, how?: 'ge' | 'gt' | 'le' | 'lt'): Entry | undefined;
		// = em_btree_cursor_seek(this._h, key,
		//   constant('EM_BTREE', how ?? 'ge')) ? null : c.em_btree_cursor_get(this._h)
	get(): Entry | undefined;                                      // = get
	next(): Entry | undefined;                                     // = next
	prev(): Entry | undefined;                                     // = prev
	/** Take it out, and stand in the gap. */
	delete(): void;                                                // = erase
}
