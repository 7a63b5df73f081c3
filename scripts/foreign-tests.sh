#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Run the tests of keys, kernels and struct layouts as programs of another architecture: foreign-tests.sh i386|s390x
# i386 has 32 bits, s390x is big-endian and runs under qemu.
#
# Builds without autotools in a temporary directory that is removed at the end.  The compilers come from
# packages, which are installed if they are missing (root or sudo).  CMocka for the other architecture is
# downloaded through lists of packages of our own and unpacked into that directory: nothing foreign
# is installed, and the machine's apt and dpkg do not learn of another architecture.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
# shellcheck source=/dev/null
. scripts/retry.sh

case ${1:-} in
i386)
	# Without gcc-multilib the headers need to be pointed out.
	cc="gcc -m32 -I/usr/include/$(gcc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)"
	run=
	;;
s390x)
	cc="s390x-linux-gnu-gcc"
	run="qemu-s390x -L /usr/s390x-linux-gnu"
	# It has another long double than the sort that we compare with, and no locales.
	export EM_MAY_SKIP='test_locale test_gnu_general test_gnu_mixed'
	;;
*)
	echo "usage: foreign-tests.sh i386|s390x" >&2
	exit 2
	;;
esac
arch=$1

scripts/deps.sh "$arch"

tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/extmem-foreign-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# CMocka, from the same place that this machine gets its packages from.
sysroot=$tmp/sysroot
mkdir -p "$tmp/apt/lists/partial" "$tmp/apt/archives/partial" "$sysroot"
: >"$tmp/apt/status"
foreign_apt() {
	apt-get -qq -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State="$tmp/apt" \
		-o Dir::State::status="$tmp/apt/status" -o Dir::Cache="$tmp/apt" -o Acquire::Languages=none \
		-o APT::Sandbox::User="$(id -un)" "$@" </dev/null
}
# A mirror may lack a list that is not needed, of security updates for example: the download decides.
fetch_cmocka() {
	foreign_apt update || echo "foreign-tests.sh: going on with the lists of packages that could be had" >&2
	(cd "$tmp/apt" && foreign_apt download libcmocka0 libcmocka-dev)
}
retry fetch_cmocka || {
	echo "foreign-tests.sh: CMocka for $arch could not be fetched, so none of its tests could run" >&2
	exit 1
}
for package in "$tmp"/apt/*.deb; do
	dpkg-deb -x "$package" "$sysroot"
done
library=$(find "$sysroot/usr/lib" -name 'libcmocka.so')
[ -n "$library" ] || {
	echo "foreign-tests.sh: the packages of CMocka for $arch hold no libcmocka.so" >&2
	exit 1
}
library=$(dirname "$library")

cflags="-std=c99 -O2 -g -Wall -Wextra -D_FILE_OFFSET_BITS=64 -Iinclude -Isrc -Itests -isystem $sysroot/usr/include"

# A makefile says what is compiled, linked and run, so that two things are done at a time.
rules=$tmp/makefile
layers='key kern abi'
echo 'all:' >"$rules"

# objects FOLDER SOURCE...: compile them into a folder; their names go to $made.
objects() {
	folder=$tmp/$1
	shift
	mkdir -p "$folder"
	made=
	for source in "$@"; do
		object=$folder/$(basename "$source" .c).o
		printf '%s: %s\n\t%s -c %s -o $@\n' "$object" "$source" "$cc $cflags" "$source"
		made="$made $object"
	done >>"$rules"
}

# What is left of src/kern without kernels for instruction sets that are not everywhere.
objects library src/base/*.c src/key/*.c src/kern/k_scalar.c src/kern/dispatch.c src/kern/tags.c
shared=$made
objects common tests/common/*.c
shared="$shared $made"

# program LAYER NAME OBJECT...: link it, run it, and keep what it says, and how it ended as make check does.  A test
# that fails ends nothing else.
program() {
	name=$tests/$1/$2
	shift 2
	printf '%s: %s\n\t%s -o $@ $^ -L%s -Wl,-rpath,%s -lcmocka -lpthread\n' "$name" "$*" "$cc" "$library" "$library"
	# make expands what begins with a dollar.
	# shellcheck disable=SC2016
	printf 'all: %s.trs\n%s.trs: %s\n\tif CMOCKA_MESSAGE_OUTPUT=stdout %s $< >$<.log 2>&1; ' \
		"$name" "$name" "$name" "$run"
	printf 'then r=PASS; else r=FAIL; fi; '
	# shellcheck disable=SC2016
	printf 'echo ":global-test-result: $$r" >$@\n'
}

tests=$tmp/tests
for layer in $layers; do
	mkdir -p "$tests/$layer"
	# What tests of the ABI share needs all of the library.
	# shellcheck disable=SC2046
	objects "$layer-common" $(find tests/"$layer" -name '*.c' ! -name 'test_*' ! -path 'tests/abi/*')
	with=$made
	for source in tests/"$layer"/test_*.c; do
		# The others need all of the library.
		case $source in tests/abi/test_layout.c) ;; tests/abi/*) continue ;; esac
		objects "$layer-tests" "$source"
		# shellcheck disable=SC2086
		program "$layer" "$(basename "$source" .c)" $made $with $shared >>"$rules"
	done
done
make -s -j2 -f "$rules" all
scripts/show-tests.sh "$tests"
