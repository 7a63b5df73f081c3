// SPDX-License-Identifier: BSL-1.0

// Package extmem has external memory for Go: sorting and containers for more records than memory holds, on disks.
//
// Records are values of a type T of one size: numbers, arrays and structs of these; or, in sorters, streams and sinks
// of lines, strings of any length.  A mistake of the caller's changes nothing and is an *Error, as is every other
// failure.  An object is used by one goroutine at a time, a Context by any.  What is not closed is closed when it is
// collected.
package extmem

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"runtime"
	"strings"
	"syscall"

	"extmem/internal/raw"
)

// Version of the library that is running.
func Version() string { return raw.Em_version() }

// Status is the kind of a failure, and itself an error, for errors.Is.
type Status int

// Statuses that programs ask for.
const (
	ErrInvalid     = Status(raw.EM_ERR_INVAL)
	ErrState       = Status(raw.EM_ERR_STATE)
	ErrRange       = Status(raw.EM_ERR_RANGE)
	ErrBusy        = Status(raw.EM_ERR_BUSY)
	ErrNoMemory    = Status(raw.EM_ERR_NOMEM)
	ErrMemoryLimit = Status(raw.EM_ERR_MEMLIMIT)
	ErrNoSpace     = Status(raw.EM_ERR_NOSPACE)
	ErrIO          = Status(raw.EM_ERR_IO)
	ErrNotFound    = Status(raw.EM_ERR_NOENT)
	ErrCorrupt     = Status(raw.EM_ERR_CORRUPT)
	ErrFormat      = Status(raw.EM_ERR_FORMAT)
	ErrUser        = Status(raw.EM_ERR_USER)
	ErrCanceled    = Status(raw.EM_ERR_CANCELED)
)

// Error is what the library says of the status.
func (s Status) Error() string { return "extmem: " + raw.Em_status_text(int(s)) }

// Name is that of C: "EM_ERR_NOSPACE".
func (s Status) Name() string { return raw.Em_status_name(int(s)) }

// Error is a failure of the library with its detail.
type Error struct {
	Status Status
	Errno  syscall.Errno // Of the operating system, or 0.
	Op     string        // "open", "read", ..., or "".
	Path   string        // The file, or "".
	Offset uint64        // In it, or 2^64 - 1.
	Bytes  uint64        // Asked for, or what would do; 0: unknown.
	Record uint64        // Its number from 1, or 0.
	Done   uint64        // How many records were taken before.
	Text   string
}

func (e *Error) Error() string { return "extmem: " + e.Text }

// Unwrap gives the status and the errno, so that errors.Is(err, fs.ErrNotExist) works, too.
func (e *Error) Unwrap() []error {
	if e.Errno == 0 {
		return []error{e.Status}
	}
	return []error{e.Status, e.Errno}
}

func invalid(format string, args ...any) error {
	return &Error{Status: ErrInvalid, Text: fmt.Sprintf(format, args...)}
}

// end is what positive statuses are, within this package.
var end error = &Error{Text: "there is none"}

var closed error = &Error{Status: ErrState, Text: "it is closed"}

// only is the error of a call, which may have results.
func only(r *raw.Result) error {
	switch {
	case r == nil || r.Status == 0 && r.Thrown == nil:
		return nil
	case r.Thrown != nil:
		if p, is := r.Thrown.(raw.Panic); is {
			panic(p.Value)
		}
		return r.Thrown.(error)
	case r.Status > 0:
		return end
	}
	return &Error{Status(r.Status), syscall.Errno(r.Errno), r.Op, r.Path, r.Offset, r.Bytes, r.Record, r.Done,
		r.Text}
}

// number is the result of a call, if that is one number.
func number(r *raw.Result) (n uint64, err error) {
	if err = only(r); err == nil {
		n = r.Number()
	}
	return n, err
}

// found is whether there is one, if that is what a call was about.
func found(err error) (bool, error) {
	if err == end {
		return false, nil
	}
	return err == nil, err
}

// single is the result of a call, if that is one record: false, if there is none.
func single[T any](r *raw.Result) (one T, ok bool, err error) {
	if ok, err = found(only(r)); ok {
		one = recordOf[T](r.Slice())
	}
	return one, ok, err
}

