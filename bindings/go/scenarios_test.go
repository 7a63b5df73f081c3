// SPDX-License-Identifier: BSL-1.0

package extmem

import (
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The scenarios that the tests of all languages run: bindings/scenarios.txt.

func parse(t *testing.T, text string) []uint64 {
	if text == "-" {
		return nil
	}
	var all []uint64
	for _, word := range strings.Fields(text) {
		if n, err := strconv.ParseUint(word, 10, 64); err == nil {
			all = append(all, n)
		} else if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			all = append(all, uint64(n))
		} else {
			t.Fatal(err)
		}
	}
	return all
}

func as[T cmp.Ordered](all []uint64, to func(uint64) T) []T {
	var out []T
	for _, n := range all {
		out = append(out, to(n))
	}
	return out
}

func i64(n uint64) int64 { return int64(n) }
func i32(n uint64) int32 { return int32(n) }

func back[T int32 | int64 | uint64](all []T) []uint64 {
	var out []uint64
	for _, n := range all {
		out = append(out, uint64(n))
	}
	return out
}

func sorted[T int32 | int64 | uint64](ctx *Context, all []T, opts Options) ([]uint64, error) {
	s, err := NewSorter[T](ctx, nil, opts)
	if err != nil {
		return nil, err
	}
	if err = s.Push(all...); err != nil {
		return nil, err
	}
	out := slices.Collect(s.All())
	return back(out), s.Err()
}

func popped[T int32 | int64 | uint64](ctx *Context, all []T) ([]uint64, error) {
	q, err := NewPriorityQueue[T](ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		if err = q.Push(n); err != nil {
			return nil, err
		}
	}
	out := slices.Collect(q.Drain())
	return back(out), q.Err()
}

type pair struct{ A, B uint64 }

var errMine = errors.New("of the caller")

func noise(n int) []uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]uint64, n)
	for i := range all {
		all[i] = r.Uint64()
	}
	return all
}

type run func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error)

