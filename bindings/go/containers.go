// SPDX-License-Identifier: BSL-1.0

package extmem

import (
	"io"
	"iter"
	"reflect"
	"unsafe"

	"extmem/internal/raw"
)

// functions are those of a kind of container, by what they do.
type functions struct {
	open                   func(handle, Options) *raw.Result
	size                   func(handle) uint64
	push                   func(handle, []byte) *raw.Result
	pushMany, popMany      func(handle, []byte) *raw.Result
	pop, top, clear, stats func(handle) *raw.Result
	stream, sink           func(handle) *raw.Result
	get                    func(handle, uint64) *raw.Result
	set, read, write       func(handle, uint64, []byte) *raw.Result
	scan                   func(handle, uint64, uint64, uint) *raw.Result
}

// container is what all of them have.
type container[T any] struct {
	object
	ctx *Context
	f   *functions
}

func (c *container[T]) begin(ctx *Context, f *functions) { c.ctx, c.f = ctx, f }

type begun interface {
	hold(id uint64)
	begin(*Context, *functions)
}

func begin[T any, C begun](c C, f *functions, ctx *Context, opts Options) (C, error) {
	if _, err := orderName[T](""); err != nil {
		return *new(C), err
	}
	if opts["order"] == nil {
		opts = with(opts, "record_bytes", sizeOf[T]())
	}
	c.begin(ctx, f)
	return open(c, f.open(ctx, opts))
}

// Len is how many records there are.
func (c *container[T]) Len() uint64 { return c.f.size(c) }

// Stats of it.
func (c *container[T]) Stats() (Stats, error) { return stats(c.f.stats(c)) }

// ends is what has a way in and a way out.
type ends[T any] struct{ container[T] }

// Push adds a record.
func (c *ends[T]) Push(record T) error { return only(c.f.push(c, bytesOfOne(&record))) }

// PushMany adds records: how many it took, which are less than all if it failed.
func (c *ends[T]) PushMany(records []T) (int, error) {
	n, err := number(c.f.pushMany(c, bytesOf(records)))
	if e, is := err.(*Error); is {
		n = e.Done
	}
	return int(n), err
}

// Pop takes out a record: false, if there is none.
func (c *ends[T]) Pop() (T, bool, error) { return single[T](c.f.pop(c)) }

// Peek looks at what Pop would take.
func (c *ends[T]) Peek() (T, bool, error) { return single[T](c.f.top(c)) }

// PopMany fills a slice with records that it takes out: how many there were; 0 and io.EOF: it is empty.
func (c *ends[T]) PopMany(room []T) (int, error) {
	room = room[:min(uint64(len(room)), c.Len())]
	if len(room) == 0 {
		if c.Closed() {
			return 0, closed
		}
		return 0, io.EOF
	}
	n, err := number(c.f.popMany(c, bytesOf(room)))
	return int(n), eof(err)
}

// Clear takes out everything.
func (c *ends[T]) Clear() error { return only(c.f.clear(c)) }

// Drain takes out record after record; Err tells whether that failed.
func (c *ends[T]) Drain() iter.Seq[T] {
	return each(&c.object, func() ([]T, error) {
		one, ok, err := c.Pop()
		if err == nil && !ok {
			err = io.EOF
		}
		return []T{one}, err
	}, nil)
}

// flows are ends that streams come from and lead to.
type flows[T any] struct{ ends[T] }

// Stream takes out all records, batch by batch.
func (c *flows[T]) Stream() (*Stream[T], error) { return newStream[T](c.ctx, c.f.stream(c)) }

// Sink pushes.
func (c *flows[T]) Sink() (*Sink[T], error) { return open(&Sink[T]{}, c.f.sink(c)) }

// Stack gives what was pushed last.
type Stack[T any] struct{ flows[T] }

