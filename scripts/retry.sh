# SPDX-License-Identifier: BSL-1.0
# shellcheck shell=sh
# Sourced by scripts that fetch packages: retry COMMAND [ARGUMENT]...
#
# A mirror that is being synchronised has lists and packages of other sizes than it says, for a minute or two; and
# networks lose connections.  So what fetches is tried four times.  Each failure is told, and the last one is the
# caller's.  The command may be a function; as in all conditions, `set -e' means nothing inside of it.
retry() {
	for pause in 5 30 90; do
		"$@" && return 0
		echo "retry.sh: $1 has failed; it is tried again in $pause seconds" >&2
		sleep "$pause"
	done
	"$@" && return 0
	set -- "$?" "$@"
	echo "retry.sh: $2 has failed four times; given up with status $1" >&2
	return "$1"
}
