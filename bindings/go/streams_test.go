// SPDX-License-Identifier: BSL-1.0

package extmem

import (
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

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
	for i := 0; i < 100 && raw.Kept() > before; i++ {
		runtime.GC()
		runtime.Gosched()
	}
	if raw.Kept() > before {
		t.Fatal(raw.Kept(), before)
	}
}