// batch is the result of a call, if that is some records; io.EOF: there are no more.
func batch[T any](r *raw.Result) ([]T, error) {
	if err := only(r); err != nil {
		return nil, eof(err)
	}
	b := r.Slice()
	if sizeOf[T]() == 0 {
		return seen[T](b, r.Slice()), nil
	}
	return seen[T](b, nil), nil
}

// eof is io.EOF for what is at its end.
func eof(err error) error {
	if err == end {
		return io.EOF
	}
	return err
}

type (
	held   = raw.Object
	handle = raw.Handle
)

// object is what has a handle.
type object struct {
	held
	err error
}

// Err is what stopped an iterator.
func (o *object) Err() error { return o.err }

// each iterates over what comes in batches, up to io.EOF.  back, if there is one, is em_sorter_back() or its like: what
// a loop that is left has not come to is what comes next, unless batches were read in it.
func each[T any](o *object, next func() ([]T, error), back func(handle, uint64, uint64) *raw.Result) iter.Seq[T] {
	return func(yield func(T) bool) {
		through := func(some []T) bool {
			seen := 0
			if back != nil {
				mark, _ := number(back(o, 0, 0))
				defer func() { back(o, mark, uint64(len(some)-seen)) }()
			}
			for seen < len(some) {
				seen++
				if !yield(some[seen-1]) {
					return false
				}
			}
			return true
		}
		for {
			some, err := next()
			if err != nil {
				if err != io.EOF {
					o.err = err
				}
				return
			}
			if !through(some) {
				return
			}
		}
	}
}

// open is an object with the handle that a call gave back, or nil and why there is none.
func open[O interface{ hold(id uint64) }](o O, r *raw.Result) (O, error) {
	id, err := number(r)
	if err != nil {
		return *new(O), err
	}
	o.hold(id)
	return o, nil
}

func (o *object) hold(id uint64) {
	raw.Set(o, id)
	runtime.SetFinalizer(o, func(o *object) { raw.Emb_close(o, true) })
}

// Close gives back what it has; to close it again does nothing.
func (o *object) Close() error {
	if raw.Emb_close(o, false) == 0 {
		return &Error{Status: ErrBusy, Text: "a call is in progress on what it is a part of"}
	}
	runtime.SetFinalizer(o, nil)
	return nil
}

// Cancel stops what it does, from any goroutine, if that can be stopped.
func (o *object) Cancel() { raw.Emb_cancel(o) }

// Closed tells whether it was closed.
func (o *object) Closed() bool { return raw.Emb_is_open(o) == 0 }

// Options are the fields of the structs in <extmem/*.h> by name: numbers, strings (also sizes, "64M"), []string, other
// Options, and functions: "progress" a func(phase string, done, total uint64) (stop bool), "log" a func(level int, line
// string).
type Options = map[string]any

func with(opts Options, name string, value any) Options {
	all := Options{}
	maps.Copy(all, opts)
	all[name] = value
	return all
}

// Stats are what the library tells of an object, by the names of the fields in C: json.Number, and for "phases" more
// Stats.
type Stats map[string]any

// JSON of them.
func (s Stats) JSON() string {
	b, _ := json.Marshal(s)
	return string(b)
}

func stats(r *raw.Result) (s Stats, err error) {
	if err = only(r); err == nil {
		d := json.NewDecoder(strings.NewReader(string(r.Slice())))
		d.UseNumber()
		err = d.Decode(&s)
	}
	return s, err
}

// Context has the budgets, scratch disks and threads that everything else shares.
type Context struct{ object }

// Open makes a context of the fields of em_ctx_opts.
func Open(opts Options) (*Context, error) { return open(&Context{}, raw.Em_ctx_open(opts)) }

// Cancel stops everything in it, for good; any goroutine.
func (c *Context) Cancel() { raw.Em_ctx_cancel(c) }

// Memory is the budget in bytes, MemoryUsed how much of it is in use.
func (c *Context) Memory() uint64 { return raw.Em_ctx_memory(c) }

// MemoryUsed is how many bytes of the budget are in use.
func (c *Context) MemoryUsed() uint64 { return raw.Em_ctx_memory_used(c) }

// Stats of what all of its files moved.
func (c *Context) Stats() (Stats, error) { return stats(raw.Em_ctx_io_stats_get(c)) }