var runs = map[string]run{
	"sort": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		switch a[0] {
		case "i64":
			return sorted(ctx, as(parse(t, a[1]), i64), nil)
		case "i32":
			return sorted(ctx, as(parse(t, a[1]), i32), nil)
		}
		return sorted(ctx, parse(t, a[1]), nil)
	},
	"sort2": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		order, err := NewOrder[pair](ctx, a[0])
		if err != nil {
			return nil, err
		}
		s, err := NewSorter[pair](ctx, order, nil)
		if err != nil {
			return nil, err
		}
		second := parse(t, a[2])
		for i, n := range parse(t, a[1]) {
			if err = s.Push(pair{n, second[i]}); err != nil {
				return nil, err
			}
		}
		var first []uint64
		second = nil
		for p := range s.All() {
			first, second = append(first, p.A), append(second, p.B)
		}
		if !slices.Equal(first, parse(t, a[3])) {
			t.Fatal(first)
		}
		return second, s.Err()
	},
	"unique": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		return sorted(ctx, parse(t, a[1]), Options{"flags": SortUnique})
	},
	"top": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		s, err := NewTop[uint64](ctx, nil, 0, parse(t, a[1])[0], nil)
		if err != nil {
			return nil, err
		}
		if err = s.Push(parse(t, a[2])...); err != nil {
			return nil, err
		}
		return slices.Collect(s.All()), s.Err()
	},
	"lines": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		order, err := NewTextOrder(ctx, a[0])
		if err != nil {
			return nil, err
		}
		s, err := NewLines(ctx, order, nil)
		if err != nil {
			return nil, err
		}
		if err = s.Push(strings.Split(a[1], "|")...); err != nil {
			return nil, err
		}
		if got := strings.Join(slices.Collect(s.All()), "|"); got != a[2] {
			t.Fatal(got)
		}
		return nil, s.Err()
	},
	"heap": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		if a[0] == "i64" {
			return popped(ctx, as(parse(t, a[1]), i64))
		}
		return popped(ctx, parse(t, a[1]))
	},
	"radix": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		h, err := NewRadixHeap[uint64](ctx, "", nil)
		if err != nil {
			return nil, err
		}
		if _, err = h.PushMany(parse(t, a[0])); err != nil {
			return nil, err
		}
		return slices.Collect(h.Drain()), h.Err()
	},
	"late": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		h, err := NewRadixHeap[uint64](ctx, "", nil)
		if err != nil {
			return nil, err
		}
		if _, err = h.PushMany(parse(t, a[0])); err != nil {
			return nil, err
		}
		for range parse(t, a[1])[0] {
			if _, ok, err := h.Pop(); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		return nil, h.Push(parse(t, a[2])[0])
	},
	"tree": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		tree, err := NewBTree[uint64, uint64](ctx, "", nil)
		if err != nil {
			return nil, err
		}
		for _, key := range parse(t, a[0]) {
			if err = tree.Set(key, 2*key); err != nil {
				return nil, err
			}
		}
		for _, key := range parse(t, a[1]) {
			if ok, err := tree.Delete(key); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		var keys []uint64
		for key, value := range tree.All() {
			if value != 2*key {
				t.Fatal(key, value)
			}
			keys = append(keys, key)
		}
		return keys, tree.Err()
	},
	"range": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		tree, err := NewBTree[uint64, struct{}](ctx, "", nil)
		if err != nil {
			return nil, err
		}
		for _, key := range parse(t, a[0]) {
			if err = tree.Set(key, struct{}{}); err != nil {
				return nil, err
			}
		}
		from, to := parse(t, a[1])[0], parse(t, a[2])[0]
		var keys []uint64
		for key := range tree.Range(&from, &to) {
			keys = append(keys, key)
		}
		return keys, tree.Err()
	},
	"vector": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		path := filepath.Join(dir, "vector")
		v, err := NewVector[uint64](ctx, Options{"path": path, "flags": VectorCreate})
		if err != nil {
			return nil, err
		}
		if err = errors.Join(v.Push(parse(t, a[0])...), v.Flush(false), v.Close()); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var all []uint64
		for ; len(data) > 0; data = data[8:] {
			all = append(all, binary.LittleEndian.Uint64(data))
		}
		return all, nil
	},
	"callback": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		opts, data := Options{"run_records": 1000}, noise(300000)
		var order *Order
		var err error
		switch a[0] {
		case "progress":
			opts["progress"] = func(string, uint64, uint64) bool { panic(errMine) }
		case "key":
			order, err = NewOrderKeys(ctx, func([]uint64, []uint64) error { return errMine })
		case "cmp":
			order, err = NewOrderCmp(ctx, func(*uint64, *uint64) int { panic(errMine) })
		}
		if err != nil {
			return nil, err
		}
		s, err := NewSorter[uint64](ctx, order, opts)
		if err != nil {
			return nil, err
		}
		// Progress is told five times a second at least: so this goes on until that is so.
		func() {
			defer func() {
				if p := recover(); p != nil {
					err = p.(error)
				}
			}()
			for err == nil {
				if err = s.Push(data...); err == nil && a[0] != "progress" {
					err = s.Finish()
				}
			}
		}()
		if err != errMine {
			t.Fatal(err)
		}
		return nil, s.Push(1)
	},
	"full": func(t *testing.T, _ *Context, dir string, a []string) ([]uint64, error) {
		ctx, err := Open(Options{"memory": "4M", "scratch_max": parse(t, a[0])[0]})
		if err != nil {
			return nil, err
		}
		defer ctx.Close()
		s, err := NewSorter[uint64](ctx, nil, nil)
		if err != nil {
			return nil, err
		}
		if err = s.Push(noise(int(parse(t, a[1])[0]))...); err != nil {
			return nil, err
		}
		return nil, s.Finish()
	},
	"memory": func(t *testing.T, _ *Context, dir string, a []string) ([]uint64, error) {
		_, err := Open(Options{"memory": a[0]})
		return nil, err
	},
	"closed": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		s, err := NewSorter[uint64](ctx, nil, nil)
		v, err2 := NewVector[uint64](ctx, nil)
		tree, err3 := NewBTree[uint64, uint64](ctx, "", nil)
		q, err4 := NewPriorityQueue[uint64](ctx, nil, nil)
		if err = errors.Join(err, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err = errors.Join(s.Close(), v.Close(), tree.Close(), q.Close()); err != nil || !s.Closed() {
				t.Fatal(err)
			}
		}
		switch a[0] {
		case "sorter":
			return nil, s.Push(1)
		case "vector":
			return nil, v.Push(1)
		case "tree":
			_, _, err = tree.Get(1)
			return nil, err
		}
		return nil, q.Push(1)
	},
	"misorder": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		s, err := NewSorter[uint64](ctx, nil, nil)
		if err != nil {
			return nil, err
		}
		if err = s.Push(parse(t, a[0])...); err != nil {
			return nil, err
		}
		if _, err = s.Next(make([]uint64, 1)); !errors.Is(err, ErrState) {
			t.Fatal(err)
		}
		return slices.Collect(s.All()), s.Err()
	},
	"reentry": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		var s *Sorter[uint64]
		var inner error
		push := func(string, uint64, uint64) bool {
			inner = s.Push(1)
			return false
		}
		s, err := NewSorter[uint64](ctx, nil, Options{"run_records": 1000, "progress": push})
		for data := noise(300000); err == nil && inner == nil; {
			err = s.Push(data...)
		}
		return nil, errors.Join(err, inner)
	},
	"batch": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		s, err := NewSorter[uint64](ctx, nil, nil)
		if err != nil {
			return nil, err
		}
		if err = s.Push(parse(t, a[0])...); err != nil {
			return nil, err
		}
		batch := slices.Collect(s.All())
		s.Close()
		// A copy.
		slices.Sort(batch)
		want := parse(t, a[0])
		slices.Sort(want)
		if !slices.Equal(batch, want) {
			t.Fatal(batch)
		}
		return nil, nil
	},
	"missing": func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		order, err := NewTextOrder(ctx, "")
		if err != nil {
			return nil, err
		}
		_, err = SortFile(ctx, order, []string{filepath.Join(dir, a[0])}, filepath.Join(dir, "out"), nil)
		if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return nil, err
	},
}

