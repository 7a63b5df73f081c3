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
	all[n++] = &emi_backend_syscall;
	all[n++] = &emi_backend_memory;
	all[n++] = &emi_backend_simdisk;
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

const char *emi_backend_flaw(const em_backend *be)
{
	if (be->size != sizeof *be && be->size != offsetof(em_backend, discard))
		return "its size is not that of em_backend";
	if (!be->name)
		return "it has no name";
	if (!be->open || !be->close || !be->get_size || !be->set_size || !be->read || !be->write)
		return "it lacks a function";
	if (!be->submit != !be->reap)
		return "it has only one of submit and reap";
	return NULL;
}

int emi_backend_discards(const em_backend *be)
{
	return be->size >= sizeof *be && be->discard != NULL;
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
