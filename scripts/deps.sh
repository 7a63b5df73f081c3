#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Install, with apt-get, what a task needs and this machine lacks: deps.sh build|test|bench|ci|i386|s390x
# i386 and s390x are what foreign-tests.sh compiles for these with.  Needs root or sudo only if something is missing.
set -eu
# shellcheck source=/dev/null
. "$(dirname "$0")/retry.sh"

build="autoconf automake libtool make gcc libc6-dev pkg-config libaio-dev liblz4-dev"
check="$build g++ libcmocka-dev locales python3"
bench="$build g++ libstxxl-dev libhwy-dev liburing-dev libdb-dev liblmdb-dev librocksdb-dev libsqlite3-dev fio \
linux-perf"
# Not gcc-multilib, which conflicts with the cross compiler.
version=$(gcc -dumpversion 2>/dev/null | cut -d. -f1) || version=
i386="gcc gcc-${version:-12}-multilib libc6-dev-i386"
s390x="gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user"
ci="$check $i386 $s390x xfsprogs liburing-dev clang libclang-rt-14-dev shellcheck mandoc xz-utils python3-dev \
python3-venv lua5.4 liblua5.4-dev luarocks libperl-dev ruby ruby-dev tcl tcl-dev"
# Node comes with its headers and npm, or without.
[ -e /usr/include/node/node_api.h ] && command -v node >/dev/null || ci="$ci nodejs libnode-dev"
command -v npm >/dev/null || ci="$ci npm"
command -v javac >/dev/null || ci="$ci default-jdk-headless"

case ${1:-} in
build) wanted=$build ;;
test) wanted=$check ;;
bench) wanted=$bench ;;
ci) wanted=$ci ;;
i386) wanted=$i386 ;;
s390x) wanted=$s390x ;;
*)
	echo "usage: deps.sh build|test|bench|ci|i386|s390x" >&2
	exit 2
	;;
esac

missing=
for package in $wanted; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
	as_root=sudo
	command -v sudo >/dev/null || {
		echo "deps.sh: neither root nor sudo; please install:$missing" >&2
		exit 1
	}
fi
# A mirror may lack a list that is not needed, of security updates for example: the installation decides.
install() {
	$as_root apt-get update -qq </dev/null ||
		echo "deps.sh: going on with the lists of packages that could be had" >&2
	# shellcheck disable=SC2086
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing </dev/null
}
echo "Installing:$missing"
retry install
