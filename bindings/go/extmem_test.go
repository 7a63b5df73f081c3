// SPDX-License-Identifier: BSL-1.0

package extmem

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"extmem/internal/raw"
)

func context(t *testing.T) *Context {
	ctx, err := Open(Options{"memory": "32M", "dirs": []string{t.TempDir()}})
	check(t, err)
	t.Cleanup(func() { ctx.Close() })
	return ctx
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%v, and not %v", got, want)
	}
}

type visit struct {
	Page   uint32
	Second int16
	Name   [6]byte
	Took   float64
}

func TestPieces(t *testing.T) {
	ctx := context(t)
	all := noise(200000)
	s, err := NewSorter[uint64](ctx, nil, Options{"run_records": 5000})
	check(t, err)
	check(t, s.Push(all...))
	var got []uint64
	for n := 1; ; n = n * 3 % 4099 {
		room := make([]uint64, n)
		k, err := s.Read(room)
		if err == io.EOF {
			break
		}
		check(t, err)
		got = append(got, room[:k]...)
	}
	slices.Sort(all)
	equal(t, slices.Equal(got, all), true)
	equal(t, s.Pushed(), 200000)
	told, err := s.Stats()
	check(t, err)
	if told["phases"].(map[string]any)["runs"] == nil || !strings.Contains(told.JSON(), `"phases"`) {
		t.Fatal(told)
	}
	check(t, s.Clear())
	check(t, s.Push(2, 1))
	for n := range s.All() {
		equal(t, n, 1)
		break
	}
	few := []uint64{3, 1, 2}
	check(t, Sort(ctx, few, nil, nil))
	equal(t, slices.Equal(few, []uint64{1, 2, 3}), true)
}

func TestFieldsAndTypes(t *testing.T) {
	ctx := context(t)
	order, err := NewOrder[visit](ctx, "-Took,Name")
	check(t, err)
	s, err := NewSorter[visit](ctx, order, nil)
	check(t, err)
	check(t, s.Push(visit{1, -1, [6]byte{'b'}, 1}, visit{2, -2, [6]byte{'a'}, 1}, visit{3, -3, [6]byte{'z'}, 2}))
	var pages []uint32
	for v := range s.All() {
		equal(t, int(v.Second), -int(v.Page))
		pages = append(pages, v.Page)
	}
	equal(t, slices.Equal(pages, []uint32{3, 2, 1}), true)
	for _, key := range []string{"None", "Page,"} {
		if _, err = NewOrder[visit](ctx, key); !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
	}
	if _, err = NewSorter[*int](ctx, nil, nil); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if _, err = NewStack[string](ctx, nil); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if _, err = NewSorter[uint32](ctx, order, nil); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if _, err = NewQueue[struct{}](ctx, nil); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
}

