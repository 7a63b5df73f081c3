#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
#
# compare_all.sh -- everything that bench/README.md shows, from nothing: install the peers, build, and run all programs.
#
#   bench/compare_all.sh [BUILD_DIR]
#
# BUILD_DIR (default ./build-bench) is made if it is not there.  As root or with sudo, on Debian.  Environment: SIZE
# (4G), ROUNDS (3), and what the programs take.  With SIZE=4G that is about three hours, 50 GB in DIR (blocks and volume
# sort four times SIZE), and 10 GB of memory (tmpfs); with SIZE=512M and ROUNDS=1 it is about twenty minutes.
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
"$here/vqsort"
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"
size=$(bytes_of "${SIZE:-4G}")

# title COMMAND...: what runs, and then it does.
title() {
	printf '\n%s\n' "$*"
	program=$1
	shift
	"$here/$program" "$@"
}

for work in u32 u64 kv16 rec100 u64-stream u64-gen-stream u64-cmp text100 text10 url csv; do
	title compare "$work" "$size"
done
title tmpfs $((size / 2))
title steps $((size / 4))
title threads $((size / 2))
title patterns $((size / 4)) u32 u64 kv16 rec100
title blocks "$size"
title fio "$size"
title volume $((size / 8)) u32 u64 kv16 rec100
title merging "$size"
title containers "$size"
# A sort of less than 128 MiB has too little memory for one disk.
each=$((size / 16))
[ "$each" -ge $((128 << 20)) ] || each=$((128 << 20))
title disks "$each"
printf '\nschedule, block_stream, cache, simdisk\n'
bench/schedule
bench/block_stream --dir "${DIR:-${TMPDIR:-/var/tmp}}" --size "$size"
bench/cache
bench/simdisk
# Once is enough to see the shape.
export ROUNDS=1
title blocks $((size * 4)) u64 $((size / 8))
title buffers
