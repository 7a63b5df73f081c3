/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend.c -- which backends there are.
 *
 * A backend that works everywhere is named by its table.  One that needs something of the system is asked each time: it
 * answers with its table, or with the reason why it is of no use here.
 */
#include <string.h>

#include "io/backend.h"

typedef struct known {
	const char *name;
	const em_backend *table;                    /* NULL: ask */
	const em_backend *(*ask)(const char **why); /* NULL and *why: does not work here */
} known;

/* Best first. */
static const known all[] = {
	{ "libaio", NULL, emi_backend_libaio },
	{ "io_uring", NULL, emi_backend_io_uring },
	{ "syscall", &emi_backend_syscall, NULL },
	{ "stdio", NULL, emi_backend_stdio },
	{ "mmap", &emi_backend_mmap, NULL },
	{ "memory", &emi_backend_memory, NULL },
	{ "simdisk", &emi_backend_simdisk, NULL },
};

enum { KNOWN = sizeof all / sizeof *all };

static const em_backend *get(const known *k, const char **why)
{
	return k->table ? k->table : k->ask(why);
}

const em_backend *emi_backend_at(uint32_t i)
{
	const em_backend *be;
	const char *why;
	uint32_t k;

	for (k = 0; k < KNOWN; k++) {
		be = get(&all[k], &why);
		if (be && i-- == 0)
			return be;
	}
	return NULL;
}

uint32_t emi_backend_count(void)
{
	uint32_t n = 0;

	while (emi_backend_at(n))
		n++;
	return n;
}

const em_backend *emi_backend_named(const char *name, const char **why)
{
	uint32_t k;

	*why = NULL;
	for (k = 0; k < KNOWN; k++)
		if (strcmp(all[k].name, name) == 0)
			return get(&all[k], why);
	return NULL;
}

const em_backend *emi_backend_find(const char *name)
{
	const char *why;

	return name ? emi_backend_named(name, &why) : emi_backend_at(0);
}

const char *emi_backend_flaw(const em_backend *be)
{
	if (!be->name)
		return "it has no name";
	if (!be->open || !be->close || !be->get_size || !be->set_size || !be->read || !be->write)
		return "it lacks a function";
	if (!be->submit != !be->reap || (be->submit && !emi_backend_has_channel(be)))
		return "it lacks some of submit, reap, open_channel and close_channel";
	return NULL;
}

int emi_backend_in_memory(const em_backend *be)
{
	return be->open == emi_backend_memory.open || be->open == emi_backend_simdisk.open;
}

int emi_backend_is_real(const em_backend *be)
{
	const char *why;

	return emi_backend_named(be->name, &why) == be && !emi_backend_in_memory(be);
}

int emi_backend_discards(const em_backend *be)
{
	return be->discard != NULL;
}

int emi_backend_syncs(const em_backend *be)
{
	return be->sync != NULL;
}

int emi_backend_has_channel(const em_backend *be)
{
	return be->submit && be->reap && be->open_channel && be->close_channel;
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

int em_backend_supported(const char *name)
{
	return name != NULL && emi_backend_find(name) != NULL;
}
