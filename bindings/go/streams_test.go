// SPDX-License-Identifier: BSL-1.0

package extmem

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"extmem/internal/raw"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func collected[T comparable](t *testing.T, s *Stream[T], want ...T) {
	t.Helper()
	got := slices.Collect(s.All())
	if s.Err() != nil || !slices.Equal(got, want) {
		t.Fatal(got, want, s.Err())
	}
}

func TestStreams(t *testing.T) {
	ctx := must[*Context](t)(Open(Options{"memory": "16M", "dirs": []string{t.TempDir()}}))
	defer ctx.Close()
	order := must[*Order](t)(NewOrder[uint64](ctx, ""))
	numbers := must[*Stream[uint64]](t)
	pairs := must[*Stream[pair]](t)
	of := func(all ...uint64) *Stream[uint64] { return numbers(StreamSeq(ctx, slices.Values(all))) }

	collected(t, numbers(of(1, 2, 3).Filter(func(n *uint64) bool { return *n != 2 })), 1, 3)
	collected(t, must[*Stream[int32]](t)(FlatMapStream(of(1, 2), func(some []uint64) (out []int32, err error) {
		for _, n := range some {
			out = append(out, int32(n), -int32(n))
		}
		return out, nil
	})), 1, -1, 2, -2)
	seen := uint64(0)
	shown := numbers(of(1, 1, 2).Inspect(func(some []uint64) error {
		for _, n := range some {
			seen += n
		}
		return nil
	}))
	collected(t, numbers(shown.Reduce(order, func(sum *uint64, some []uint64) error {
		for _, n := range some {
			*sum += n
		}
		return nil
	})), 2, 2)
	if seen != 4 {
		t.Fatal(seen)
	}
	collected(t, pairs(UniqueCounted[uint64, pair](of(7, 7), order)), pair{7, 2})
	collected(t, numbers(numbers(of(1, 2).Concat(of(9), of(8))).Slice(1, 2)), 2, 9)
	collected(t, numbers(of(1, 5).Merge(order, of(2), of(3))), 1, 2, 3, 5)
	collected(t, pairs(ZipStreams[uint64, uint64, pair](of(1, 5), of(2))), pair{1, 2})
	collected(t, numbers(JoinStreams(LeftJoin, of(1, 2, 2), of(2, 3), ".", ".", func(a, b *uint64) (uint64, error) {
		if b == nil {
			return 10 * *a, nil
		}
		return 10**a + *b, nil
	})), 10, 22, 22)
	collected(t, numbers(of(1, 2).Reverse()), 2, 1)
	collected(t, pairs(WindowStream[uint64, pair](of(1, 2, 3), 2, 1)), pair{1, 2}, pair{2, 3})
	a, b, err := of(4, 1).Tee(true)
	if err != nil {
		t.Fatal(err)
	}
	collected(t, a, 4, 1)
	collected(t, numbers(b.PrefixSum("")), 4, 5)

	// Where streams go to, and come from.
	s := must[*Sorter[uint64]](t)(NewSorter[uint64](ctx, nil, nil))
	q := must[*Queue[uint64]](t)(NewQueue[uint64](ctx, nil))
	v := must[*Vector[uint64]](t)(NewVector[uint64](ctx, nil))
	path := filepath.Join(t.TempDir(), "out")
	count := must[uint64](t)
	if count(of(2, 1).To(s)) != 2 || count(of(3).To(q)) != 1 || count(of(5, 6).ToVector(v, 0)) != 2 {
		t.Fatal("moved")
	}
	if count(numbers(StreamSeq(ctx, s.All())).ToFile(path)) != 2 {
		t.Fatal("file")
	}
	collected(t, numbers(StreamFiles[uint64](ctx, path, path)), 1, 2, 1, 2)
	collected(t, numbers(StreamSeq(ctx, q.Drain())), 3)
	many := make([]uint64, 5000)
	for i := range many {
		many[i] = uint64(i)
	}
	collected(t, of(many...), many...)
	// A function of several streams is an iterator over theirs.
	collected(t, numbers(StreamSeq(ctx, func(yield func(uint64) bool) {
		odd, even := of(1, 3, 5), of(2, 4)
		next, stop := iter.Pull(even.All())
		defer stop()
		for n := range odd.All() {
			other, is := next()
			if !yield(n) || is && !yield(10*other) {
				return
			}
		}
	})), 1, 20, 3, 40, 5)

	// What fails.
	broken := numbers(MapStream(of(1), func(some []uint64) ([]uint64, error) { return nil, nil }))
	if _, err := broken.Next(); !errors.Is(err, ErrUser) {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() != "mine" {
				t.Fatal("no panic")
			}
		}()
		_, _ = numbers(StreamSeq(ctx, func(func(uint64) bool) { panic("mine") })).Next()
	}()
	in := of(1)
	out := numbers(in.Slice(0, 1))
	if _, err := in.Next(); !errors.Is(err, ErrState) || !in.Closed() {
		t.Fatal(err)
	}
	collected(t, out, 1)
	if _, err := out.Next(); err != io.EOF {
		t.Fatal(err)
	}
}

