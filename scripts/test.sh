#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# From a fresh clone to passed tests: install what is missing, build in ./build, make check, print what each test said.
set -eu
cd "$(dirname "$0")/.."
jobs=$(nproc 2>/dev/null || echo 1)

scripts/deps.sh test
[ -x configure ] || ./autogen.sh
mkdir -p build
cd build
# Packages may have come since the directory was configured, by the demo for one: then it is looked at again.
if [ -z "$(find config.status -newer /var/lib/dpkg/status 2>/dev/null)" ]; then
	../configure
fi
make -j"$jobs"
status=0
# Tests wait for disks and for one another's threads.
make -j"$((jobs + 1))" check || status=$?
../scripts/show-tests.sh . || status=1
exit $status
