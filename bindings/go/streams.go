// SPDX-License-Identifier: BSL-1.0

package extmem

import (
	"io"
	"iter"
	"strings"
	"unsafe"

	"extmem/internal/raw"
)

// Unknown is how many records a stream has, if nobody knows.
const Unknown = ^uint64(0)

// Stream has records that are made when they are asked for, batch by batch, with nothing in between on a disk.  A stream
// that another one is made of belongs to that, and is closed.  What a function returns as error, or panics with, comes
// out of the call that pulled.  Functions get the memory of the library, which they do not keep.
type Stream[T any] struct {
	object
	ctx *Context
	err error
}

func newStream[T any](ctx *Context, from uint64, uses ...*object) (*Stream[T], error) {
	s := &Stream[T]{ctx: ctx}
	if _, err := orderName[T](""); err != nil {
		return nil, err
	}
	if err := s.open(from, append(uses, &ctx.object)...); err != nil {
		return nil, err
	}
	return s, nil
}

func sizeOf[T any]() uint64 {
	var one T
	return uint64(unsafe.Sizeof(one))
}

// seen are bytes as records, whose memory is aligned or else copied.
func seen[T any](b []byte) []T {
	var one T
	p := unsafe.Pointer(unsafe.SliceData(b))
	n := len(b) / int(unsafe.Sizeof(one))
	if uintptr(p)%unsafe.Alignof(one) == 0 {
		return unsafe.Slice((*T)(p), n)
	}
	all := make([]T, n)
	copy(bytesOf(all), b)
	return all
}

// StreamOf has batches that a function returns; nil, or io.EOF, says that there are no more.
func StreamOf[T any](ctx *Context, next func() ([]T, error)) (*Stream[T], error) {
	return source[T](ctx, next, func() {})
}

func source[T any](ctx *Context, next func() ([]T, error), stop func()) (*Stream[T], error) {
	ask := raw.Asked{Stop: stop, Ask: func(_, _ []byte) ([]byte, bool, error) {
		some, err := next()
		if err == io.EOF {
			return nil, false, nil
		}
		return bytesOf(some), some != nil, err
	}}
	return newStream[T](ctx, raw.Emb_stream_source(ctx.id, sizeOf[T](), Unknown, raw.Keep(ask)))
}

// StreamSeq has the records of an iterator, such as those of containers and sorters.  It runs in a goroutine of its own,
// which works only while a pull waits for it: iter.Pull cannot be resumed by what C calls.
func StreamSeq[T any](ctx *Context, all iter.Seq[T]) (*Stream[T], error) {
	var begun, ended bool
	want, got := make(chan bool), make(chan func() []T)
	run := func() {
		var some []T
		stopped := false
		defer func() {
			if p := recover(); !stopped {
				got <- func() []T {
					ended = true
					if p != nil {
						panic(p)
					}
					return some
				}
			}
		}()
		for record := range all {
			if some = append(some, record); len(some) < 1024 {
				continue
			}
			batch := some
			got <- func() []T { return batch }
			if some = nil; !<-want {
				stopped = true
				return
			}
		}
	}
	return source(ctx, func() ([]T, error) {
		switch {
		case ended:
			return nil, nil
		case begun:
			want <- true
		default:
			begun = true
			go run()
		}
		return (<-got)(), nil
	}, func() {
		if begun && !ended {
			want <- false
		}
	})
}

// StreamFiles has the records of files, one after the other.
func StreamFiles[T any](ctx *Context, paths ...string) (*Stream[T], error) {
	return newStream[T](ctx, raw.Em_stream_file(ctx.id, sizeOf[T](), texts(paths)))
}

func ask[T, U any](s *Stream[T], what int, fn func(records []T) ([]byte, bool, error)) (*Stream[U], error) {
	id := raw.Keep(raw.Asked{Ask: func(a, _ []byte) ([]byte, bool, error) { return fn(seen[T](a)) }})
	return newStream[U](s.ctx, raw.Emb_stream_node(s.id, uint(what), sizeOf[U](), id), &s.object)
}

// MapStream has as many records as a function returns for those of a batch.
func MapStream[T, U any](s *Stream[T], fn func(records []T) ([]U, error)) (*Stream[U], error) {
	return ask[T, U](s, raw.EMB_MAP, func(records []T) ([]byte, bool, error) {
		made, err := fn(records)
		return bytesOf(made), true, err
	})
}

// FlatMapStream has any number of records that a function returns for those of a batch.
func FlatMapStream[T, U any](s *Stream[T], fn func(records []T) ([]U, error)) (*Stream[U], error) {
	return ask[T, U](s, raw.EMB_FLAT_MAP, func(records []T) ([]byte, bool, error) {
		made, err := fn(records)
		return bytesOf(made), true, err
	})
}

// Filter has the records for which a function is true.
func (s *Stream[T]) Filter(fn func(record *T) bool) (*Stream[T], error) {
	return ask[T, T](s, raw.EMB_FILTER, func(records []T) ([]byte, bool, error) {
		keep := make([]byte, len(records))
		for i := range records {
			if fn(&records[i]) {
				keep[i] = 1
			}
		}
		return keep, true, nil
	})
}

