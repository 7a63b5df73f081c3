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
	"strconv"
	"strings"
	"syscall"

	"extmem/internal/raw"
)

// Version of the library that is running.
func Version() string { return string(raw.Em_version()) }

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
func (s Status) Error() string { return "extmem: " + string(raw.Em_status_text(int(s))) }

// Name is that of C: "EM_ERR_NOSPACE".
func (s Status) Name() string { return string(raw.Em_status_name(int(s))) }

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

// end is what positive statuses are, within this package.
var end = &Error{Text: "there is none"}

// finish makes of what a call returned its results, which are nil if it has none, and an error.  The objects are those
// that it used, which live until then.
func finish(from uint64, _ ...*object) (*raw.Result, error) {
	r := raw.Take(from)
	switch {
	case r == nil:
		return nil, nil
	case r.Thrown != nil:
		if p, is := r.Thrown.(raw.Panic); is {
			panic(p.Value)
		}
		return nil, r.Thrown.(error)
	case r.Status > 0:
		return nil, end
	case r.Status < 0:
		return nil, &Error{Status(r.Status), syscall.Errno(r.Errno), r.Op, r.Path, r.Offset, r.Bytes, r.Record, r.Done,
			r.Text}
	}
	return r, nil
}

// only is finish of a call that has no results.
func only(from uint64, objects ...*object) error {
	_, err := finish(from, objects...)
	return err
}

// number is finish of a call whose result is one number.
func number(from uint64, objects ...*object) (uint64, error) {
	r, err := finish(from, objects...)
	if err != nil {
		return 0, err
	}
	return r.Number(), nil
}

// single is finish of a call whose result is one record: false, if there is none.
func single[T any](from uint64, objects ...*object) (one T, ok bool, err error) {
	r, err := finish(from, objects...)
	if err == nil {
		return recordOf[T](r.Slice()), true, nil
	}
	if err == error(end) {
		err = nil
	}
	return one, false, err
}

// batch is finish of a call whose result is some records; io.EOF: there are no more.
func batch[T any](from uint64, objects ...*object) ([]T, error) {
	r, err := finish(from, objects...)
	if err != nil {
		return nil, eof(err)
	}
	b := r.Slice()
	if sizeOf[T]() == 0 {
		return seen[T](b, r.Slice()), nil
	}
	return seen[T](b, nil), nil
}

// object is what has a handle.
type object struct {
	id  uint64
	err error
}

// Err is what stopped an iterator.
func (o *object) Err() error { return o.err }

// each iterates over what comes in batches, up to io.EOF.
func each[T any](o *object, next func() ([]T, error)) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			some, err := next()
			if err != nil {
				if err != io.EOF {
					o.err = err
				}
				return
			}
			for _, one := range some {
				if !yield(one) {
					return
				}
			}
		}
	}
}

func (o *object) open(from uint64, uses ...*object) error {
	id, err := number(from, uses...)
	if err != nil {
		return err
	}
	o.hold(id)
	return nil
}