func TestOptionsAndErrors(t *testing.T) {
	ctx := context(t)
	for _, opts := range []Options{{"nothing": 1}, {"memory": "much"},
		{"memory": struct{}{}}, {"memory": "1\x00"}} {
		if _, err := NewSorter[uint64](ctx, nil, opts); !errors.Is(err, ErrInvalid) {
			t.Fatal(opts, err)
		}
	}
	order, err := NewTextOrder(ctx, "-t, -k2,2n")
	check(t, err)
	none := filepath.Join(t.TempDir(), "none")
	_, err = SortFile(ctx, order, []string{none}, none+"2", nil)
	var e *Error
	if !errors.As(err, &e) || e.Path != none || e.Errno == 0 || !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if _, err = NewTextOrder(ctx, "-x"); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	ctx, dir := context(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	check(t, os.WriteFile(at("a"), []byte("b,2\na,10\nc,1\n"), 0o600))
	order, err := NewTextOrder(ctx, "-t, -k2,2nr")
	check(t, err)
	var told []string
	tell := func(phase string, _, _ uint64) bool {
		told = append(told, phase)
		return false
	}
	_, err = SortFile(ctx, order, []string{at("a")}, at("b"), Options{"progress": tell})
	check(t, err)
	plain, err := NewTextOrder(ctx, "")
	check(t, err)
	_, first, err := CheckFile(ctx, order, at("b"), nil)
	check(t, err)
	equal(t, string(first), "")
	reverse, err := NewTextOrder(ctx, "-r")
	check(t, err)
	_, first, err = CheckFile(ctx, reverse, at("b"), nil)
	check(t, err)
	equal(t, string(first), "b,2")
	_, err = MergeFiles(ctx, plain, []string{at("b"), at("b")}, at("c"), nil)
	check(t, err)
	_, err = UniqueFile(ctx, plain, []string{at("c")}, at("d"), Options{"sort": Options{"memory": "8M"}})
	check(t, err)
	_, err = TopFile(ctx, reverse, []string{at("c")}, 0, 2, at("e"), nil)
	check(t, err)
	_, err = ShuffleFile(ctx, 0, []string{at("c")}, at("f"), Options{"seed": 3})
	check(t, err)
	for name, want := range map[string]string{"b": "a,10\nb,2\nc,1\n", "d": "a,10\nb,2\nc,1\n", "e": "c,1\nc,1\n"} {
		got, err := os.ReadFile(at(name))
		check(t, err)
		equal(t, string(got), want)
	}
}

func TestFunctions(t *testing.T) {
	ctx := context(t)
	before := raw.Kept()
	all := []uint64{1, 3, 2}
	order, err := NewOrderKeys(ctx, func(some []uint64, keys []uint64) error {
		for i, n := range some {
			keys[i] = ^n
		}
		return nil
	})
	check(t, err)
	check(t, Sort(ctx, all, order, nil))
	equal(t, slices.Equal(all, []uint64{3, 2, 1}), true)
	check(t, order.Close())
	stop := func(string, uint64, uint64) bool { return true }
	s, err := NewSorter[uint64](ctx, nil, Options{"run_records": 1000, "progress": stop})
	check(t, err)
	for data := noise(300000); err == nil; {
		err = s.Push(data...)
	}
	equal(t, errors.Is(err, ErrCanceled), true)
	check(t, s.Close())
	v, err := NewVector[uint64](ctx, nil)
	check(t, err)
	check(t, v.Push(5, 1, 4))
	check(t, v.Mutate(func(at uint64, some []uint64) error {
		for i := range some {
			some[i]++
		}
		return nil
	}))
	at, ok, err := v.Find(func(n *uint64) bool { return *n == 2 })
	if at != 1 || !ok || err != nil {
		t.Fatal(at, ok, err)
	}
	_, ok, err = v.Find(func(n *uint64) bool { return false })
	if ok || err != nil {
		t.Fatal(ok, err)
	}
	equal(t, v.Mutate(func(uint64, []uint64) error { return errMine }), errMine)
	equal(t, raw.Kept(), before)
}

// The call that visits a range of a tree gets whole entries, and hands on an error.
func TestTreeVisit(t *testing.T) {
	ctx := context(t)
	tree, err := NewBTree[uint32, float64](ctx, "", Options{"leaf_bytes": 4096})
	check(t, err)
	for i := range uint32(1000) {
		check(t, tree.Set(2*i, float64(i)/2))
	}
	from, to := uint32(101), uint32(1501)
	for _, bound := range [][2]*uint32{{nil, nil}, {&from, &to}, {nil, &to}, {&to, nil}, {&to, &from}} {
		var got, want []byte
		calls := 0
		see := raw.Visit(func(i uint64, entries []byte) error {
			equal(t, i, uint64(len(got)/12))
			calls++
			got = append(got, entries...)
			return nil
		})
		check(t, only(raw.Em_btree_for_each(tree, keyBytes(bound[0]), keyBytes(bound[1]), see)))
		for key, value := range tree.Range(bound[0], bound[1]) {
			want = append(want, tree.record(&key, &value)...)
		}
		equal(t, bytes.Equal(got, want), true)
		equal(t, bound[0] != nil || bound[1] != nil || calls > 1, true)
	}
	fail := raw.Visit(func(uint64, []byte) error { return errMine })
	equal(t, only(raw.Em_btree_for_each(tree, nil, nil, fail)), errMine)
}

// The call that visits many ranges: out of order, overlapping, empty, and with one end for all.
func TestTreeVisitMany(t *testing.T) {
	ctx := context(t)
	tree, err := NewBTree[uint32, float64](ctx, "", Options{"leaf_bytes": 4096})
	check(t, err)
	for i := range uint32(1000) {
		check(t, tree.Set(2*i, float64(i)/2))
	}
	from, to := []uint32{1201, 101, 400, 7}, []uint32{1900, 1501, 400, 8}
	for _, ends := range [][2][]uint32{{from, to}, {from, nil}, {nil, to}, {{}, {}}} {
		var bytesOfEnds [2][]byte
		for side, keys := range ends {
			if keys != nil {
				bytesOfEnds[side] = bytesOf(keys)
			}
		}
		n := max(len(ends[0]), len(ends[1]))
		got := make([][]byte, n)
		see := raw.Visit(func(i uint64, entries []byte) error {
			got[i] = append(got[i], entries...)
			return nil
		})
		check(t, only(raw.Em_btree_for_each_many(tree, bytesOfEnds[0], bytesOfEnds[1], see)))
		for i := range n {
			var bound [2]*uint32
			for side, keys := range ends {
				if keys != nil {
					bound[side] = &keys[i]
				}
			}
			var want []byte
			for key, value := range tree.Range(bound[0], bound[1]) {
				want = append(want, tree.record(&key, &value)...)
			}
			equal(t, bytes.Equal(got[i], want), true)
		}
	}
	fail := raw.Visit(func(uint64, []byte) error { return errMine })
	err = only(raw.Em_btree_for_each_many(tree, bytesOf(from), bytesOf(to[:2]), fail))
	equal(t, errors.Is(err, ErrInvalid), true)
	equal(t, strings.Contains(err.Error(), "4 ranges begin, and 2 end"), true)
	equal(t, errors.Is(only(raw.Em_btree_for_each_many(tree, nil, nil, fail)), ErrInvalid), true)
	equal(t, only(raw.Em_btree_for_each_many(tree, bytesOf(from), bytesOf(to), fail)), errMine)
}

// What is no text, no function, or closed is told.
func TestMistakes(t *testing.T) {
	ctx := context(t)
	order, err := NewTextOrder(ctx, "")
	check(t, err)
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "a"), []byte("x\n"), 0o600))
	_, err = SortFile(ctx, order, []string{filepath.Join(dir, "a\x00b")}, filepath.Join(dir, "out"), nil)
	equal(t, errors.Is(err, ErrInvalid), true)
	for _, opts := range []Options{{"progress": 1}, {"run_records": "99999999999999999999"}} {
		_, err = NewSorter[uint64](ctx, nil, opts)
		equal(t, errors.Is(err, ErrInvalid), true)
	}
	for _, opts := range []Options{{"log": 1}, {"priority": "x"}, {"priority": 1 << 40}} {
		_, err = Open(opts)
		equal(t, errors.Is(err, ErrInvalid), true)
	}
	v, err := NewVector[uint64](ctx, nil)
	check(t, err)
	check(t, v.Push(1))
	check(t, v.Close())
	for range v.All() {
		t.Fatal("it is closed")
	}
	equal(t, errors.Is(v.Err(), ErrState), true)
	tree, err := NewBTree[uint64, uint64](ctx, "", nil)
	check(t, err)
	check(t, tree.Set(1, 1))
	check(t, tree.Set(2, 2))
	for range tree.All() {
		check(t, tree.Close())
	}
	equal(t, errors.Is(tree.Err(), ErrState), true)
}

