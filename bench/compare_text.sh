#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
#
# compare_text.sh -- what bench/compare does for works of text: our command and GNU sort in turn.
#
# Both get the same memory, two threads, and a control group of that memory and 64 MiB, which counts
# the page cache too; the input is not in the page cache.  Where control groups of memory cannot be had, that is
# said, and there is no limit.  Both outputs of the first round are compared.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"
work=$1
bytes=$(bytes_of "${2:-4G}")
extmem=${EXTMEM:-./extmem}
peers=${PEERS:-./peers}
slack=$((64 << 20))
test -x "$extmem" || { echo "compare: no $extmem: run make, or set EXTMEM" >&2; exit 2; }

case $work in
text100) lines=text key= ;;
text10) lines=short key= ;;
url) lines=urls key= ;;
csv) lines=csv key='-t, -k3,3n' ;;
*) echo "compare: unknown work $work" >&2; exit 2 ;;
esac
mem=$((bytes / 8))

mkdir -p "$peers"
test "$peers/runphase" -nt "$here/peers/runphase.c" ||
	${CC:-gcc} -O2 -w "$here/peers/runphase.c" -o "$peers/runphase"

dir=$(mktemp -d "${DIR:-${TMPDIR:-/var/tmp}}/compare.XXXXXX")
cgroup=
mounted=
clean() {
	[ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null || true
	[ -z "$mounted" ] || umount "$mounted" || true
	rm -rf "$dir"
}
trap clean EXIT
trap 'exit 2' HUP INT TERM
log=$dir/log

# A control group with a limit of its own: those of version 1 are asked for, or mounted, then those of version 2.
limit() {
	base=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	if [ -z "$base" ]; then
		mkdir "$dir/cgroup"
		if mount -t cgroup -o memory none "$dir/cgroup" 2>/dev/null; then
			base=$dir/cgroup
			mounted=$base
		else
			rmdir "$dir/cgroup"
			base=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
		fi
	fi
	[ -n "$base" ] || return 1
	group=$base/extmem-compare.$$
	mkdir "$group" 2>/dev/null || return 1
	cgroup=$group
	if ! echo $((mem + slack)) 2>/dev/null >"$group/memory.limit_in_bytes" &&
		! echo $((mem + slack)) 2>/dev/null >"$group/memory.max"; then
		rmdir "$group"
		cgroup=
		return 1
	fi
}

in=$dir/in
"$extmem" generate "--lines=$lines" --size="$bytes" -o "$in"
n=$(wc -l <"$in")
bytes=$(wc -c <"$in")
if limit; then
	echo "limit: $((mem + slack)) bytes of memory and page cache by $cgroup"
else
	echo "limit: none, as there are no control groups of memory here"
fi

# phase PEER OUTPUT COMMAND...
phase() {
	peer=$1
	out=$2
	shift 2
	# shellcheck disable=SC2086
	LC_ALL=C "$peers/runphase" --peer "$peer" --work "$work" --n "$n" --recsize $((bytes / n)) --mem "$mem" \
		--phase sort \
		--drop "$in" ${cgroup:+--cgroup "$cgroup"} -- \
		"$@" $key -S "$((mem / 1024))K" --parallel=2 -T "$dir" -o "$out" "$in" >>"$log"
}

round=0
while [ "$round" -lt "$rounds" ]; do
	phase extmem "$dir/ours" "$extmem" sort
	[ "$round" -eq 0 ] || rm "$dir/ours"
	phase gnu_sort "$dir/gnu" "${GNU_SORT:-sort}"
	if [ "$round" -eq 0 ]; then
		cmp "$dir/ours" "$dir/gnu" || { echo "compare: the outputs differ" >&2; exit 1; }
		rm "$dir/ours"
	fi
	rm "$dir/gnu"
	round=$((round + 1))
done
[ -z "${KEEP:-}" ] || cat "$log"
awk -f "$here/median.awk" -f "$here/summary.awk" "$log"
