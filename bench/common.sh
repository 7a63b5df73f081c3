# SPDX-License-Identifier: BSL-1.0
# shellcheck shell=sh disable=SC2034
#
# common.sh -- what the measuring scripts share; they read it with `.', after they set `here' to this folder.
#
# All of them run in a build directory after `make bench', or are given BENCH (the folder with bench_sort).
# Environment: DIR (scratch directory, default $TMPDIR or /var/tmp), ROUNDS (3), KEEP=1 (print every line).

bench=${BENCH:-./bench}/bench_sort
rounds=${ROUNDS:-3}

# usage FILE LAST: the comment at the top of a script, down to line LAST.
usage() {
	sed -n "3,$2s/^# \\{0,1\\}//p" "$1" >&2
	exit 2
}

# bytes_of SIZE: 4G or 256M in bytes.
bytes_of() {
	case $1 in
	*G) echo $((${1%G} << 30)) ;;
	*M) echo $((${1%M} << 20)) ;;
	*K) echo $((${1%K} << 10)) ;;
	*) echo "$1" ;;
	esac
}

# records_of REC BYTES: how many records of that kind make up so many bytes.
records_of() {
	case $1 in
	u32) echo $(($2 / 4)) ;;
	u64) echo $(($2 / 8)) ;;
	kv16 | dup16) echo $(($2 / 16)) ;;
	rec100) echo $(($2 / 100)) ;;
	*)
		echo "bench: unknown records $1" >&2
		return 1
		;;
	esac
}

# make_dir NAME: a scratch directory $dir with the file $log in it; it goes away with the script, also when that is
# interrupted.
make_dir() {
	test -x "$bench" || {
		echo "$1: no $bench: run make bench, or set BENCH" >&2
		exit 2
	}
	dir=$(mktemp -d "${DIR:-${TMPDIR:-/var/tmp}}/$1.XXXXXX")
	trap 'rm -rf "$dir"' EXIT
	trap 'exit 2' HUP INT TERM
	log=$dir/log
	: >"$log"
}

# warm DIR BYTES: of a file system in memory, write so many and remove them; nothing without BYTES.  Memory that the
# host of a virtual machine took back is slow to touch first, and nobody who is measured is to be the one who does.
warm() {
	[ -n "${2:-}" ] || return 0
	head -c "$2" /dev/zero >"$1/warm"
	rm -f "$1/warm"
}

# sorted LABELS DIR REC BYTES MEM [OPTION...]: a sort of files by bench_sort; its line goes to the log with LABELS
# (name=value ...) in front.  It runs under the command $under, if that is set.  Returns what bench_sort does.
sorted() {
	labels=$1
	where=$2
	rec=$3
	n=$(records_of "$3" "$4")
	mem=$5
	shift 5
	# shellcheck disable=SC2086
	${under:-} "$bench" --algo file --rec "$rec" --n "$n" --mem "$mem" --dir "$where" "$@" >"$dir/lines" ||
		return $?
	sed -n "/ phase=sort /s/^/$labels /p" "$dir/lines" >>"$log"
	[ -z "${KEEP:-}" ] || cat "$dir/lines"
}
