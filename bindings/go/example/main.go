// SPDX-License-Identifier: BSL-1.0

// A hundred thousand visits: sorted by page and time, the pages counted in a tree, the slowest ones by a heap.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"

	"extmem"
)

type visit struct {
	Page, Second uint32
	Took         float64
}

type page struct{ Visits, Last uint64 }

func run() error {
	ctx, err := extmem.Open(extmem.Options{"memory": "32M", "dirs": []string{os.TempDir()}})
	if err != nil {
		return err
	}
	defer ctx.Close()
	visits, err := extmem.NewSorter[visit](ctx, nil, nil)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1))
	for second := range uint32(100000) {
		if err = visits.Push(visit{random.Uint32N(1000), second, random.ExpFloat64() * 10}); err != nil {
			return err
		}
	}
	pages, err := extmem.NewBTree[uint32, page](ctx, "", nil)
	if err != nil {
		return err
	}
	order, err := extmem.NewOrder[visit](ctx, "-Took")
	if err != nil {
		return err
	}
	slowest, err := extmem.NewPriorityQueue[visit](ctx, order, nil)
	if err != nil {
		return err
	}
	for v := range visits.All() {
		known, _, err := pages.Get(v.Page)
		if err != nil {
			return err
		}
		if uint64(v.Second) < known.Last {
			return fmt.Errorf("not sorted")
		}
		if err = pages.Set(v.Page, page{known.Visits + 1, uint64(v.Second)}); err != nil {
			return err
		}
		if v.Took > 100 {
			if err = slowest.Push(v); err != nil {
				return err
			}
		}
	}
	if err = visits.Err(); err != nil {
		return err
	}
	total, from := uint64(0), uint32(995)
	for _, p := range pages.All() {
		total += p.Visits
	}
	fmt.Print(pages.Len(), " pages, the last five:")
	for number := range pages.Range(&from, nil) {
		fmt.Print(" ", number)
	}
	first, _, err := slowest.Peek()
	fmt.Printf("\n%d slow visits, the slowest of page %d\n", slowest.Len(), first.Page)
	if total != 100000 {
		return fmt.Errorf("visits were lost")
	}
	return err
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