func TestContainers(t *testing.T) {
	ctx, dir := context(t), t.TempDir()
	v, err := NewVector[uint32](ctx, nil)
	check(t, err)
	check(t, v.Push(5, 1, 4))
	check(t, v.Sort(ctx, nil, nil))
	var got []uint32
	for i, n := range v.All() {
		equal(t, uint64(len(got)), i)
		got = append(got, n)
	}
	equal(t, slices.Equal(got, []uint32{1, 4, 5}), true)
	got, err = v.ReadMany([]uint64{2, 0})
	check(t, err)
	equal(t, slices.Equal(got, []uint32{5, 1}), true)
	if _, err = v.Get(3); !errors.Is(err, ErrRange) {
		t.Fatal(err)
	}
	d, err := NewDeque[int8](ctx, nil)
	check(t, err)
	check(t, errors.Join(d.PushBack(1, 2), d.PushFront(-1)))
	last, ok, err := d.PopBack()
	if last != 2 || !ok || err != nil || d.Len() != 2 {
		t.Fatal(last, ok, err)
	}
	st, err := NewStack[uint16](ctx, nil)
	check(t, err)
	if n, err := st.PushMany([]uint16{1, 2, 3}); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	room := make([]uint16, 9)
	n, err := st.PopMany(room)
	check(t, err)
	equal(t, slices.Equal(room[:n], []uint16{1, 2, 3}), true)
	if _, err = st.PopMany(room); err != io.EOF {
		t.Fatal(err)
	}
	if _, ok, err = st.Pop(); ok || err != nil {
		t.Fatal(ok, err)
	}
	q, err := NewPriorityQueue[uint64](ctx, nil, nil)
	check(t, err)
	_, err = q.PushMany([]uint64{4, 2, 1<<64 - 1})
	check(t, err)
	first, err := q.PushPop(3)
	check(t, err)
	equal(t, first, 2)
	some := make([]uint64, 2)
	n, err = q.PopUntil(9, false, some)
	check(t, err)
	equal(t, slices.Equal(some[:n], []uint64{3, 4}), true)
	equal(t, q.Len(), 1)
	tree, err := NewBTree[uint32, float64](ctx, "", nil)
	check(t, err)
	for i := range uint32(1000) {
		check(t, tree.Set(i, float64(i)/2))
		check(t, tree.Set(i, float64(i)/2))
	}
	equal(t, tree.Len(), 1000)
	from, to := uint32(5), uint32(998)
	in, err := tree.Count(nil, &from)
	check(t, err)
	equal(t, in, 6)
	in, err = tree.DeleteRange(nil, &to)
	check(t, err)
	equal(t, in, 998)
	check(t, tree.Save(filepath.Join(dir, "tree")))
	again, err := OpenBTree[uint32, float64](ctx, filepath.Join(dir, "tree"), "", nil)
	check(t, err)
	check(t, again.Verify())
	key, value, ok, err := again.Max()
	if key != 999 || value != 499.5 || !ok || err != nil {
		t.Fatal(key, value, ok, err)
	}
	if _, ok, err = again.Get(1); ok || err != nil {
		t.Fatal(ok, err)
	}
}