// What is closed half-way, or collected, leaves no functions behind.
func TestStreamsLeaveNothing(t *testing.T) {
	ctx := must[*Context](t)(Open(Options{"memory": "16M", "dirs": []string{t.TempDir()}}))
	defer ctx.Close()
	before := raw.Kept()
	endless := func(yield func(uint64) bool) {
		for i := uint64(0); yield(i); i++ {
		}
	}
	same := func(some []uint64) ([]uint64, error) { return some, nil }
	for i := 0; i < 200; i++ {
		numbers := must[*Stream[uint64]](t)
		one := numbers(MapStream(numbers(StreamSeq(ctx, endless)), same))
		two := numbers(MapStream(numbers(StreamSeq(ctx, endless)), same))
		a, b, err := numbers(one.Concat(two)).Tee(false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = a.Next(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			a.Close()
			b.Close()
		}
	}
	for i := 0; i < 400 && raw.Kept() > before; i++ {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	if raw.Kept() > before {
		t.Fatal(raw.Kept(), before)
	}
}

// Containers, sorters and runs as sources and sinks, closed and collected in any order.
func TestSourcesAndSinks(t *testing.T) {
	ctx := must[*Context](t)(Open(Options{"memory": "16M", "dirs": []string{t.TempDir()}}))
	defer ctx.Close()
	numbers, sinks := must[*Stream[uint64]](t), must[*Sink[uint64]](t)
	v := must[*Vector[uint64]](t)(NewVector[uint64](ctx, nil))
	d := must[*Deque[uint64]](t)(NewDeque[uint64](ctx, nil))
	st := must[*Stack[uint64]](t)(NewStack[uint64](ctx, nil))
	pq := must[*PriorityQueue[uint64]](t)(NewPriorityQueue[uint64](ctx, nil, nil))
	s := must[*Sorter[uint64]](t)(NewSorter[uint64](ctx, nil, nil))
	tree := must[*BTree[uint64, uint64]](t)(NewBTree[uint64, uint64](ctx, "", nil))
	for _, k := range []*Sink[uint64]{
		sinks(v.Sink(0)), sinks(d.Sink()), sinks(st.Sink()), sinks(pq.Sink()), sinks(s.Sink())} {
		check(t, errors.Join(k.Push(3, 1, 2), k.Finish()))
		equal(t, k.Count(), 3)
		if err := k.Push(1); !errors.Is(err, ErrState) {
			t.Fatal(err)
		}
		check(t, k.Close())
	}
	check(t, errors.Join(tree.Set(1, 10), tree.Set(2, 20), tree.Set(3, 30)))
	collected(t, numbers(v.Stream(1, Unknown)), 1, 2)
	collected(t, numbers(d.Stream(0, 2)), 3, 1)
	collected(t, numbers(st.Stream()), 2, 1, 3)
	collected(t, numbers(s.Stream()), 1, 2, 3)
	from := uint64(2)
	collected(t, must[*Stream[pair]](t)(StreamTree[pair](tree, &from, nil)), pair{2, 20}, pair{3, 30})
	if _, err := StreamTree[uint64](tree, nil, nil); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}

	// What a stream is on is closed behind it, and what it leads to, too.
	q := must[*Queue[uint64]](t)(NewQueue[uint64](ctx, nil))
	k := sinks(q.Sink())
	some := numbers(numbers(pq.Stream()).Split(func(n *uint64) uint32 { return uint32(*n / 3) }, k))
	check(t, errors.Join(pq.Close(), k.Push(9), k.Close(), q.Close()))
	if err := k.Push(1); !errors.Is(err, ErrState) || !pq.Closed() || !q.Closed() || !k.Closed() {
		t.Fatal(err)
	}
	if _, err := pq.Stream(); !errors.Is(err, ErrState) {
		t.Fatal(err)
	}
	collected(t, some, 1, 2)
	told := must[Stats](t)(some.Graph())
	equal(t, told["phases"].(json.Number), "1")
	check(t, some.Close())

	// Functions as sinks, and what they fail with.
	var got []uint64
	ended := false
	f := sinks(SinkFunc(ctx, func(more []uint64) error {
		got, ended = append(got, more...), more == nil
		if len(more) > 0 && more[0] == 9 {
			return errMine
		}
		return nil
	}))
	equal(t, must[uint64](t)(numbers(v.Stream(0, 2)).To(f)), 2)
	check(t, f.Finish())
	equal(t, slices.Equal(got, []uint64{3, 1}) && ended, true)
	f = sinks(SinkFunc(ctx, func([]uint64) error { return errMine }))
	equal(t, f.Push(9), errMine)
	if err := f.Push(9); !errors.Is(err, ErrUser) {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "csv")
	lines := must[*Sink[string]](t)(SinkFile[string](ctx, path, Options{"delimiter": 0}))
	check(t, errors.Join(lines.Push("b", "a\nc"), lines.Push(), lines.Finish(), lines.Close()))
	text := func() *Stream[string] {
		return must[*Stream[string]](t)(StreamLines(ctx, Options{"delimiter": 0}, path))
	}
	collected(t, text(), "b", "a\nc")
	_, err := JoinLines(InnerJoin, text(), text(), "", "", "ab")
	equal(t, errors.Is(err, ErrInvalid), true)
	_, err = JoinLines(InnerJoin, text(), text(), "-k1", "-x", "")
	equal(t, errors.Is(err, ErrInvalid), true)
	nowhere := sinks(SinkNowhere[uint64](ctx))
	check(t, nowhere.Push(1, 2))
	equal(t, nowhere.Count(), 2)
}

// Runs in a loop, fed by streams, and what is left of them when they are collected with their merges.
func TestRuns(t *testing.T) {
	ctx := must[*Context](t)(Open(Options{"memory": "32M", "dirs": []string{t.TempDir()}}))
	defer ctx.Close()
	numbers := must[*Stream[uint64]](t)
	phases, kept := map[string]bool{}, raw.Kept()
	sum := func(sum *uint64, more []uint64) error { return nil }
	opts := Options{"merge_memory": "8M", "form": Options{"memory": "1M", "block_bytes": 4096,
		"progress": func(phase string, _, _ uint64) bool {
			phases[phase] = true
			return false
		}}}
	r := must[*Runs[uint64]](t)(NewRuns(ctx, nil, sum, opts))
	all := noise(300000)
	for round := range 2 {
		for part := range slices.Chunk(all, 50000) {
			s := numbers(StreamSeq(ctx, slices.Values(part)))
			check(t, errors.Join(r.Feed(s, 0), s.Close()))
		}
		check(t, r.Push(all[:1000]...))
		check(t, r.Finish())
		merged := numbers(r.Merge(Part[uint64]{}))
		got := slices.Collect(merged.All())
		want := slices.Clone(all)
		slices.Sort(want)
		equal(t, merged.Err() == nil && slices.Equal(got, want), true)
		info := must[Stats](t)(r.Info())
		equal(t, info["pushed"].(json.Number), "301000")
		middle := numbers(r.Merge(Part[uint64]{From: &want[1000], To: &want[2000]}))
		equal(t, slices.Equal(slices.Collect(middle.All()), want[1000:2000]), true)
		if round == 0 {
			half := numbers(r.Merge(Part[uint64]{}))
			_, err := half.Next()
			check(t, err)
			if err = r.Clear(); !errors.Is(err, ErrState) {
				t.Fatal(err)
			}
			check(t, errors.Join(half.Close(), r.Clear()))
		}
	}
	k := must[*Sink[uint64]](t)(r.Sink(0))
	if err := k.Push(1); !errors.Is(err, ErrState) {
		t.Fatal(err)
	}
	r, k = nil, nil
	for i := 0; i < 400 && raw.Kept() > kept; i++ {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	// Less, if what other tests have left was collected meanwhile.
	if raw.Kept() > kept {
		t.Fatal(raw.Kept(), kept)
	}

	// Two threads are told.
	shared := must[*Runs[uint64]](t)(NewRuns[uint64](ctx, nil, nil, nil))
	check(t, errors.Join(shared.Push(all...), shared.Finish()))
	var both sync.WaitGroup
	for range 2 {
		both.Add(1)
		go func() {
			defer both.Done()
			for range 20 {
				s, err := shared.Merge(Part[uint64]{Take: 100000})
				for err == nil {
					_, err = s.Next()
				}
				if err != io.EOF && !errors.Is(err, ErrBusy) {
					t.Error(err)
				}
				if s != nil && s.Close() != nil {
					runtime.Gosched()
				}
			}
		}()
	}
	both.Wait()
	check(t, shared.Close())
}
