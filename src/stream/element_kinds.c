/* SPDX-License-Identifier: BSL-1.0 */
/*
 * element_kinds.c -- the kinds of element streams, their options, and what each will do.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "base/structs.h"
#include "stream/element_kind.h"

#define DEFAULT_ELEMENT 4u
#define DEFAULT_BUFFER (64u << 10)

const emi_element_kind *const emi_element_kinds[] = {
	&emi_element_simple, &emi_element_buffer, &emi_element_bufferb, &emi_element_mapping,
};
#define KINDS (sizeof(emi_element_kinds) / sizeof(emi_element_kinds[0]))

uint32_t em_element_kind_find(const char *name)
{
	uint32_t i;

	for (i = 0; name != NULL && i < KINDS; i++)
		if (strcmp(emi_element_kinds[i]->name, name) == 0)
			return i + 1;
	return 0;
}

const char *em_element_kind_name(uint32_t kind)
{
	return kind >= 1 && kind <= KINDS ? emi_element_kinds[kind - 1]->name : NULL;
}

size_t emi_element_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

em_status emi_element_opts(em_element_opts *o, const em_element_opts *opts, uint64_t *unit, em_errinfo *err)
{
	em_status status = EMI_STRUCT_TAKE(em_element_opts, o, opts, err);
	uint64_t rest;

	if (status != EM_OK)
		return status;
	if (o->kind == 0)
		o->kind = EM_ELEMENT_BUFFERB;
	if (o->element_bytes == 0)
		o->element_bytes = DEFAULT_ELEMENT;
	if (o->buffer_bytes == 0)
		o->buffer_bytes = DEFAULT_BUFFER;
	if (o->kind > KINDS)
		return emi_fail(err, EM_ERR_INVAL, "em_element_opts.kind is %" PRIu32 ", and there are %u kinds",
				o->kind, (unsigned)KINDS);
	if ((o->flags & ~(EM_ELEMENT_NEW | EM_ELEMENT_SYNC)) != 0 || o->reserved != 0)
		return emi_fail(err, EM_ERR_INVAL, "em_element_opts.flags is %" PRIu32 ": there are unknown ones",
				o->flags);
	if (o->element_bytes > SIZE_MAX / 2)
		return emi_fail(err, EM_ERR_RANGE,
				"em_element_opts.element_bytes is %" PRIu64 ": that cannot be addressed",
				o->element_bytes);
	rest = o->buffer_bytes % o->element_bytes;
	if (emi_element_kinds[o->kind - 1]->windowed && o->buffer_bytes > SIZE_MAX / 2 - o->element_bytes)
		return emi_fail(err, EM_ERR_RANGE,
				"em_element_opts.buffer_bytes is %" PRIu64 ": that cannot be addressed",
				o->buffer_bytes);
	if (rest != 0 && emi_element_kinds[o->kind - 1]->windowed)
		o->buffer_bytes += o->element_bytes - rest;
	*unit = emi_element_kinds[o->kind - 1]->unit(o->element_bytes, o->buffer_bytes);
	return EM_OK;
}

/*
 * Pages of all windows of that many bytes: those of the file, and once more each in which one window ends and the next
 * begins.  Of the ends between windows, every (page / gcd)-th lies between two pages.
 */
static uint64_t window_pages(uint64_t bytes, uint64_t window)
{
	const uint64_t page = emi_element_page();
	uint64_t a = window, b = page, t, ends;

	if (bytes == 0)
		return 0;
	while (b != 0) {
		t = a % b;
		a = b;
		b = t;
	}
	ends = (bytes - 1) / window;
	return bytes / page + (bytes % page != 0) + ends - ends / (page / a);
}

em_status em_element_predict(const em_element_opts *opts, uint64_t n, em_element_stats *stats)
{
	em_errinfo *err = EMI_ERRINFO_OF(em_element_opts, opts);
	em_element_stats full = EM_ELEMENT_STATS_INIT;
	em_element_opts o;
	uint64_t unit, bytes;
	em_status status;

	emi_errinfo_clear(err);
	status = EMI_STRUCT_CHECK(em_element_stats, stats, err);
	if (status == EM_OK)
		status = emi_element_opts(&o, opts, &unit, err);
	if (status != EM_OK)
		return status;
	if (n > (uint64_t)INT64_MAX / o.element_bytes)
		return emi_fail(err, EM_ERR_RANGE, "%" PRIu64 " elements of %" PRIu64 " bytes: no file can hold them",
				n, o.element_bytes);
	bytes = n * o.element_bytes;
	full.kind = o.kind;
	full.elements = n;
	full.buffer_bytes = unit;
	full.ios = bytes / unit + (bytes % unit != 0);
	full.bytes = emi_element_kinds[o.kind - 1]->maps ? window_pages(bytes, unit) * emi_element_page() : bytes;
	return EMI_STRUCT_GIVE(em_element_stats, stats, &full);
}
