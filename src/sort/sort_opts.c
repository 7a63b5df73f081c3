/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_opts.c -- the options of a sort as text.  Names and values are those of the command's long options.
 */
#include <stddef.h>

#include <extmem/sort.h>

#include "base/error.h"
#include "base/options.h"
#include "base/structs.h"

#define AT(field) offsetof(em_sort_opts, field)
#define PART_ROOM 128

static const emi_option table[] = {
	{ "memory", EMI_OPTION_SIZE, 0, AT(memory), 0, UINT64_MAX, NULL },
	{ "run-size", EMI_OPTION_COUNT, 0, AT(run_records), 0, UINT64_MAX, NULL },
	{ "block-size", EMI_OPTION_SIZE, 0, AT(block_bytes), 0, UINT64_C(1) << 30, NULL },
	{ "fan-in", EMI_OPTION_NUMBER, 0, AT(fan_in), 0, UINT32_MAX, NULL },
	{ "read-buffers", EMI_OPTION_NUMBER, 0, AT(read_buffers), 0, UINT32_MAX, NULL },
	{ "write-buffers", EMI_OPTION_NUMBER, 0, AT(write_buffers), 0, UINT32_MAX, NULL },
	{ "prefetch-buffers", EMI_OPTION_NUMBER, 0, AT(prefetch_buffers), 0, 65536, NULL },
	{ "header", EMI_OPTION_COUNT, 0, AT(header), 0, UINT64_MAX, NULL },
	{ "scratch-compress", EMI_OPTION_WORD, 0, AT(compress), 0, 0, "auto|never|always" },
	{ "fetch", EMI_OPTION_WORD, 0, AT(fetch), 0, 0, "best|naive" },
	{ "place-runs", EMI_OPTION_WORD, 0, AT(place), 0, 0, "cycling|striping" },
	{ "last-run", EMI_OPTION_WORD, 0, AT(last_run), 0, 0, "auto|written|kept" },
	{ "stable", EMI_OPTION_FLAG, EM_SORT_STABLE, AT(flags), 0, 0, NULL },
	{ "unique", EMI_OPTION_FLAG, EM_SORT_UNIQUE, AT(flags), 0, 0, NULL },
};

static em_status parse_part(emi_options *o, em_sort_opts *opts, const char *text, em_errinfo *err)
{
	const size_t bytes = strcspn(text, ",");
	const uint32_t i = emi_option_find(o, text);
	char part[PART_ROOM];

	if (i == o->n || bytes >= sizeof part)
		return emi_fail(err, EM_ERR_INVAL, "'%.*s': there is no such option of a sort",
				(int)(bytes < sizeof part ? bytes : sizeof part - 1), text);
	memcpy(part, text, bytes);
	part[bytes] = '\0';
	return emi_option_take(o, i, opts, part, err);
}

static em_status parse(em_sort_opts *opts, const char *text, em_errinfo *err)
{
	emi_options o = { table, sizeof table / sizeof table[0], 0 };
	const char *at = text;

	for (at = text; *at != '\0'; at += *at == ',') {
		if (parse_part(&o, opts, at, err) != EM_OK)
			return emi_option_place(err, (uint64_t)(at - text));
		at += strcspn(at, ",");
	}
	return EM_OK;
}

em_status em_sort_opts_parse(em_sort_opts *opts, const char *text, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_sort_opts o;
	em_status st;

	st = emi_given(opts, "opts", &own);
	if (st == EM_OK)
		st = emi_given(text, "text", &own);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_sort_opts, &o, opts, &own);
	if (st == EM_OK)
		st = parse(&o, text, &own);
	if (st == EM_OK)
		st = EMI_STRUCT_GIVE(em_sort_opts, opts, &o);
	return emi_tell(err, st, &own);
}
