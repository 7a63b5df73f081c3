# SPDX-License-Identifier: BSL-1.0
# Tables of the fields of public structs that begin with their size, from the headers that declare them: see fields.h.
# What a language cannot hand over by name (functions of the caller's, arrays) has no line, and keeps its default.
#
#   awk -f fields.awk HEADER...

BEGIN {
	kind["uint32_t"] = "U32"
	kind["int32_t"] = "I32"
	kind["uint64_t"] = "U64"
	kind["double"] = "DOUBLE"
	kind["const char *"] = "TEXT"
	kind["const char *const *"] = "TEXTS"
	kind["em_errinfo *"] = "ERRINFO"
	kind["const em_format *"] = "FORMAT"
	kind["const em_sort_opts *"] = "SORT"
	kind["const em_order *"] = "ORDER"
	kind["struct em_block_pool *"] = "POOL"
	kind["const struct em_policy *"] = "POLICY"
	kind["const em_policy *"] = "POLICY"
	kind["const struct em_placement *"] = "PLACEMENT"
	kind["em_progress_fn"] = "PROGRESS"
	kind["em_log_fn"] = "LOG"
	kind["const struct em_disk_opts *const *"] = "DISKS"
	print "/* SPDX-License-Identifier: BSL-1.0 */\n/* Made by fields.awk: not to be edited. */"
	print "#ifndef EMB_FIELDS_H\n#define EMB_FIELDS_H"
}

/^typedef struct em_[a-z_]* \{/ {
	name = $3
	lines = ""
	sized = 0
	# Tables of functions.
	if (name ~ /^em_(backend.*|policy|fault|simdisk|allocator)$/)
		name = ""
	next
}

name != "" && /^\tuint32_t size;/ {
	sized = 1
	next
}

name != "" && /^\t[a-z].*;/ {
	line = $0
	sub(/;.*/, "", line)
	sub(/^\t/, "", line)
	if (!match(line, /[a-z_0-9]+$/))
		next
	field = substr(line, RSTART)
	type = substr(line, 1, RSTART - 1)
	sub(/ $/, "", type)
	if (type in kind && field !~ /^reserved/)
		lines = lines sprintf("\t{ \"%s\", offsetof(%s, %s), EMB_%s },\n", field, name, field, kind[type])
	next
}

name != "" && /^\}/ {
	if (sized) {
		printf "static const %s emb_init_%s = %s_INIT;\n", name, name, toupper(name)
		printf "static const struct emb_field emb_fields_%s[] = {\n%s\t{ NULL, 0, 0 }\n};\n", name, lines
		printf "static const struct emb_struct emb_struct_%s = {\n", name
		printf "\t\"%s\", sizeof(%s), &emb_init_%s, emb_fields_%s\n};\n", name, name, name, name
	}
	name = ""
}

END { print "#endif" }
