/* SPDX-License-Identifier: BSL-1.0 */
/* structs.c -- see structs.h. */
#include "base/structs.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

/* No version has so many bytes more: a larger size is no size. */
#define MOST_NEWER 4096u

static uint32_t size_of(const void *theirs)
{
	uint32_t size;

	memcpy(&size, theirs, sizeof size);
	return size;
}

em_status emi_struct_check(const void *theirs, size_t full, size_t first, const char *name, em_errinfo *err)
{
	uint32_t size;

	if (theirs == NULL)
		return emi_fail(err, EM_ERR_INVAL, "%s: it is NULL", name);
	size = size_of(theirs);
	if (size >= first && size <= full + MOST_NEWER)
		return EM_OK;
	return emi_fail(err, EM_ERR_VERSION, "%s: its size is %" PRIu32 ", and no version has less than %" PRIu64
			" bytes: use the initialiser", name, size, (uint64_t)first);
}

em_status emi_struct_take(void *ours, const void *theirs, size_t full, size_t first, const char *name, em_errinfo *err)
{
	const uint32_t own = (uint32_t)full;
	const unsigned char *from = theirs;
	em_status st = EM_OK;
	uint32_t size = own;
	size_t i;

	memset(ours, 0, full);
	if (theirs != NULL) {
		st = emi_struct_check(theirs, full, first, name, err);
		if (st != EM_OK)
			return st;
		size = size_of(theirs);
		for (i = full; i < size; i++)
			if (from[i] != 0)
				return emi_fail(err, EM_ERR_VERSION, "%s has options at byte %" PRIu64
						" that this version does not know", name, (uint64_t)i);
		memcpy(ours, theirs, size < full ? size : full);
	}
	memcpy(ours, &own, sizeof own);
	return EM_OK;
}

em_status emi_struct_give(void *theirs, const void *ours, size_t full, size_t first)
{
	const em_status st = emi_struct_check(theirs, full, first, "", NULL);
	uint32_t size;

	if (st != EM_OK)
		return st;
	size = size_of(theirs);
	memset(theirs, 0, size);
	memcpy(theirs, ours, size < full ? size : full);
	memcpy(theirs, &size, sizeof size);
	return EM_OK;
}

em_errinfo *emi_struct_errinfo(const void *theirs, size_t full, size_t first, size_t at)
{
	em_errinfo *err;
	uint32_t size;

	if (theirs == NULL)
		return NULL;
	size = size_of(theirs);
	if (size != 0 && (size < first || size > full + MOST_NEWER))
		return NULL;
	memcpy(&err, (const char *)theirs + at, sizeof err);
	return err;
}
