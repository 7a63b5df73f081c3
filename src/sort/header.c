/* SPDX-License-Identifier: BSL-1.0 */
/* header.c -- see header.h. */
#include "sort/header.h"

#include "sort/record_hash.h"
#include "stream/records.h"

/* Another file begins. */
static void begin(emi_header *h, uint32_t file)
{
	if (!h->begun)
		h->first = file;
	h->begun = 1;
	h->file = file;
	h->left = h->records;
	h->hash = 0;
}

static const char *name_of(const emi_header *h, uint32_t file)
{
	return strcmp(h->paths[file], "-") == 0 ? "standard input" : h->paths[file];
}

/* The header of a file is complete. */
static void compare(emi_header *h)
{
	if (h->hash != h->first_hash)
		emi_log(h->ctx, EM_LOG_WARN, "%s: its header is left out, although it is not that of %s",
			name_of(h, h->file), name_of(h, h->first));
}

em_status emi_header_take(emi_header *h, uint32_t file, const unsigned char **at, const unsigned char *end,
			  uint64_t *records, em_errinfo *err)
{
	em_status st = EM_OK;

	*records = 0;
	if (h->records == 0)
		return EM_OK;
	if (!h->begun || h->file != file)
		begin(h, file);
	while (st == EM_OK && h->left != 0 && *at != end) {
		const unsigned char *from = *at, *record;
		size_t n;

		record = emi_record_take(h->format, at, end, &n);
		h->hash = emi_hash_join(h->hash, emi_record_hash(record, n));
		h->left--;
		++*records;
		if (file == h->first) {
			h->first_hash = h->hash;
			st = h->to(h->arg, from, (size_t)(*at - from), err);
		} else if (h->left == 0) {
			compare(h);
		}
	}
	return st;
}