func TestCollected(t *testing.T) {
	ctx := context(t)
	before := ctx.MemoryUsed()
	for range 4 {
		st, err := NewStack[uint64](ctx, nil)
		check(t, err)
		check(t, st.Push(1))
	}
	equal(t, ctx.MemoryUsed() > before, true)
	for i := 0; i < 400 && ctx.MemoryUsed() > before; i++ {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	equal(t, ctx.MemoryUsed(), before)
	for range 20000 {
		order, err := NewOrder[uint64](ctx, "")
		check(t, err)
		check(t, order.Close())
	}
	equal(t, ctx.MemoryUsed(), before)
}

func TestDropped(t *testing.T) {
	ctx, err := Open(Options{"memory": "8M", "dirs": []string{t.TempDir()}})
	check(t, err)
	defer ctx.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // Nothing else has it collect.
	for range 1000 {
		_, err := NewSorter[uint64](ctx, nil, Options{"memory": "1M"})
		check(t, err)
		_, err = NewVector[uint64](ctx, nil)
		check(t, err)
		_, err = NewBTree[uint64, uint64](ctx, "", nil)
		check(t, err)
	}
}

// A function of an order that fails when progress is due is what the object says.
func TestFailsLate(t *testing.T) {
	ctx := context(t)
	mine := errors.New("mine")
	order, err := NewOrderKeys(ctx, func([]uint64, []uint64) error {
		time.Sleep(300 * time.Millisecond)
		return mine
	})
	check(t, err)
	s, err := NewSorter[uint64](ctx, order, Options{"run_records": 1000,
		"progress": func(string, uint64, uint64) bool { return false }})
	check(t, err)
	err = errors.Join(s.Push(noise(300000)...), s.Finish())
	if !errors.Is(err, mine) || errors.Is(err, ErrCanceled) {
		t.Fatal(err)
	}
	if err = s.Push(1); !errors.Is(err, ErrUser) {
		t.Fatal(err)
	}
}

func TestGoroutines(t *testing.T) {
	ctx := context(t)
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			order, err := NewOrderKeys(ctx, func(some []uint64, keys []uint64) error {
				runtime.Gosched()
				copy(keys, some)
				return nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			data := noise(10000)
			if err = Sort(ctx, data, order, Options{"memory": "4M"}); err != nil || !slices.IsSorted(data) {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	// One object used by two at a time says so, and nothing crashes; one that is closed meanwhile is canceled.
	s, err := NewSorter[uint64](ctx, nil, Options{"run_records": 1000})
	check(t, err)
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			data := noise(1000)
			for range 50 {
				err := s.Push(data...)
				if err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrState) &&
					!errors.Is(err, ErrCanceled) {
					t.Error(err)
				}
			}
			s.Close()
		}()
	}
	all.Wait()
	equal(t, s.Closed(), true)
}
