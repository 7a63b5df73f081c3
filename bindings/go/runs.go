// SPDX-License-Identifier: BSL-1.0

package extmem

import "extmem/internal/raw"

// Runs are sorted runs apart from merging: formed once, merged as often as one likes, also in parts and several at a
// time; then cleared, and formed anew.  Push, Append and Feed, then Finish, then Merge.
type Runs[T any] struct {
	object
	ctx *Context
}

// NewRuns makes an object without runs for an order, or all fields (nil), with the fields of em_runs_opts.  A function,
// if there is one, adds equal records to the first of them, as early as can be (SortReduce).
func NewRuns[T any](ctx *Context, order *Order, combine func(sum *T, records []T) error,
	opts Options) (*Runs[T], error) {
	order, err := orderOr[T](ctx, order)
	if err != nil {
		return nil, err
	}
	var fn any
	if combine != nil {
		fn = adding(combine)
	}
	return open(&Runs[T]{ctx: ctx}, raw.Emb_runs_open(ctx, order, opts, fn))
}

// Push adds records in any order.
func (r *Runs[T]) Push(records ...T) error { return only(raw.Em_runs_push(r, bytesOf(records))) }

// Append adds records of a sorted sequence, which goes on with the next call, and ends with End.
func (r *Runs[T]) Append(records ...T) error { return only(raw.Em_runs_append(r, bytesOf(records))) }

// End says that the sorted sequence is over.
func (r *Runs[T]) End() error { return only(raw.Em_runs_end(r)) }

// What Feed and Sink are told.
const (
	RunsSorted = uint(raw.EM_RUNS_SORTED) // What comes is a sorted sequence.
	RunsMore   = uint(raw.EM_RUNS_MORE)   // Sink: when it is finished the runs are open for more.
)

// Feed adds all records of a stream, which stays the caller's, at its end.
func (r *Runs[T]) Feed(s *Stream[T], flags uint) error { return only(raw.Emb_runs_feed(r, s, flags)) }

// Sink pushes or, with RunsSorted, appends, and finishes the runs when it is finished.
func (r *Runs[T]) Sink(flags uint) (*Sink[T], error) {
	return open(&Sink[T]{}, raw.Em_sink_runs(r, flags))
}

// Finish says that there are no more records.
func (r *Runs[T]) Finish() error { return only(raw.Em_runs_finish(r)) }

// Clear forgets all records, and begins anew, also after a failure.
func (r *Runs[T]) Clear() error { return only(raw.Em_runs_clear(r)) }

// Part is what to merge: records that are at least From and less than To, without the first Skip, at most Take of them;
// what is not set is no bound.  Memory is bytes for it, or as many as was planned.
type Part[T any] struct {
	From, To           *T
	Skip, Take, Memory uint64
}

// Merge has the records of all runs, sorted, or a part of them.  The runs stay.
func (r *Runs[T]) Merge(part Part[T]) (*Stream[T], error) {
	if part.Take == 0 {
		part.Take = Unknown
	}
	return newStream[T](r.ctx,
		raw.Emb_runs_merge(r, keyBytes(part.From), keyBytes(part.To), part.Skip, part.Take, part.Memory))
}

// Info is what is told of them.
func (r *Runs[T]) Info() (Stats, error) { return stats(raw.Em_runs_info_get(r)) }