// Inspect shows records to a function as they go by.
func (s *Stream[T]) Inspect(fn func(records []T) error) (*Stream[T], error) {
	return ask[T, T](s, raw.EMB_INSPECT, func(records []T) ([]byte, bool, error) { return nil, false, fn(records) })
}

// Reduce has one record for neighbours that are equal in an order: the first, to which a function adds others.
func (s *Stream[T]) Reduce(order *Order, fn func(sum *T, records []T) error) (*Stream[T], error) {
	id := raw.Keep(raw.Asked{Ask: func(a, b []byte) ([]byte, bool, error) {
		sum := recordOf[T](a)
		err := fn(&sum, seen[T](b))
		return bytesOfOne(&sum), true, err
	}})
	return newStream[T](s.ctx, raw.Emb_stream_reduce(s.id, order.id, id), &s.object, &order.object)
}

// Sort has the records in order, with the fields of em_sort_opts.
func (s *Stream[T]) Sort(order *Order, opts Options) (*Stream[T], error) {
	b, err := sortOptions(order, opts)
	if err != nil {
		return nil, err
	}
	return newStream[T](s.ctx, raw.Em_stream_sort(s.id, order.id, b), &s.object, &order.object)
}

// Unique has of neighbours that are equal the first.
func (s *Stream[T]) Unique(order *Order) (*Stream[T], error) {
	return newStream[T](s.ctx, raw.Em_stream_unique(s.id, order.id, 0), &s.object, &order.object)
}

// UniqueCounted is Unique with how many they were, a uint64, behind each.
func UniqueCounted[T, U any](s *Stream[T], order *Order) (*Stream[U], error) {
	return newStream[U](s.ctx, raw.Em_stream_unique(s.id, order.id, raw.EM_UNIQUE_COUNT), &s.object, &order.object)
}

func (s *Stream[T]) with(others []*Stream[T]) ([]byte, []*object) {
	ids, objects := []uint64{s.id}, []*object{&s.object}
	for _, one := range others {
		ids, objects = append(ids, one.id), append(objects, &one.object)
	}
	return bytesOf(ids), objects
}

// Concat has others behind it.
func (s *Stream[T]) Concat(others ...*Stream[T]) (*Stream[T], error) {
	ids, objects := s.with(others)
	return newStream[T](s.ctx, raw.Em_stream_concat(ids), objects...)
}

// Merge makes one of it and others, all sorted.
func (s *Stream[T]) Merge(order *Order, others ...*Stream[T]) (*Stream[T], error) {
	ids, objects := s.with(others)
	return newStream[T](s.ctx, raw.Em_stream_merge(ids, order.id), append(objects, &order.object)...)
}

// ZipStreams has records of two streams side by side.
func ZipStreams[A, B, C any](a *Stream[A], b *Stream[B]) (*Stream[C], error) {
	return newStream[C](a.ctx, raw.Em_stream_zip(bytesOf([]uint64{a.id, b.id})), &a.object, &b.object)
}

// What Set has of two sorted streams, and JoinStreams of two that are sorted by keys.
var (
	Union        = uint(raw.EM_SET_UNION)
	Intersection = uint(raw.EM_SET_INTERSECTION)
	Difference   = uint(raw.EM_SET_DIFFERENCE)
	Symmetric    = uint(raw.EM_SET_SYMMETRIC)
	InnerJoin    = uint(raw.EM_JOIN_INNER)
	LeftJoin     = uint(raw.EM_JOIN_LEFT)
	FullJoin     = uint(raw.EM_JOIN_FULL)
	SemiJoin     = uint(raw.EM_JOIN_SEMI)
	AntiJoin     = uint(raw.EM_JOIN_ANTI)
)

// Set is a set operation on two sorted streams.
func (s *Stream[T]) Set(operation uint, other *Stream[T], order *Order) (*Stream[T], error) {
	return newStream[T](s.ctx, raw.Em_stream_set(s.id, other.id, order.id, operation), &s.object, &other.object,
		&order.object)
}

// JoinStreams joins two streams that are sorted by fields (see NewOrder); a function makes a record of two, one of which
// may be nil.
func JoinStreams[A, B, C any](kind uint, a *Stream[A], b *Stream[B], left, right string,
	fn func(a *A, b *B) (C, error)) (*Stream[C], error) {
	leftKeys, err := orderName[A](left)
	if err != nil {
		return nil, err
	}
	rightKeys, err := orderName[B](right)
	if err != nil {
		return nil, err
	}
	id := raw.Keep(raw.Asked{Ask: func(x, y []byte) ([]byte, bool, error) {
		var l *A
		var r *B
		if x != nil {
			one := recordOf[A](x)
			l = &one
		}
		if y != nil {
			one := recordOf[B](y)
			r = &one
		}
		made, err := fn(l, r)
		return append([]byte(nil), bytesOfOne(&made)...), true, err
	}})
	return newStream[C](a.ctx, raw.Emb_stream_join(a.id, b.id, kind, text(leftKeys), text(rightKeys),
		sizeOf[C](), 0, id), &a.object, &b.object)
}

