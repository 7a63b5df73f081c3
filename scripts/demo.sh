#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# From a fresh clone to a sorted file: install what is missing, build in ./build, and sort 2 GiB of records in 256 MiB.
# Data go to a new directory below $TMPDIR or /var/tmp, where 6 GiB must be free, and are removed at the end.
#
# DEMO_RECORDS and DEMO_MEMORY in the environment change the amounts.
set -eu
cd "$(dirname "$0")/.."
jobs=$(nproc 2>/dev/null || echo 1)
records=${DEMO_RECORDS:-134217728}
memory=${DEMO_MEMORY:-256M}
size=16
mib=$((records * size / 1048576))

scripts/deps.sh build
[ -x configure ] || ./autogen.sh
mkdir -p build
if [ ! -e build/config.status ]; then
	(cd build && ../configure)
fi
make -C build -j"$jobs"

data=$(mktemp -d "${TMPDIR:-/var/tmp}/extmem-demo-XXXXXX")
trap 'rm -rf "$data"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
need=$((3 * mib + 64))
have=$(($(df -Pk "$data" | awk 'NR == 2 { print $4 }') / 1024))
if [ "$have" -lt "$need" ]; then
	echo "demo.sh: $data has $have MiB free, $need MiB are needed; set TMPDIR to another place" >&2
	exit 1
fi

# Nanoseconds since the epoch.
now() {
	date +%s%N
}

# timed NAME COMMAND...: run it, print how long it took and how many bytes of records that is per second.
timed() {
	name=$1
	shift
	echo "\$ $(echo "$*" | sed "s:$data/::g; s:build/::; s:-T $data ::")"
	begin=$(now)
	"$@"
	ms=$((($(now) - begin) / 1000000 + 1))
	echo "$name: $mib MiB in $((ms / 1000)).$(printf %03d $((ms % 1000))) s, $((mib * 1000 / ms)) MiB/s"
	echo
}

echo
timed generate build/extmem generate --records="$records" --record-size=$size -o "$data/records"
timed sort build/extmem sort --record-size=$size -k 0:u64 -S "$memory" -T "$data" --stats \
	-o "$data/sorted" "$data/records"
timed check build/extmem check --record-size=$size -k 0:u64 "$data/sorted" >"$data/after"
cat "$data/after"

# Sorted is not enough: nothing may be lost either.  Input and output have the same size, and the same checksum, which
# does not depend on the order.
build/extmem check --record-size=$size -k 0:u64 "$data/records" >"$data/before" 2>"$data/complaint" || [ $? -eq 1 ]
checksum() {
	grep -i -o 'checksum[^0-9a-f]*[0-9a-fx]*' "$1"
}
before=$(checksum "$data/before")
after=$(checksum "$data/after")
if [ -z "$before" ] || [ "$before" != "$after" ]; then
	echo "demo.sh: the output is not a permutation of the input: $before, $after" >&2
	exit 1
fi
echo "The output is sorted and holds what the input held ($after)."
