/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend.c -- which backends there are.
 */
#include <stddef.h>
#include <string.h>

#include "io/backend.h"

const em_backend *emi_backend_at(uint32_t i)
{
	const em_backend *all[4];
	uint32_t n = 0;

	all[n] = emi_backend_libaio();
	if (all[n])
		n++;
	all[n] = emi_backend_io_uring();
	if (all[n])
		n++;
	all[n++] = &emi_backend_syscall;
	all[n++] = &emi_backend_memory;
	return i < n ? all[i] : NULL;
}

uint32_t emi_backend_count(void)
{
	uint32_t n = 0;

	while (emi_backend_at(n))
		n++;
	return n;
}

const em_backend *emi_backend_find(const char *name)
{
	const em_backend *be;
	uint32_t i;

	for (i = 0; (be = emi_backend_at(i)) != NULL; i++)
		if (!name || strcmp(be->name, name) == 0)
			return be;
	return NULL;
}

int emi_backend_refusal(const char *name)
{
	return strcmp(name, "io_uring") == 0 ? emi_backend_io_uring_refusal() : 0;
}

/* Does a table, which may have been made before there was that function, reach as far as the field that ends there? */
static int reaches(const em_backend *be, size_t end)
{
	return be->size >= end;
}

const char *emi_backend_flaw(const em_backend *be)
{
	if (be->size < offsetof(em_backend, discard) || be->size > sizeof *be || be->size % sizeof be->discard != 0)
		return "its size is not that of em_backend";
	if (!be->name)
		return "it has no name";
	if (!be->open || !be->close || !be->get_size || !be->set_size || !be->read || !be->write)
		return "it lacks a function";
	if (!be->submit != !be->reap || (be->submit && !emi_backend_has_channel(be)))
		return "it lacks some of submit, reap, open_channel and close_channel";
	return NULL;
}

int emi_backend_discards(const em_backend *be)
{
	return reaches(be, offsetof(em_backend, sync)) && be->discard != NULL;
}

int emi_backend_syncs(const em_backend *be)
{
	return reaches(be, offsetof(em_backend, open_channel)) && be->sync != NULL;
}

int emi_backend_has_channel(const em_backend *be)
{
	return reaches(be, sizeof *be) && be->submit && be->reap && be->open_channel && be->close_channel;
}

const em_backend *em_backend_find(const char *name)
{
	return emi_backend_find(name);
}

uint32_t em_backend_count(void)
{
	return emi_backend_count();
}

const em_backend *em_backend_at(uint32_t i)
{
	return emi_backend_at(i);
}