var stackFunctions = functions{open: raw.Em_stack_open, size: raw.Em_stack_size, push: raw.Em_stack_push,
	pushMany: raw.Em_stack_push_many, pop: raw.Em_stack_pop, popMany: raw.Em_stack_pop_many, top: raw.Em_stack_peek,
	clear: raw.Em_stack_clear, stats: raw.Em_stack_stats_get, stream: raw.Em_stream_stack, sink: raw.Em_sink_stack}

// NewStack makes one with the fields of em_container_opts.
func NewStack[T any](ctx *Context, opts Options) (*Stack[T], error) {
	return begin[T](&Stack[T]{}, &stackFunctions, ctx, opts)
}

// Queue gives what was pushed first.
type Queue[T any] struct{ flows[T] }

var queueFunctions = functions{open: raw.Em_queue_open, size: raw.Em_queue_size, push: raw.Em_queue_push,
	pushMany: raw.Em_queue_push_many, pop: raw.Em_queue_pop, popMany: raw.Em_queue_pop_many,
	top: raw.Em_queue_front, clear: raw.Em_queue_clear, stats: raw.Em_queue_stats_get,
	stream: raw.Em_stream_queue, sink: raw.Em_sink_queue}

// NewQueue makes one with the fields of em_container_opts.
func NewQueue[T any](ctx *Context, opts Options) (*Queue[T], error) {
	return begin[T](&Queue[T]{}, &queueFunctions, ctx, opts)
}

// PriorityQueue gives the first record of an order.
type PriorityQueue[T any] struct{ flows[T] }

var pqFunctions = functions{open: raw.Em_pq_open, size: raw.Em_pq_size, push: raw.Em_pq_push,
	pushMany: raw.Em_pq_push_many, pop: raw.Em_pq_pop, popMany: raw.Em_pq_pop_many, top: raw.Em_pq_top,
	clear: raw.Em_pq_clear, stats: raw.Em_pq_stats_get, stream: raw.Em_stream_pq, sink: raw.Em_sink_pq}

// NewPriorityQueue makes one for an order, or all fields (nil), with the fields of em_pq_opts.
func NewPriorityQueue[T any](ctx *Context, order *Order, opts Options) (*PriorityQueue[T], error) {
	order, err := orderOr[T](ctx, order)
	if err != nil {
		return nil, err
	}
	return begin[T](&PriorityQueue[T]{}, &pqFunctions, ctx, with(opts, "order", order))
}

// PushPop pushes a record, and then takes out the first one.
func (c *PriorityQueue[T]) PushPop(record T) (T, error) {
	first, _, err := single[T](raw.Em_pq_pushpop(c, bytesOfOne(&record)))
	return first, err
}

// PopUntil fills a slice with records that come before a bound.
func (c *PriorityQueue[T]) PopUntil(bound T, inclusive bool, room []T) (int, error) {
	flags := uint(0)
	if inclusive {
		flags = uint(raw.EM_PQ_INCLUSIVE)
	}
	n, err := number(raw.Em_pq_pop_until(c, bytesOfOne(&bound), flags, bytesOf(room)))
	_, err = found(err)
	return int(n), err
}

// RadixHeap is a priority queue for keys that are numbers and never go back.
type RadixHeap[T any] struct{ ends[T] }

var radixFunctions = functions{open: raw.Em_radix_heap_open, size: raw.Em_radix_heap_size,
	push: raw.Em_radix_heap_push, pushMany: raw.Em_radix_heap_push_many, pop: raw.Em_radix_heap_pop,
	popMany: raw.Em_radix_heap_pop_many, top: raw.Em_radix_heap_top, clear: raw.Em_radix_heap_clear,
	stats: raw.Em_radix_heap_stats_get}

// NewRadixHeap makes one whose key is a field, or the record (""), with the fields of em_radix_heap_opts.
func NewRadixHeap[T any](ctx *Context, key string, opts Options) (*RadixHeap[T], error) {
	name, err := orderName[T](key)
	if err != nil {
		return nil, err
	}
	return begin[T](&RadixHeap[T]{}, &radixFunctions, ctx, with(opts, "key", name))
}

