/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_memory.c -- scratch that is kept in memory; files with a name are the syscall backend's.
 */
#include <errno.h>
#include <stdlib.h>

#include "io/ram_file.h"

static int mem_open(void *user, em_backend_open *how)
{
	emi_ram *f = calloc(1, sizeof *f);
	int e;

	(void)user;
	if (!f)
		return ENOMEM;
	e = emi_ram_open(f, how, "it is kept in memory");
	if (e != 0)
		free(f);
	else
		how->handle = f;
	return e;
}

static void mem_close(void *handle, int forked)
{
	emi_ram_release(handle, forked);
	free(handle);
}

const em_backend emi_backend_memory = {
	.size = sizeof(em_backend),
	.name = "memory",
	.open = mem_open,
	.close = mem_close,
	.get_size = emi_ram_get_size,
	.set_size = emi_ram_set_size,
	.reserve = emi_ram_reserve,
	.fd = emi_ram_fd,
	.read = emi_ram_read,
	.write = emi_ram_write,
	.discard = emi_ram_discard,
	.sync = emi_ram_sync,
};
