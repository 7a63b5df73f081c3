// SPDX-License-Identifier: BSL-1.0

// The program in Go of bench/bindings, see there and through.c: through copy N MEMORY DIRECTORY.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"extmem"
)

const each = 131072

func processor() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

func copyThrough(n uint64, memory, dir string) error {
	ctx, err := extmem.Open(extmem.Options{"memory": memory, "dirs": []string{dir}})
	if err != nil {
		return err
	}
	defer ctx.Close()
	s, err := extmem.NewSorter[uint64](ctx, nil, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	numbers := make([]uint64, each)
	state := uint64(1)
	for i := range numbers {
		state = state*6364136223846793005 + 1442695040888963407
		numbers[i] = state
	}
	for i := uint64(0); i < n/each; i++ {
		numbers[i%each] = i
		if err = s.Push(numbers...); err != nil {
			return err
		}
	}
	var back, last uint64
	for {
		got, err := s.Read(numbers)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		back += uint64(got)
		last = numbers[got-1]
	}
	fmt.Printf("n=%d check=%d cpu=%.3f\n", back, last, processor())
	return nil
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "more" {
		return
	}
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: through copy N MEMORY DIRECTORY")
		os.Exit(2)
	}
	n, err := strconv.ParseUint(os.Args[2], 10, 64)
	if err == nil {
		err = copyThrough(n, os.Args[3], os.Args[4])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "through:", err)
		os.Exit(1)
	}
}