// sequence is what has positions.
type sequence[T any] struct{ container[T] }

// Get reads a record.
func (c *sequence[T]) Get(i uint64) (T, error) {
	one, _, err := single[T](c.f.get(c, i))
	return one, err
}

// Set overwrites a record.
func (c *sequence[T]) Set(i uint64, record T) error {
	return only(c.f.set(c, i, bytesOfOne(&record)))
}

// Read fills a slice with records from i on.
func (c *sequence[T]) Read(i uint64, room []T) error { return only(c.f.read(c, i, bytesOf(room))) }

// Write overwrites records from i on.
func (c *sequence[T]) Write(i uint64, records []T) error {
	return only(c.f.write(c, i, bytesOf(records)))
}

// All iterates over the records with their positions; Err tells whether that failed.
func (c *sequence[T]) All() iter.Seq2[uint64, T] {
	return func(yield func(uint64, T) bool) {
		room := make([]T, max(chunk/sizeOf[T](), 1))
		if c.Closed() {
			c.err = closed
		}
		for at := uint64(0); at < c.Len(); {
			some := room[:min(uint64(len(room)), c.Len()-at)]
			if c.err = c.Read(at, some); c.err != nil {
				return
			}
			for i, one := range some {
				if !yield(at+uint64(i), one) {
					return
				}
			}
			at += uint64(len(some))
		}
	}
}

// Stream reads n records from a position on; Unknown: all behind it.
func (c *sequence[T]) Stream(from, n uint64) (*Stream[T], error) {
	if n == Unknown {
		n = c.Len() - min(from, c.Len())
	}
	return newStream[T](c.ctx, c.f.scan(c, from, n, 0))
}

// Vector is an array on disks with a cache, or, with the option "path", in a file.
type Vector[T any] struct{ sequence[T] }

var vectorFunctions = functions{open: raw.Em_vector_open, size: raw.Em_vector_size, push: raw.Em_vector_push,
	pushMany: raw.Em_vector_push_many, get: raw.Em_vector_get, set: raw.Em_vector_set, read: raw.Em_vector_read,
	write: raw.Em_vector_write, stats: raw.Em_vector_stats_get, scan: raw.Em_stream_vector}

// Flags of a vector in a file: Options{"path": ..., "flags": VectorCreate}.
var (
	VectorCreate   = int(raw.EM_VECTOR_CREATE)
	VectorTruncate = int(raw.EM_VECTOR_TRUNCATE)
	VectorReadOnly = int(raw.EM_VECTOR_READ_ONLY)
)

// NewVector makes one with the fields of em_vector_opts.
func NewVector[T any](ctx *Context, opts Options) (*Vector[T], error) {
	return begin[T](&Vector[T]{}, &vectorFunctions, ctx, opts)
}

// Push adds records behind the last.
func (v *Vector[T]) Push(records ...T) error {
	return only(raw.Em_vector_push_many(v, bytesOf(records)))
}

// Sink writes from a position on, which is at most its length.
func (v *Vector[T]) Sink(from uint64) (*Sink[T], error) {
	return open(&Sink[T]{}, raw.Em_sink_vector(v, from))
}

// Resize makes it have n records; new ones are zeros.
func (v *Vector[T]) Resize(n uint64) error { return only(raw.Em_vector_resize(v, n)) }

// ReadMany reads the records of many positions.
func (v *Vector[T]) ReadMany(positions []uint64) ([]T, error) {
	return batch[T](raw.Em_vector_read_many(v, bytesOf(positions)))
}

// Flush writes what was changed; durable: so that it outlives a crash.
func (v *Vector[T]) Flush(durable bool) error { return only(raw.Em_vector_flush(v, durable)) }

// Export writes all into a file that appears when it is whole.
func (v *Vector[T]) Export(path string) error { return only(raw.Em_vector_export(v, path)) }

