// SPDX-License-Identifier: BSL-1.0

// As u64.c, in Go: u64 N MEMORY DIRECTORY, within the module (bench/language/run has it copied there).
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"extmem"
)

const batch = 1 << 17

func run(n uint64, memory, dir string) error {
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
	numbers := make([]uint64, batch)
	x := uint64(88172645463325252)
	for i := range numbers {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		numbers[i] = x
	}
	for i := uint64(0); i < n; i += batch {
		numbers[0] = i * 0x9e3779b97f4a7c15
		if err = s.Push(numbers[:min(batch, n-i)]...); err != nil {
			return err
		}
	}
	var count, sum uint64
	for {
		got, err := s.Read(numbers)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		count += uint64(got)
		sum += numbers[0]
	}
	fmt.Println(count, sum)
	if count != n {
		return fmt.Errorf("numbers are missing")
	}
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: u64 N MEMORY DIRECTORY")
		os.Exit(2)
	}
	n, err := strconv.ParseUint(os.Args[1], 10, 64)
	if err == nil {
		err = run(n, os.Args[2], os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "u64:", err)
		os.Exit(1)
	}
}