// leave adds what loops see that are left at the first and at the second record, and what another one sees.
func leave[T any](t *testing.T, seen *[]T, all func() iter.Seq[T], failed func() error) {
	for stop := range 3 {
		n := 0
		for one := range all() {
			*seen = append(*seen, one)
			if n++; n == stop+1 && stop < 2 {
				break
			}
		}
	}
	check(t, failed())
}

func streamed(t *testing.T, ctx *Context, text string) *Stream[uint64] {
	all := parse(t, text)
	s, err := StreamOf(ctx, func() ([]uint64, error) {
		some := all
		all = nil
		return some, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func init() {
	runs["leave"] = func(t *testing.T, ctx *Context, dir string, a []string) (seen []uint64, err error) {
		switch a[0] {
		case "stream":
			s := streamed(t, ctx, a[1])
			leave(t, &seen, s.All, s.Err)
		case "top":
			s, err := NewTop[uint64](ctx, nil, 0, 100, nil)
			check(t, err)
			check(t, s.Push(parse(t, a[1])...))
			leave(t, &seen, s.All, s.Err)
		default:
			s, err := NewSorter[uint64](ctx, nil, nil)
			check(t, err)
			check(t, s.Push(parse(t, a[1])...))
			for one := range s.All() {
				seen = append(seen, one)
				break
			}
			room := make([]uint64, 1)
			_, err = s.Next(room)
			check(t, err)
			seen = append(seen, room...)
			leave(t, &seen, s.All, s.Err)
		}
		return seen, nil
	}
	runs["stream"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		order, err := NewOrder[uint64](ctx, "")
		more, err2 := MapStream(streamed(t, ctx, a[0]), func(some []uint64) ([]uint64, error) {
			out := slices.Clone(some)
			for i := range out {
				out[i]++
			}
			return out, nil
		})
		if err = errors.Join(err, err2); err != nil {
			return nil, err
		}
		sorted, err := more.Sort(order, nil)
		if err != nil {
			return nil, err
		}
		s, err := sorted.Unique(order)
		if err != nil {
			return nil, err
		}
		return slices.Collect(s.All()), s.Err()
	}
	runs["set"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		order, err := NewOrder[uint64](ctx, "")
		if err != nil {
			return nil, err
		}
		how := map[string]uint{"union": Union, "symmetric": Symmetric}[a[0]]
		s, err := streamed(t, ctx, a[1]).Set(how, streamed(t, ctx, a[2]), order)
		if err != nil {
			return nil, err
		}
		return slices.Collect(s.All()), s.Err()
	}
	runs["told"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		some := make([]uint64, parse(t, a[0])[0])
		endless := func(fn func(phase uint, done, total uint64) bool) *Stream[uint64] {
			s, err := StreamOf(ctx, func() ([]uint64, error) { return some, nil })
			if err == nil {
				s, err = s.Progress(fn)
			}
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		pull := func(s *Stream[uint64]) (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = p.(error)
				}
			}()
			for err == nil {
				_, err = s.Next()
			}
			return err
		}
		if err := pull(endless(func(phase uint, done, total uint64) bool {
			return phase == 1 && done%uint64(len(some)) == 0 && total == 0
		})); !errors.Is(err, ErrCanceled) {
			t.Fatal(err)
		}
		s := endless(func(uint, uint64, uint64) bool { panic(errMine) })
		if err := pull(s); err != errMine {
			t.Fatal(err)
		}
		_, err := s.Next()
		return nil, err
	}
	runs["broken"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		fail := func([]uint64) ([]uint64, error) { return nil, errMine }
		s, err := MapStream(streamed(t, ctx, a[0]), fail)
		if err != nil {
			return nil, err
		}
		if _, err = s.Next(); err != errMine {
			t.Fatal(err)
		}
		_, err = s.Next()
		return nil, err
	}
}

func add(sum *pair, more []pair) error {
	for _, p := range more {
		sum.B += p.B
	}
	return nil
}

func pairs(t *testing.T, a []string) []pair {
	var all []pair
	counts := parse(t, a[1])
	for i, n := range parse(t, a[0]) {
		all = append(all, pair{n, counts[i]})
	}
	return all
}

func flat(s *Stream[pair]) ([]uint64, error) {
	var all []uint64
	for p := range s.All() {
		all = append(all, p.A, p.B)
	}
	return all, s.Err()
}

// formed are runs of what was pushed, and of a sorted sequence.
func formed(t *testing.T, ctx *Context, pushed, sorted []uint64) *Runs[uint64] {
	r, err := NewRuns[uint64](ctx, nil, nil, nil)
	check(t, err)
	check(t, errors.Join(r.Push(pushed...), r.Append(sorted...), r.Finish()))
	return r
}

func bound(t *testing.T, text string) *uint64 {
	if all := parse(t, text); all != nil {
		return &all[0]
	}
	return nil
}

func lineFile(t *testing.T, dir, text string) string {
	f, err := os.CreateTemp(dir, "lines")
	check(t, err)
	_, err = f.WriteString(strings.ReplaceAll(text, "|", "\n") + "\n")
	check(t, errors.Join(err, f.Close()))
	return f.Name()
}

func lineStream(t *testing.T, ctx *Context, dir, text string) *Stream[string] {
	s, err := StreamLines(ctx, nil, lineFile(t, dir, text))
	check(t, err)
	return s
}

// told are the lines of streams, with "|" between.
func told(t *testing.T, all ...*Stream[string]) string {
	var lines []string
	for _, s := range all {
		lines = slices.AppendSeq(lines, s.All())
		check(t, errors.Join(s.Err(), s.Close()))
	}
	return strings.Join(lines, "|")
}

func init() {
	runs["split"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		q, err := NewQueue[uint64](ctx, nil)
		check(t, err)
		odd, err := q.Sink()
		check(t, err)
		s, err := streamed(t, ctx, a[0]).Split(func(n *uint64) uint32 { return uint32(*n % 2) }, odd)
		check(t, err)
		all := slices.Collect(s.All())
		check(t, errors.Join(s.Err(), odd.Finish()))
		return append(all, slices.Collect(q.Drain())...), q.Err()
	}
	runs["runs"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		part := Part[uint64]{From: bound(t, a[2]), To: bound(t, a[3])}
		if n := bound(t, a[4]); n != nil {
			part.Skip = *n
		}
		if n := bound(t, a[5]); n != nil {
			part.Take = *n
		}
		s, err := formed(t, ctx, parse(t, a[0]), parse(t, a[1])).Merge(part)
		check(t, err)
		return slices.Collect(s.All()), s.Err()
	}
	runs["twice"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		r := formed(t, ctx, parse(t, a[0]), nil)
		first, err := r.Merge(Part[uint64]{})
		check(t, err)
		second, err := r.Merge(Part[uint64]{})
		check(t, errors.Join(err, r.Close(), first.Batch(1), second.Batch(1)))
		if !r.Closed() {
			t.Fatal("it is not closed")
		}
		var all []uint64
		for n := range first.All() {
			other, err := second.Next()
			check(t, err)
			all = append(all, n, other[0])
		}
		return all, errors.Join(first.Err(), first.Close(), second.Close())
	}
	runs["early"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		r, err := NewRuns[uint64](ctx, nil, nil, nil)
		check(t, err)
		s, err := r.Merge(Part[uint64]{})
		check(t, errors.Join(err, r.Push(parse(t, a[0])...)))
		if _, err = s.Next(); !errors.Is(err, ErrState) {
			t.Fatal(err)
		}
		check(t, r.Finish())
		return slices.Collect(s.All()), s.Err()
	}
	runs["combine"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		order, err := NewOrder[pair](ctx, "A")
		check(t, err)
		r, err := NewRuns(ctx, order, add, nil)
		check(t, err)
		check(t, errors.Join(r.Push(pairs(t, a)...), r.Finish()))
		s, err := r.Merge(Part[pair]{})
		check(t, err)
		return flat(s)
	}
	runs["totals"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		order, err := NewOrder[pair](ctx, "A")
		check(t, err)
		in, err := StreamSeq(ctx, slices.Values(pairs(t, a)))
		check(t, err)
		s, err := in.SortReduce(order, nil, add)
		check(t, err)
		return flat(s)
	}
	runs["sour"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		r, err := NewRuns(ctx, nil, func(*uint64, []uint64) error { return errMine }, nil)
		check(t, err)
		if err = errors.Join(r.Push(parse(t, a[0])...), r.Finish()); !errors.Is(err, errMine) {
			t.Fatal(err)
		}
		return nil, r.Push(1)
	}
	runs["text"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		order, err := NewTextOrder(ctx, a[0])
		check(t, err)
		all, err := StreamLines(ctx, nil, lineFile(t, dir, a[1]))
		check(t, err)
		some, err := all.Filter(func(line *string) bool { return !strings.HasPrefix(*line, "#") })
		check(t, err)
		s, err := some.Sort(order, nil)
		check(t, err)
		n, err := s.ToFile(filepath.Join(dir, "out"))
		check(t, err)
		got, err := os.ReadFile(filepath.Join(dir, "out"))
		want := strings.Split(a[2], "|")
		if n != uint64(len(want)) || string(got) != strings.Join(want, "\n")+"\n" {
			t.Fatal(n, string(got))
		}
		return nil, err
	}
	runs["lengths"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		all, err := StreamLines(ctx, nil, lineFile(t, dir, a[0]))
		check(t, err)
		s, err := MapStream(all, func(lines []string) (out []uint64, err error) {
			for _, line := range lines {
				out = append(out, uint64(len(line)))
			}
			return out, nil
		})
		check(t, err)
		return slices.Collect(s.All()), s.Err()
	}
}

// Scenarios of lines, and what has to come of them.
func init() {
	joins := map[string]uint{
		"inner": InnerJoin, "left": LeftJoin, "full": FullJoin, "semi": SemiJoin, "anti": AntiJoin,
	}
	one := func(line *string) string {
		if line == nil {
			return "-"
		}
		return *line
	}
	kinds := map[string]func(t *testing.T, ctx *Context, dir string, a []string) string{
		"linejoin": func(t *testing.T, ctx *Context, dir string, a []string) string {
			s, err := JoinLines(joins[a[0]], lineStream(t, ctx, dir, a[4]), lineStream(t, ctx, dir, a[5]),
				a[1], a[2], strings.Trim(a[3], "-"))
			check(t, err)
			return told(t, s)
		},
		"linepairs": func(t *testing.T, ctx *Context, dir string, a []string) string {
			s, err := JoinStreams(joins[a[0]], lineStream(t, ctx, dir, a[3]), lineStream(t, ctx, dir, a[4]),
				a[1], a[2],
				func(x, y *string) (string, error) { return one(x) + "+" + one(y), nil })
			check(t, err)
			return told(t, s)
		},
		"lineleave": func(t *testing.T, ctx *Context, dir string, a []string) string {
			s, err := NewLines(ctx, nil, nil)
			check(t, err)
			check(t, s.Push(strings.Split(a[0], "|")...))
			var seen []string
			leave(t, &seen, s.All, s.Err)
			return strings.Join(seen, "|")
		},
		"linetee": func(t *testing.T, ctx *Context, dir string, a []string) string {
			x, y, err := lineStream(t, ctx, dir, a[0]).Tee(true)
			check(t, err)
			return told(t, x, y)
		},
		"lineset": func(t *testing.T, ctx *Context, dir string, a []string) string {
			order, err := NewTextOrder(ctx, "")
			check(t, err)
			how := map[string]uint{"union": Union, "difference": Difference}[a[0]]
			s, err := lineStream(t, ctx, dir, a[1]).Set(how, lineStream(t, ctx, dir, a[2]), order)
			check(t, err)
			return told(t, s)
		},
		"linesum": func(t *testing.T, ctx *Context, dir string, a []string) string {
			order, err := NewTextOrder(ctx, a[0])
			check(t, err)
			s, err := lineStream(t, ctx, dir, a[1]).Reduce(order, func(sum *string, more []string) error {
				*sum = strings.Join(append([]string{*sum}, more...), "+")
				return nil
			})
			check(t, err)
			return told(t, s)
		},
		"linewords": func(t *testing.T, ctx *Context, dir string, a []string) string {
			s, err := FlatMapStream(lineStream(t, ctx, dir, a[0]), func(lines []string) ([]string, error) {
				return strings.Fields(strings.Join(lines, " ")), nil
			})
			check(t, err)
			return told(t, s)
		},
		"linesplit": func(t *testing.T, ctx *Context, dir string, a []string) string {
			path := filepath.Join(dir, "sent")
			sent, err := SinkFile[string](ctx, path, nil)
			check(t, err)
			s, err := lineStream(t, ctx, dir, a[0]).Split(func(line *string) uint32 {
				if strings.HasPrefix(*line, "#") {
					return 1
				}
				return 0
			}, sent)
			check(t, err)
			stays := told(t, s)
			check(t, sent.Finish())
			others, err := StreamLines(ctx, nil, path)
			check(t, err)
			return stays + "|" + told(t, others)
		},
		"linecount": func(t *testing.T, ctx *Context, dir string, a []string) string {
			order, err := NewTextOrder(ctx, a[0])
			check(t, err)
			merged, err := lineStream(t, ctx, dir, a[1]).Merge(order, lineStream(t, ctx, dir, a[2]))
			check(t, err)
			s, err := UniqueCounted[string, string](merged, order)
			check(t, err)
			return strings.ReplaceAll(told(t, s), "\t", ":")
		},
	}
	for kind, fn := range kinds {
		runs[kind] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
			if got := fn(t, ctx, dir, a); got != a[len(a)-1] {
				t.Fatal(got)
			}
			return nil, nil
		}
	}
	runs["linesour"] = func(t *testing.T, ctx *Context, dir string, a []string) ([]uint64, error) {
		s, err := JoinStreams(InnerJoin, lineStream(t, ctx, dir, a[0]), lineStream(t, ctx, dir, a[0]), "", "",
			func(x, y *string) (string, error) { return "", errMine })
		check(t, err)
		if _, err = s.Next(); err != errMine {
			t.Fatal(err)
		}
		_, err = s.Next()
		return nil, err
	}
}

func TestScenarios(t *testing.T) {
	src := os.Getenv("EM_SRCDIR")
	if src == "" {
		src = "../.."
	}
	data, err := os.ReadFile(filepath.Join(src, "bindings", "scenarios.txt"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		n++
		t.Run(fields[0], func(t *testing.T) {
			kind, expected := fields[1], fields[len(fields)-1]
			ctx, err := Open(Options{"memory": "16M", "dirs": []string{t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			defer ctx.Close()
			got, err := runs[kind](t, ctx, t.TempDir(), fields[2:])
			var e *Error
			switch {
			case strings.HasPrefix(expected, "!EM"):
				if !errors.As(err, &e) || e.Status.Name() != expected[1:] || !errors.Is(err, e.Status) {
					t.Fatalf("%v, and not %s", err, expected)
				}
			case strings.HasPrefix(kind, "line") || kind == "text" || expected == "!":
				if err != nil {
					t.Fatal(err)
				}
			case err != nil || !slices.Equal(got, parse(t, expected)):
				t.Fatal(got, err)
			}
		})
	}
	if n < 30 {
		t.Fatal("scenarios are missing")
	}
}