// Sort sorts in place by an order, or all fields (nil).
func (v *Vector[T]) Sort(ctx *Context, order *Order, opts Options) error {
	order, err := orderOr[T](ctx, order)
	if err != nil {
		return err
	}
	return only(raw.Em_vector_sort(v, 0, v.Len(), order, opts))
}

// Mutate calls a function with many records at a time and the position of the first; it may change, and not keep them.
func (v *Vector[T]) Mutate(fn func(i uint64, records []T) error) error {
	return only(raw.Em_vector_mutate(v, 0, v.Len(), raw.Visit(func(i uint64, b []byte) error {
		return fn(i, unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), uint64(len(b))/sizeOf[T]()))
	})))
}

// Find gives the first position for whose record a function is true, or false.
func (v *Vector[T]) Find(fn func(record *T) bool) (uint64, bool, error) {
	test := raw.Test(func(record unsafe.Pointer) bool { return fn((*T)(record)) })
	n, err := number(raw.Em_vector_find(v, 0, v.Len(), test))
	ok, err := found(err)
	return n, ok, err
}

// Deque has two ends at which records enter and leave.
type Deque[T any] struct{ sequence[T] }

var dequeFunctions = functions{open: raw.Em_deque_open, size: raw.Em_deque_size, get: raw.Em_deque_get,
	set: raw.Em_deque_set, read: raw.Em_deque_read, write: raw.Em_deque_write, stats: raw.Em_deque_stats_get,
	scan: raw.Em_stream_deque}

// NewDeque makes one with the fields of em_container_opts.
func NewDeque[T any](ctx *Context, opts Options) (*Deque[T], error) {
	return begin[T](&Deque[T]{}, &dequeFunctions, ctx, opts)
}

// PushBack adds records behind the last.
func (d *Deque[T]) PushBack(records ...T) error {
	return only(raw.Em_deque_push_back_many(d, bytesOf(records)))
}

// Sink pushes behind the last.
func (d *Deque[T]) Sink() (*Sink[T], error) { return open(&Sink[T]{}, raw.Em_sink_deque(d)) }

// PushFront adds a record before the first.
func (d *Deque[T]) PushFront(record T) error {
	return only(raw.Em_deque_push_front(d, bytesOfOne(&record)))
}

// PopBack takes out the last record: false, if there is none.
func (d *Deque[T]) PopBack() (T, bool, error) { return single[T](raw.Em_deque_pop_back(d)) }

// PopFront takes out the first record: false, if there is none.
func (d *Deque[T]) PopFront() (T, bool, error) { return single[T](raw.Em_deque_pop_front(d)) }

// BTree is a B+-tree: a sorted map.
type BTree[K, V any] struct {
	container[entry[K, V]]
	order *Order
}

// entry is a key with its value: two slices of bytes, as a struct of both may have gaps.
type entry[K, V any] struct {
	key   K
	value V
}

var treeFunctions = functions{size: raw.Em_btree_size, stats: raw.Em_btree_stats_get}

func openTree[K, V any](ctx *Context, key string, how func(order *Order) *raw.Result) (*BTree[K, V], error) {
	name, err := orderName[K](key)
	if err == nil {
		_, err = fields(reflect.TypeFor[V](), "", 0)
	}
	if err != nil {
		return nil, err
	}
	bytes := sizeOf[K]() + sizeOf[V]()
	order, err := open(&Order{bytes: bytes}, raw.Em_order_parse(ctx, bytes, name))
	if err != nil {
		return nil, err
	}
	t := &BTree[K, V]{order: order}
	t.begin(ctx, &treeFunctions)
	return open(t, how(order))
}

// NewBTree makes one, sorted by fields of the keys (as NewOrder has them), with the fields of em_btree_opts.
func NewBTree[K, V any](ctx *Context, key string, opts Options) (*BTree[K, V], error) {
	return openTree[K, V](ctx, key, func(order *Order) *raw.Result { return raw.Em_btree_open(ctx, order, opts) })
}

