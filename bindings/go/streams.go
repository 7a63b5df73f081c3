// SPDX-License-Identifier: BSL-1.0

package extmem

import (
	"io"
	"iter"

	"extmem/internal/raw"
)

// Unknown is how many records a stream has, if nobody knows.
const Unknown = ^uint64(0)

// Stream has records that are made when they are asked for, batch by batch, with nothing in between on a disk.  A
// stream that another one is made of belongs to that, and is closed.  What a function returns as error, or panics with,
// comes out of the call that pulled.  Functions get the memory of the library, which they do not keep.
//
// What it is on, a container, sorter or Runs, may be closed before: that is done behind the stream.  Records that are
// strings are lines, which are filtered, inspected, sorted, merged, reduced, joined, divided, concatenated, sliced,
// mapped to records of one size, and flat-mapped to other lines.
type Stream[T any] struct {
	object
	ctx *Context
}

func newStream[T any](ctx *Context, r *raw.Result) (*Stream[T], error) {
	s, err := open(&Stream[T]{ctx: ctx}, r)
	if err == nil {
		err = valid[T]()
	}
	if err != nil {
		return nil, err
	}
	// 0: another goroutine is inside.
	if bytes := raw.Em_stream_record_bytes(s); bytes != 0 && bytes != sizeOf[T]() {
		return nil, invalid("records have %d bytes, and no %T has", bytes, *new(T))
	}
	return s, nil
}

func (s *Stream[T]) made(r *raw.Result) (*Stream[T], error) { return newStream[T](s.ctx, r) }

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
	return newStream[T](ctx, raw.Emb_stream_source(ctx, sizeOf[T](), Unknown, ask))
}

// StreamSeq has the records of an iterator: also what a function makes of any number of others, such as those of
// streams, which it pulls as it likes.  It runs in a goroutine of its own, which works only while a pull waits for it:
// iter.Pull cannot be resumed by what C calls.
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

// StreamLines has the lines of files; format is nil, or the fields of em_format.
func StreamLines(ctx *Context, format Options, paths ...string) (*Stream[string], error) {
	return newStream[string](ctx, raw.Em_stream_lines(ctx, paths, format))
}

// StreamFiles has the records of files, one after the other.
func StreamFiles[T any](ctx *Context, paths ...string) (*Stream[T], error) {
	return newStream[T](ctx, raw.Em_stream_file(ctx, sizeOf[T](), paths))
}

func ask[T, U any](s *Stream[T], what int, fn func(records []T) ([]byte, bool, error)) (*Stream[U], error) {
	asked := raw.Asked{Ask: func(a, ends []byte) ([]byte, bool, error) { return fn(seen[T](a, ends)) }}
	return newStream[U](s.ctx, raw.Emb_stream_node(s, uint(what), sizeOf[U](), asked))
}

func making[T, U any](s *Stream[T], what int, fn func(records []T) ([]U, error)) (*Stream[U], error) {
	return ask[T, U](s, what, func(records []T) ([]byte, bool, error) {
		made, err := fn(records)
		if lines, are := any(made).([]string); are {
			return joined(lines), true, err
		}
		return bytesOf(made), true, err
	})
}

// MapStream has as many records as a function returns for those of a batch.
func MapStream[T, U any](s *Stream[T], fn func(records []T) ([]U, error)) (*Stream[U], error) {
	return making(s, raw.EMB_MAP, fn)
}

