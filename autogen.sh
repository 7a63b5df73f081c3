#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Make configure and Makefile.in from their sources.  Needs autoconf, automake and libtool.
set -eu
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize; do
	command -v "$tool" >/dev/null || {
		echo "autogen.sh: $tool is missing (Debian: apt-get install autoconf automake libtool)" >&2
		exit 1
	}
done
exec autoreconf --force --install
