/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_base.c -- what backends share that move bytes in another way, but open and measure files as syscall does.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/backend.h"

static void *base_of(void *handle)
{
	const emi_base *f = handle;

	return f->handle;
}

static int open_plain(emi_base *f, em_backend_open *how, const char *reason)
{
	em_backend_open plain = *how;
	int e;

	if (how->want_direct != EM_DIRECT_OFF)
		how->reason = reason;
	/* Before opening, which may create the file. */
	if (how->want_direct == EM_DIRECT_ON)
		return EOPNOTSUPP;
	plain.want_direct = EM_DIRECT_OFF;
	e = emi_backend_syscall.open(NULL, &plain);
	f->handle = plain.handle;
	how->in_memory = plain.in_memory;
	f->writable = (how->flags & (EM_OPEN_WRITE | EM_OPEN_TEMP | EM_OPEN_LINKABLE)) != 0;
	return e;
}

int emi_base_open(em_backend_open *how, size_t bytes, const char *reason, int (*start)(void *handle))
{
	emi_base *f = calloc(1, bytes);
	int e;

	if (!f)
		return ENOMEM;
	e = open_plain(f, how, reason);
	if (e != 0)
		goto no_file;
	e = start(f);
	if (e != 0)
		goto no_start;
	how->handle = f;
	return 0;
no_start:
	if (how->flags & EM_OPEN_CREATE)
		(void)unlink(how->path);
	emi_backend_syscall.close(f->handle, 0);
no_file:
	free(f);
	return e;
}

int emi_base_get_size(void *handle, uint64_t *bytes)
{
	return emi_backend_syscall.get_size(base_of(handle), bytes);
}

int emi_base_set_size(void *handle, uint64_t bytes)
{
	return emi_backend_syscall.set_size(base_of(handle), bytes);
}

int emi_base_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	return emi_backend_syscall.reserve(base_of(handle), offset, bytes);
}

int emi_base_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	return emi_backend_syscall.discard(base_of(handle), offset, bytes);
}

int emi_base_sync(void *handle)
{
	return emi_backend_syscall.sync(base_of(handle));
}

int emi_base_fd(void *handle)
{
	return emi_backend_syscall.fd(base_of(handle));
}
