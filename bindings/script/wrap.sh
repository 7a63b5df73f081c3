#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Make a wrapper by SWIG: wrap.sh SWIG SOURCE-DIRECTORY OUTPUT ARGUMENT...
# A wrapper knows no types of ours but those that typemaps name: otherwise something public was forgotten.
set -eu
swig=$1
src=$2
output=$3
shift 3
mkdir -p "$(dirname "$output")/unused"
"$swig" "$@" -I"$src/include" -I"$src/bindings" -outdir "$(dirname "$output")/unused" -o "$output.tmp" \
	"$src/bindings/extmem.i"
rm -r "$(dirname "$output")/unused"
if grep -E 'SWIGTYPE_p_em_|SWIG_ConvertPtr\(.*SWIGTYPE' "$output.tmp" | grep -v '^#define' | grep -q -E 'ConvertPtr|NewPointerObj'; then
	echo "wrap.sh: $output: arguments without a typemap:" >&2
	grep -E 'ConvertPtr.*SWIGTYPE' "$output.tmp" >&2
	rm "$output.tmp"
	exit 1
fi
{
	echo '/* SPDX-License-Identifier: BSL-1.0 */'
	cat "$output.tmp"
} >"$output.t"
rm "$output.tmp"
mv "$output.t" "$output"