// Slice leaves out the first records, and has so many of the others; Unknown: all.
func (s *Stream[T]) Slice(skip, take uint64) (*Stream[T], error) {
	return newStream[T](s.ctx, raw.Em_stream_slice(s.id, skip, take), &s.object)
}

// Reverse has the records from the last to the first.
func (s *Stream[T]) Reverse() (*Stream[T], error) {
	return newStream[T](s.ctx, raw.Em_stream_reverse(s.id, 0), &s.object)
}

// PrefixSum makes of a field, a number of 64 bits, its sum with those of all records before.
func (s *Stream[T]) PrefixSum(field string) (*Stream[T], error) {
	name, err := orderName[T](field)
	if err != nil {
		return nil, err
	}
	key, at, _ := strings.Cut(name, "@")
	kind := map[string]int{"u64": raw.EM_KEY_U64, "i64": raw.EM_KEY_I64, "f64": raw.EM_KEY_F64}[key[:min(3, len(key))]]
	var offset uint64
	for _, digit := range at {
		offset = 10*offset + uint64(digit-'0')
	}
	return newStream[T](s.ctx, raw.Em_stream_prefix_sum(s.id, offset, kind), &s.object)
}

// WindowStream has each window of so many neighbours as one record, a step after the one before.
func WindowStream[T, U any](s *Stream[T], records, step uint64) (*Stream[U], error) {
	return newStream[U](s.ctx, raw.Emb_stream_window(s.id, records, step), &s.object)
}

// Tee makes two streams of all records; spill: what one has read and the other has not may go to scratch.
func (s *Stream[T]) Tee(spill bool) (a, b *Stream[T], err error) {
	how := 0
	if spill {
		how = 1
	}
	r, err := finish(raw.Emb_stream_tee(s.id, how, 0), &s.object)
	if err != nil {
		return nil, nil, err
	}
	a, b = &Stream[T]{ctx: s.ctx}, &Stream[T]{ctx: s.ctx}
	a.hold(r.Number())
	b.hold(r.Number())
	return a, b, nil
}

// Batch has it work on, and lend, so many records at a time.
func (s *Stream[T]) Batch(records uint64) error {
	return only(raw.Em_stream_batch(s.id, records), &s.object)
}

// Next returns the next records, or io.EOF.
func (s *Stream[T]) Next() ([]T, error) {
	r, err := finish(raw.Em_stream_next(s.id), &s.object)
	if err != nil {
		return nil, eof(err)
	}
	return seen[T](r.Slice()), nil
}

// All iterates over the rest of the records; Err tells whether that failed.
func (s *Stream[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			some, err := s.Next()
			if err != nil && err != io.EOF {
				s.err = err
			}
			if err != nil {
				return
			}
			for _, record := range some {
				if !yield(record) {
					return
				}
			}
		}
	}
}

// Err is what stopped All.
func (s *Stream[T]) Err() error { return s.err }

// Count is how many records were not returned yet, or Unknown.
func (s *Stream[T]) Count() uint64 { return s.size(raw.Em_stream_count) }

// SortStats are those of the sort that it is.
func (s *Stream[T]) SortStats() (Stats, error) {
	return stats(raw.Em_stream_sort_stats_get(s.id), &s.object)
}

// To pushes all to a sorter, which may be given more, or a container: how many there were.
func (s *Stream[T]) To(sink interface{ sink() (*object, sinkFunc) }) (uint64, error) {
	o, to := sink.sink()
	return number(to(s.id, o.id), &s.object, o)
}

type sinkFunc = func(stream, sink uint64) uint64

func (c *Sorter[T]) sink() (*object, sinkFunc)        { return &c.object, raw.Emb_stream_to_sorter }
func (c *Stack[T]) sink() (*object, sinkFunc)         { return &c.object, raw.Emb_stream_to_stack }
func (c *Queue[T]) sink() (*object, sinkFunc)         { return &c.object, raw.Emb_stream_to_queue }
func (c *Deque[T]) sink() (*object, sinkFunc)         { return &c.object, raw.Emb_stream_to_deque }
func (c *PriorityQueue[T]) sink() (*object, sinkFunc) { return &c.object, raw.Emb_stream_to_pq }
func (c *BTree[K, V]) sink() (*object, sinkFunc)      { return &c.object, raw.Emb_stream_to_btree }

// ToVector writes a vector from a position on: the position behind the last record.
func (s *Stream[T]) ToVector(v *Vector[T], from uint64) (uint64, error) {
	return number(raw.Emb_stream_to_vector(s.id, v.id, from), &s.object, &v.object)
}

// ToFile writes a file, which appears when it is whole: how many records there were.
func (s *Stream[T]) ToFile(path string) (uint64, error) {
	return number(raw.Emb_stream_to_file(s.id, s.ctx.id, text(path)), &s.object, &s.ctx.object)
}
