#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# What fetches packages is tried again: retry.sh with commands that fail so many times, and the two scripts that use it
# with an apt-get whose mirror has lists that do not fit their sizes.
set -eu
top=$(cd "${EM_SRCDIR:-$(dirname "$0")/..}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=/dev/null
. "$top/scripts/retry.sh"
bad=0

complain() {
	echo "check-retry: $*"
	bad=1
}

# Nobody waits.
mkdir "$work/bin"
cat >"$work/bin/sleep" <<'END'
#!/bin/sh
echo "$1" >>"$EM_WORK/slept"
END
# Fails as a mirror that is being synchronised, until there were so many of what decides; then there is nothing to do.
cat >"$work/bin/apt-get" <<'END'
#!/bin/sh
case " $* " in
*' update '*) exit 100 ;;
*' download '* | *' install '*) ;;
*) exit 2 ;;
esac
echo >>"$EM_WORK/tries"
[ "$(wc -l <"$EM_WORK/tries")" -gt "$EM_FAILURES_FIRST" ] || {
	echo "E: Failed to fetch Packages.xz  File has unexpected size. Mirror sync in progress?" >&2
	exit 100
}
END
# A machine that lacks everything.
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
chmod +x "$work/bin"/*
export EM_WORK="$work" EM_FAILURES_FIRST
PATH=$work/bin:$PATH

# expect TRIES PAUSES STATUS COMMAND...
expect() {
	tries=$1 pauses=$2 status=$3
	shift 3
	: >"$work/tries"
	: >"$work/slept"
	rc=0
	"$@" >"$work/said" 2>&1 || rc=$?
	[ "$rc" -eq "$status" ] || complain "$* after $EM_FAILURES_FIRST failures: status $rc and not $status"
	[ "$(wc -l <"$work/tries")" -eq "$tries" ] || complain "$*: $(wc -l <"$work/tries") tries and not $tries"
	[ "$(tr '\n' ' ' <"$work/slept")" = "$pauses" ] || complain "$*: waited $(tr '\n' ' ' <"$work/slept")"
}

# retry calls it.
# shellcheck disable=SC2317
fetch() {
	apt-get download "$1" || return 7
}

waits=
for failures in 0 1 2 3; do
	EM_FAILURES_FIRST=$failures
	expect $((failures + 1)) "$waits" 0 retry fetch 'a package'
	expect $((failures + 1)) "$waits" 0 "$top/scripts/deps.sh" s390x
	waits="$waits$(echo 5 30 90 | cut -d' ' -f$((failures + 1)) -s) "
done
EM_FAILURES_FIRST=4
expect 4 '5 30 90 ' 7 retry fetch 'a package'
grep -q 'fetch has failed four times; given up with status 7' "$work/said" || complain "retry does not say what failed"
expect 4 '5 30 90 ' 100 "$top/scripts/deps.sh" s390x
grep -q 'Mirror sync in progress' "$work/said" || complain "deps.sh hides what apt-get says"

# With the compilers there, but not CMocka, its tests have not passed.
printf '#!/bin/sh\necho install ok installed\n' >"$work/bin/dpkg-query"
expect 4 '5 30 90 ' 1 "$top/scripts/foreign-tests.sh" s390x
grep -q 'CMocka for s390x could not be fetched' "$work/said" || complain "foreign-tests.sh does not say what it lacks"
grep -q 'passed' "$work/said" && complain "foreign-tests.sh counts tests that it has not run"

echo "check-retry: $([ $bad -eq 0 ] && echo ok || echo FAILED)"
exit $bad