// OpenBTree opens one that was saved, to be read.
func OpenBTree[K, V any](ctx *Context, path, key string, opts Options) (*BTree[K, V], error) {
	return openTree[K, V](ctx, key, func(order *Order) *raw.Result {
		return raw.Em_btree_open_file(ctx, path, order, opts)
	})
}

func (t *BTree[K, V]) record(key *K, value *V) []byte {
	return append(append([]byte(nil), bytesOfOne(key)...), bytesOfOne(value)...)
}

func (t *BTree[K, V]) entry(r *raw.Result) (key K, value V, ok bool, err error) {
	if ok, err = found(only(r)); ok {
		b := r.Slice()
		key, value = recordOf[K](b[:unsafe.Sizeof(key)]), recordOf[V](b[unsafe.Sizeof(key):])
	}
	return key, value, ok, err
}

// Get looks up a key: false, if there is none.
func (t *BTree[K, V]) Get(key K) (V, bool, error) {
	_, value, ok, err := t.entry(raw.Em_btree_get(t, bytesOfOne(&key)))
	return value, ok, err
}

// Set adds a key, or overwrites its value.
func (t *BTree[K, V]) Set(key K, value V) error {
	_, err := found(only(raw.Em_btree_upsert(t, t.record(&key, &value))))
	return err
}

// Delete takes out a key: false, if there is none.
func (t *BTree[K, V]) Delete(key K) (bool, error) {
	return found(only(raw.Em_btree_erase(t, bytesOfOne(&key))))
}

// Min is the first entry: false, if there is none.
func (t *BTree[K, V]) Min() (K, V, bool, error) { return t.entry(raw.Em_btree_min(t)) }

// Max is the last entry: false, if there is none.
func (t *BTree[K, V]) Max() (K, V, bool, error) { return t.entry(raw.Em_btree_max(t)) }

func keyBytes[K any](key *K) []byte {
	if key == nil {
		return nil
	}
	return bytesOfOne(key)
}

// Count is how many keys are at least from and at most to; nil: no bound.
func (t *BTree[K, V]) Count(from, to *K) (uint64, error) {
	return number(raw.Em_btree_count(t, keyBytes(from), keyBytes(to)))
}

// DeleteRange takes out keys that are at least from and less than to, and tells how many; nil: no bound.
func (t *BTree[K, V]) DeleteRange(from, to *K) (uint64, error) {
	return number(raw.Em_btree_erase_range(t, keyBytes(from), keyBytes(to)))
}

// Load fills an empty tree with all that a sorter of entries, by the order of the tree, has.
func (t *BTree[K, V]) Load(sorter handle) error {
	return only(raw.Em_btree_load_sorted(t, sorter, nil))
}

// Save writes it to a file, which OpenBTree opens.
func (t *BTree[K, V]) Save(path string) error { return only(raw.Em_btree_save(t, path)) }

// Verify reads all of it and looks whether it is whole.
func (t *BTree[K, V]) Verify() error { return only(raw.Em_btree_verify(t)) }

// All iterates over the entries in order; Err tells whether that failed.  The tree may change meanwhile.
func (t *BTree[K, V]) All() iter.Seq2[K, V] { return t.Range(nil, nil) }

// Range iterates over entries whose keys are at least from and less than to, in order; nil: no bound.
func (t *BTree[K, V]) Range(from, to *K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		var zero V
		c, err := open(&object{}, raw.Em_btree_cursor_open(t))
		if err == nil {
			defer c.Close()
		}
		if err == nil && from != nil {
			_, err = found(only(raw.Em_btree_cursor_seek(c, keyBytes(from), uint(raw.EM_BTREE_LT))))
		}
		for ok := err == nil; ok; {
			var key K
			var value V
			key, value, ok, err = t.entry(raw.Em_btree_cursor_next(c))
			ok = ok && !(to != nil && raw.Em_order_compare(t.order, t.record(&key, &zero),
				t.record(to, &zero)) >= 0) &&
				yield(key, value)
		}
		t.err = err
	}
}