// opened is an object, or nil and why it could not be made.
func opened[O any](o *O, err error) (*O, error) {
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (o *object) hold(id uint64) {
	o.id = id
	runtime.SetFinalizer(o, func(o *object) { raw.Close(o.id, true) })
}

// Close gives back what it has; to close it again does nothing.
func (o *object) Close() error {
	if !raw.Close(o.id, false) {
		return &Error{Status: ErrBusy, Text: "a call is in progress on what it is a part of"}
	}
	runtime.SetFinalizer(o, nil)
	return nil
}

// Cancel stops what it does, from any goroutine, if that can be stopped.
func (o *object) Cancel() {
	raw.Cancel(o.id)
	runtime.KeepAlive(o)
}

// Closed tells whether it was closed.
func (o *object) Closed() bool {
	open := raw.IsOpen(o.id)
	runtime.KeepAlive(o)
	return !open
}

func (o *object) size(of func(uint64) uint64) uint64 {
	n := of(o.id)
	runtime.KeepAlive(o)
	return n
}

// Options are the fields of the structs in <extmem/*.h> by name: numbers, strings (also sizes, "64M"), []string, other
// Options, and functions: "progress" a func(phase string, done, total uint64) (stop bool), "log" a func(level int, line
// string).
type Options map[string]any

var phases = []string{"runs", "merge", "output"}

// add writes names and values, each with a zero behind it; what cannot be is told by one without a name.
func (opts Options) add(to *strings.Builder, prefix string) {
	for name, value := range opts {
		name = prefix + name
		switch v := value.(type) {
		case Options:
			v.add(to, name+".")
			continue
		case []Options:
			for i, one := range v {
				one.add(to, fmt.Sprintf("%s.%d.", name, i))
			}
			continue
		case []string:
			for _, one := range v {
				Options{name: one}.add(to, "")
			}
			continue
		case func(phase string, done, total uint64) bool:
			value = raw.Keep(raw.Progress(func(phase uint, done, total uint64) bool {
				if phase < uint(len(phases)) {
					return v(phases[phase], done, total)
				}
				return v(fmt.Sprint(phase), done, total)
			}))
		case func(level int, line string):
			value = raw.Keep(raw.Log(v))
		case *Order:
			value = v.id
		case bool:
			value = 0
			if v {
				value = 1
			}
		case int, int32, int64, uint, uint32, uint64, float64, string:
		default:
			name, value = "", fmt.Sprintf("the option %s cannot be a %T", name, value)
		}
		text := fmt.Sprint(value)
		if strings.ContainsRune(name+text, 0) {
			name, text = "", "an option has a zero in it"
		}
		to.WriteString(name + "\x00" + text + "\x00")
	}
}

// encode makes of options, and more of them, what C wants.
func (opts Options) encode(more Options) []byte {
	var to strings.Builder
	all := Options{}
	maps.Copy(all, opts)
	for name, value := range more {
		if flags, is := all[name]; is && name == "flags" {
			if n, err := strconv.ParseUint(fmt.Sprint(flags), 10, 32); err != nil {
				value = flags
			} else {
				value = n | value.(uint64)
			}
		}
		all[name] = value
	}
	all.add(&to, "")
	return []byte(to.String())
}

func text(s string) []byte { return []byte(s + "\x00") }

func texts(list []string) []byte {
	if len(list) == 0 {
		return []byte{}
	}
	return []byte(strings.Join(list, "\x00") + "\x00")
}

// Stats are what the library tells of an object, by the names of the fields in C: json.Number, and for "phases" more
// Stats.
type Stats map[string]any

// JSON of them.
func (s Stats) JSON() string {
	b, _ := json.Marshal(s)
	return string(b)
}

func stats(from uint64, objects ...*object) (Stats, error) {
	r, err := finish(from, objects...)
	if err != nil {
		return nil, err
	}
	return decode(r.Slice())
}

func decode(b []byte) (s Stats, err error) {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	err = d.Decode(&s)
	return s, err
}

// Context has the budgets, scratch disks and threads that everything else shares.
type Context struct{ object }

// Open makes a context of the fields of em_ctx_opts.
func Open(opts Options) (*Context, error) {
	c := new(Context)
	return opened(c, c.open(raw.Em_ctx_open(opts.encode(nil))))
}

// Cancel stops everything in it, for good; any goroutine.
func (c *Context) Cancel() {
	raw.Em_ctx_cancel(c.id)
	runtime.KeepAlive(c)
}

// Memory is the budget in bytes, MemoryUsed how much of it is in use.
func (c *Context) Memory() uint64 { return c.size(raw.Em_ctx_memory) }

// MemoryUsed is how many bytes of the budget are in use.
func (c *Context) MemoryUsed() uint64 { return c.size(raw.Em_ctx_memory_used) }

// Stats of what all of its files moved.
func (c *Context) Stats() (Stats, error) { return stats(raw.Em_ctx_io_stats_get(c.id), &c.object) }

// eof is io.EOF for what is at its end.
func eof(err error) error {
	if err == error(end) {
		return io.EOF
	}
	return err
}
