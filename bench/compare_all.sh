#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
#
# compare_all.sh -- everything that bench/README.md shows, from nothing: install the peers, build, and run all works.
#
#   bench/compare_all.sh [BUILD_DIR]
#
# BUILD_DIR (default ./build-bench) is made if it is not there.  As root or with sudo, on Debian.  Environment: SIZE (4G),
# ROUNDS (3), and what bench/compare takes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-./build-bench}

"$here/../scripts/deps.sh" bench
mkdir -p "$build"
cd "$build"
test -x "$here/../configure" || "$here/../autogen.sh"
test -f Makefile || "$here/../configure" --disable-static
make -j"$(nproc)"
make bench
for isa in scalar avx2 avx512; do
	bench/kernels $isa || true
done
for work in u32 u64 kv16 rec100 u64-stream u64-gen-stream u64-cmp text100 text10 url csv; do
	printf '\n%s\n' "$work"
	"$here/compare" "$work" "${SIZE:-4G}"
done
