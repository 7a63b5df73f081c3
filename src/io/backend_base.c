/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_base.c -- what backends share that move bytes in another way, but open and measure files as syscall does.
 */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "io/backend.h"

static void *base_of(void *handle)
{
	return *(void **)handle;
}

int emi_base_open(void **base, em_backend_open *how, const char *reason)
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
	*base = plain.handle;
	return e;
}

void emi_base_undo(void *base, const em_backend_open *how)
{
	if (how->flags & EM_OPEN_CREATE)
		(void)unlink(how->path);
	emi_backend_syscall.close(base, 0);
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
