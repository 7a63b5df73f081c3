// SPDX-License-Identifier: BSL-1.0

package extmem

import (
	"io"
	"iter"

	"extmem/internal/raw"
)

const chunk = 1 << 20

// Flags of sorts: Options{"flags": SortUnique}.
const SortUnique = uint(raw.EM_SORT_UNIQUE) // Of equal records the first.

// Sorter sorts records, or lines: Push, then Read or All.
type Sorter[T any] struct {
	object
	ctx      *Context
	finished bool
}

// NewSorter makes one for an order, or all fields (nil), with the fields of em_sort_opts.
func NewSorter[T any](ctx *Context, order *Order, opts Options) (*Sorter[T], error) {
	order, err := orderOr[T](ctx, order)
	if err != nil {
		return nil, err
	}
	return open(&Sorter[T]{ctx: ctx}, raw.Em_sorter_open(ctx, order, opts))
}

// Lines sorts records of any length.
type Lines = Sorter[string]

// NewLines makes one for an order of lines.
func NewLines(ctx *Context, order *Order, opts Options) (*Lines, error) {
	return NewSorter[string](ctx, order, opts)
}

// Push adds records; lines without their newlines.
func (s *Sorter[T]) Push(records ...T) error {
	return pushed(s, records, raw.Em_sorter_push, raw.Em_sorter_push_batch)
}

// PushFile adds the records of a file.
func (s *Sorter[T]) PushFile(path string) error { return only(raw.Em_sorter_push_file(s, path)) }

// Finish ends the input.
func (s *Sorter[T]) Finish() error {
	err := only(raw.Em_sorter_finish(s))
	s.finished = s.finished || err == nil
	return err
}

func (s *Sorter[T]) end() error {
	if s.finished {
		return nil
	}
	return s.Finish()
}

// Next fills a slice with the next records, after Finish: how many there were; 0 and io.EOF behind the last.  Not of
// lines.
func (s *Sorter[T]) Next(room []T) (int, error) {
	n, err := number(raw.Emb_read(s, bytesOf(room)))
	return int(n), eof(err)
}

// Read is Finish, if that was not called, and Next.
func (s *Sorter[T]) Read(room []T) (int, error) {
	if err := s.end(); err != nil {
		return 0, err
	}
	return s.Next(room)
}

// All iterates over the rest of the records; Err tells whether that failed.  A loop goes on where the one
// before was left.
func (s *Sorter[T]) All() iter.Seq[T] {
	return each(&s.object, func() ([]T, error) {
		if err := s.end(); err != nil {
			return nil, err
		}
		return batch[T](raw.Em_sorter_next(s))
	}, raw.Em_sorter_back)
}

// WriteFile writes what is left into a file, which appears when it is whole.
func (s *Sorter[T]) WriteFile(path string) error {
	if err := s.end(); err != nil {
		return err
	}
	return only(raw.Em_sorter_pull_file(s, path))
}

// Clear begins anew, also after a failure.
func (s *Sorter[T]) Clear() error {
	s.finished, s.err = false, nil
	return only(raw.Em_sorter_clear(s))
}

// Pushed is how many records were pushed.
func (s *Sorter[T]) Pushed() uint64 { return raw.Em_sorter_pushed(s) }

// Stats of the sort, with those of its phases.
func (s *Sorter[T]) Stats() (Stats, error) { return stats(raw.Em_sorter_stats_get(s)) }

// Sort sorts a slice in place, in the memory that opts["memory"] says beside it.
func Sort[T any](ctx *Context, records []T, order *Order, opts Options) error {
	s, err := NewSorter[T](ctx, order, opts)
	if err != nil {
		return err
	}
	defer s.Close()
	if err = s.Push(records...); err != nil {
		return err
	}
	if _, err = s.Read(records); err == io.EOF {
		return nil
	}
	return err
}

// Top keeps the records of ranks from, ..., from + k - 1.
type Top[T any] struct {
	object
	finished bool
}

// NewTop makes one.
func NewTop[T any](ctx *Context, order *Order, from, k uint64, opts Options) (*Top[T], error) {
	order, err := orderOr[T](ctx, order)
	if err != nil {
		return nil, err
	}
	return open(&Top[T]{}, raw.Em_top_open(ctx, order, from, k, opts))
}

// Push adds records; lines without their newlines.
func (t *Top[T]) Push(records ...T) error {
	return pushed(t, records, raw.Em_top_push, raw.Em_top_push_batch)
}

// All ends the input and iterates over the result; Err tells whether that failed.
func (t *Top[T]) All() iter.Seq[T] {
	return each(&t.object, func() ([]T, error) {
		if !t.finished {
			if err := only(raw.Em_top_finish(t)); err != nil {
				return nil, err
			}
			t.finished = true
		}
		return batch[T](raw.Em_top_next(t))
	}, raw.Em_top_back)
}

// Files.  The order is of lines (NewTextOrder) or of records of one size; opts are the fields of em_sort_opts.

// SortFile sorts files into one.
func SortFile(ctx *Context, order *Order, inputs []string, output string, opts Options) (Stats, error) {
	return stats(raw.Em_sort_files(ctx, order, inputs, output, opts))
}

// MergeFiles merges files that are sorted.
func MergeFiles(ctx *Context, order *Order, inputs []string, output string, opts Options) (Stats, error) {
	return stats(raw.Em_merge_files(ctx, order, inputs, output, opts))
}

// UniqueFile writes the first of equal records; opts are the fields of em_unique_opts.
func UniqueFile(ctx *Context, order *Order, inputs []string, output string, opts Options) (Stats, error) {
	return stats(raw.Em_unique_files(ctx, order, inputs, output, opts))
}

// TopFile writes the records of ranks from, ..., from + k - 1.
func TopFile(ctx *Context, order *Order, inputs []string, from, k uint64, output string, opts Options) (Stats, error) {
	return stats(raw.Em_top_files(ctx, order, inputs, from, k, output, opts))
}

// ShuffleFile writes records in random order: of one size, or lines (0); opts are the fields of em_shuffle_opts.
func ShuffleFile(ctx *Context, recordBytes uint64, inputs []string, output string, opts Options) (Stats, error) {
	return stats(raw.Em_shuffle_files(ctx, recordBytes, inputs, output, opts))
}

// CheckFile looks whether a file is sorted, and gives the first record that is not in its place, or nil; opts are the
// fields of em_check_opts.
func CheckFile(ctx *Context, order *Order, path string, opts Options) (found Stats, first []byte, err error) {
	found, err = stats(raw.Em_check_file(ctx, order, path, opts, raw.Disorder(func(_ uint64, record []byte) {
		if first == nil {
			first = record
		}
	})))
	return found, first, err
}