// FlatMapStream has any number of records that a function returns for those of a batch: lines, if these are lines.
func FlatMapStream[T, U any](s *Stream[T], fn func(records []T) ([]U, error)) (*Stream[U], error) {
	return making(s, raw.EMB_FLAT_MAP, fn)
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

// adding is a function that adds records to the first of them.
func adding[T any](fn func(sum *T, records []T) error) raw.Asked {
	return raw.Asked{Ask: func(a, b []byte) ([]byte, bool, error) {
		if sizeOf[T]() == 0 {
			lines := seen[T](a, b)
			err := fn(&lines[0], lines[1:])
			return bytesOfOne(&lines[0]), true, err
		}
		sum := recordOf[T](a)
		err := fn(&sum, seen[T](b, nil))
		return bytesOfOne(&sum), true, err
	}}
}

// Reduce has one record for neighbours that are equal in an order: the first, to which a function adds others.
func (s *Stream[T]) Reduce(order *Order, fn func(sum *T, records []T) error) (*Stream[T], error) {
	return s.made(raw.Emb_stream_reduce(s, order, adding(fn)))
}

// Sort has the records in order, with the fields of em_sort_opts.
func (s *Stream[T]) Sort(order *Order, opts Options) (*Stream[T], error) {
	return s.made(raw.Em_stream_sort(s, order, opts))
}

// SortReduce is Sort and Reduce, which adds before anything is written: sums must not depend on what was added first,
// nor change how records are sorted.
func (s *Stream[T]) SortReduce(order *Order, opts Options, fn func(sum *T, records []T) error) (*Stream[T], error) {
	return s.made(raw.Emb_stream_sort_reduce(s, order, opts, adding(fn)))
}

// Unique has of neighbours that are equal the first.
func (s *Stream[T]) Unique(order *Order) (*Stream[T], error) {
	return s.made(raw.Em_stream_unique(s, order, 0))
}

// UniqueCounted is Unique with how many they were, a uint64, behind each; of lines in digits, with a tab, in front.
func UniqueCounted[T, U any](s *Stream[T], order *Order) (*Stream[U], error) {
	return newStream[U](s.ctx, raw.Em_stream_unique(s, order, raw.EM_UNIQUE_COUNT))
}

func handles[H handle](first []handle, others []H) []handle {
	for _, one := range others {
		first = append(first, one)
	}
	return first
}

// Concat has others behind it.
func (s *Stream[T]) Concat(others ...*Stream[T]) (*Stream[T], error) {
	return s.made(raw.Em_stream_concat(handles([]handle{s}, others)))
}

// Merge makes one of it and others, all sorted.
func (s *Stream[T]) Merge(order *Order, others ...*Stream[T]) (*Stream[T], error) {
	return s.made(raw.Em_stream_merge(handles([]handle{s}, others), order))
}

// ZipStreams has records of two streams side by side.
func ZipStreams[A, B, C any](a *Stream[A], b *Stream[B]) (*Stream[C], error) {
	return newStream[C](a.ctx, raw.Em_stream_zip([]handle{a, b}))
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
	return s.made(raw.Em_stream_set(s, other, order, operation))
}

// side is a copy of a record of a join, or nil.
func side[T any](b []byte) *T {
	if b == nil {
		return nil
	}
	one := recordOf[T](b)
	return &one
}

func joinBy[A, B, C any](kind uint, a *Stream[A], b *Stream[B], left, right, separator string,
	asked any) (*Stream[C], error) {
	leftBy, err := orderBy[A](a.ctx, left)
	if err != nil {
		return nil, err
	}
	defer leftBy.Close()
	rightBy, err := orderBy[B](a.ctx, right)
	if err != nil {
		return nil, err
	}
	defer rightBy.Close()
	return newStream[C](a.ctx, raw.Emb_stream_join(a, b, kind, leftBy, rightBy, sizeOf[C](), separator, 0, asked))
}

// JoinStreams joins two streams that are sorted by fields (see NewOrder), or, of lines, by options of the command (see
// NewTextOrder); a function makes a record of two, one of which may be nil.
func JoinStreams[A, B, C any](kind uint, a *Stream[A], b *Stream[B], left, right string,
	fn func(a *A, b *B) (C, error)) (*Stream[C], error) {
	return joinBy[A, B, C](kind, a, b, left, right, "", raw.Asked{Ask: func(x, y []byte) ([]byte, bool, error) {
		made, err := fn(side[A](x), side[B](y))
		return bytesOfOne(&made), true, err
	}})
}

// JoinLines is JoinStreams of lines without a function: the fields of the keys, then the others of both, with a
// separator of one byte in between, or, if that is "", as those of the left ones.
func JoinLines(kind uint, a, b *Stream[string], left, right, separator string) (*Stream[string], error) {
	return joinBy[string, string, string](kind, a, b, left, right, separator, nil)
}

// Progress is the stream, of whose graph a function is told how far that got, as Graph says, until it returns true,
// which stops it.
func (s *Stream[T]) Progress(fn func(phase uint, done, total uint64) (stop bool)) (*Stream[T], error) {
	return s.made(raw.Emb_stream_progress(s, raw.Asked{Told: fn}))
}

// Slice leaves out the first records, and has so many of the others; Unknown: all.
func (s *Stream[T]) Slice(skip, take uint64) (*Stream[T], error) {
	return s.made(raw.Em_stream_slice(s, skip, take))
}

// Reverse has the records from the last to the first.
func (s *Stream[T]) Reverse() (*Stream[T], error) { return s.made(raw.Em_stream_reverse(s, 0)) }

// PrefixSum makes of a field, a number of 64 bits, its sum with those of all records before.
func (s *Stream[T]) PrefixSum(field string) (*Stream[T], error) {
	name, err := orderName[T](field)
	if err != nil {
		return nil, err
	}
	return s.made(raw.Emb_stream_sums(s, name))
}

// WindowStream has each window of so many neighbours as one record, a step after the one before.
func WindowStream[T, U any](s *Stream[T], records, step uint64) (*Stream[U], error) {
	return newStream[U](s.ctx, raw.Emb_stream_window(s, records, step))
}

// Tee makes two streams of all records; spill: what one has read and the other has not may go to scratch.
func (s *Stream[T]) Tee(spill bool) (a, b *Stream[T], err error) {
	r := raw.Emb_stream_tee(s, spill, 0)
	if a, err = s.made(r); err == nil {
		b, err = s.made(r)
	}
	return a, b, err
}

// Batch has it work on, and lend, so many records at a time.
func (s *Stream[T]) Batch(records uint64) error { return only(raw.Em_stream_batch(s, records)) }

// Next returns the next records, or io.EOF.
func (s *Stream[T]) Next() ([]T, error) { return batch[T](raw.Em_stream_next(s)) }

// All iterates over the rest of the records; Err tells whether that failed.
func (s *Stream[T]) All() iter.Seq[T] { return each(&s.object, s.Next, raw.Em_stream_back) }

// Count is how many records were not returned yet, or Unknown.
func (s *Stream[T]) Count() uint64 { return raw.Em_stream_count(s) }

// SortStats are those of the sort that it is.
func (s *Stream[T]) SortStats() (Stats, error) { return stats(raw.Em_stream_sort_stats_get(s)) }

// Runs are what is told of those of SortReduce, Graph what a graph takes of the memory, and how far it got.
func (s *Stream[T]) Runs() (Stats, error)  { return stats(raw.Em_stream_runs_info_get(s)) }
func (s *Stream[T]) Graph() (Stats, error) { return stats(raw.Em_stream_graph_info_get(s)) }

type drain interface {
	handle
	sink() toSink
}

// To pushes all to a container, or to a sorter or Sink, which may be given more: how many there were.
func (s *Stream[T]) To(sink drain) (uint64, error) { return number(sink.sink()(s, sink)) }

type toSink = func(stream, sink handle) *raw.Result

func (c *Sorter[T]) sink() toSink        { return raw.Emb_stream_to_sorter }
func (c *Sink[T]) sink() toSink          { return raw.Em_stream_pump }
func (c *Stack[T]) sink() toSink         { return raw.Emb_stream_to_stack }
func (c *Queue[T]) sink() toSink         { return raw.Emb_stream_to_queue }
func (c *Deque[T]) sink() toSink         { return raw.Emb_stream_to_deque }
func (c *PriorityQueue[T]) sink() toSink { return raw.Emb_stream_to_pq }
func (c *BTree[K, V]) sink() toSink      { return raw.Emb_stream_to_btree }

// ToVector writes a vector from a position on: the position behind the last record.
func (s *Stream[T]) ToVector(v *Vector[T], from uint64) (uint64, error) {
	return number(raw.Emb_stream_to_vector(s, v, from))
}

// ToFile writes a file, which appears when it is whole: how many records there were.
func (s *Stream[T]) ToFile(path string) (uint64, error) {
	if sizeOf[T]() == 0 {
		return s.ToLines(path, nil)
	}
	return number(raw.Emb_stream_to_file(s, s.ctx, path))
}

// ToLines writes a file of lines; format is nil, or the fields of em_format.
func (s *Stream[T]) ToLines(path string, format Options) (uint64, error) {
	return number(raw.Emb_stream_to_lines(s, s.ctx, path, format))
}

// Split leaves records for which a function says 0, and sends others to sinks: k to the k-th.  Sinks are finished by
// the caller, when the stream is at its end.
func (s *Stream[T]) Split(fn func(record *T) uint32, sinks ...*Sink[T]) (*Stream[T], error) {
	asked := raw.Asked{Ask: func(a, ends []byte) ([]byte, bool, error) {
		records := seen[T](a, ends)
		to := make([]uint32, len(records))
		for i := range records {
			to[i] = fn(&records[i])
		}
		return bytesOf(to), true, nil
	}}
	return s.made(raw.Emb_stream_split(s, handles(nil, sinks), asked))
}

// Sink is what records are pushed to, wherever they go: Push, Finish, Close.
type Sink[T any] struct{ object }

// SinkFunc hands records to a function, and nil when it is finished.
func SinkFunc[T any](ctx *Context, fn func(records []T) error) (*Sink[T], error) {
	if _, err := orderName[T](""); err != nil {
		return nil, err
	}
	asked := raw.Asked{Ask: func(a, _ []byte) ([]byte, bool, error) {
		if a == nil {
			return nil, false, fn(nil)
		}
		return nil, false, fn(seen[T](a, nil))
	}}
	return open(&Sink[T]{}, raw.Emb_sink_function(ctx, sizeOf[T](), asked))
}

// SinkFile writes a file, which appears when it is finished; of lines as format says: nil, or the fields of em_format.
func SinkFile[T any](ctx *Context, path string, format Options) (*Sink[T], error) {
	if sizeOf[T]() == 0 {
		return open(&Sink[T]{}, raw.Em_sink_lines(ctx, path, format))
	}
	return open(&Sink[T]{}, raw.Em_sink_file(ctx, sizeOf[T](), path))
}

// SinkNowhere counts records, and forgets them.
func SinkNowhere[T any](ctx *Context) (*Sink[T], error) {
	return open(&Sink[T]{}, raw.Em_sink_discard(ctx, sizeOf[T]()))
}

// Push adds records; lines without their newlines.
func (k *Sink[T]) Push(records ...T) error {
	return pushed(k, records, raw.Em_sink_push, raw.Emb_sink_push_lines)
}

// Finish has all of them where they belong.
func (k *Sink[T]) Finish() error { return only(raw.Em_sink_finish(k)) }

// Count is how many it took.
func (k *Sink[T]) Count() uint64 { return raw.Em_sink_count(k) }

// Stream has what the sorter is going to lend, also if it is finished later, before the first pull: all, or what is
// behind the batch that was read from last.
func (s *Sorter[T]) Stream() (*Stream[T], error) { return newStream[T](s.ctx, raw.Em_stream_sorter(s)) }

// Sink pushes, and finishes the sorter when it is finished.
func (s *Sorter[T]) Sink() (*Sink[T], error) { return open(&Sink[T]{}, raw.Em_sink_sorter(s)) }

// StreamTree has the entries of a tree whose keys are at least from and less than to, each a key with its value behind
// it without a gap; nil: no bound.
func StreamTree[T, K, V any](t *BTree[K, V], from, to *K) (*Stream[T], error) {
	return newStream[T](t.ctx, raw.Em_stream_btree(t, keyBytes(from), keyBytes(to)))
}
