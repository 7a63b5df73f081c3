/* SPDX-License-Identifier: BSL-1.0 */
/*
 * ram_file.c -- files of backends that keep temporary ones in memory; see ram_file.h.
 */
#include <errno.h>

#include "io/ram_file.h"

int emi_ram_open(emi_ram *f, em_backend_open *how, const char *reason)
{
	int e;

	f->named = NULL;
	if (how->flags & EM_OPEN_TEMP) {
		how->reason = reason;
		return how->want_direct == EM_DIRECT_ON ? EOPNOTSUPP : emi_memory_store_init(&f->store);
	}
	e = emi_backend_syscall.open(NULL, how);
	f->named = how->handle;
	return e;
}

void emi_ram_release(emi_ram *f, int forked)
{
	if (f->named)
		emi_backend_syscall.close(f->named, forked);
	else
		emi_memory_store_free(&f->store, forked);
}

int emi_ram_get_size(void *handle, uint64_t *bytes)
{
	emi_ram *f = handle;

	if (f->named)
		return emi_backend_syscall.get_size(f->named, bytes);
	*bytes = emi_memory_store_size(&f->store);
	return 0;
}

int emi_ram_set_size(void *handle, uint64_t bytes)
{
	emi_ram *f = handle;

	return f->named ? emi_backend_syscall.set_size(f->named, bytes)
			: emi_memory_store_resize(&f->store, bytes);
}

int emi_ram_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	emi_ram *f = handle;

	return f->named ? emi_backend_syscall.reserve(f->named, offset, bytes)
			: emi_memory_store_reserve(&f->store, offset, bytes);
}

int emi_ram_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	emi_ram *f = handle;

	return f->named ? emi_backend_syscall.discard(f->named, offset, bytes)
			: emi_memory_store_discard(&f->store, offset, bytes);
}

int emi_ram_sync(void *handle)
{
	emi_ram *f = handle;

	return f->named ? emi_backend_syscall.sync(f->named) : 0;
}

int emi_ram_fd(void *handle)
{
	emi_ram *f = handle;

	return f->named ? emi_backend_syscall.fd(f->named) : -1;
}

int64_t emi_ram_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	emi_ram *f = handle;

	return f->named ? emi_backend_syscall.read(f->named, buf, bytes, offset)
			: emi_memory_store_read(&f->store, buf, bytes, offset);
}

int64_t emi_ram_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	emi_ram *f = handle;

	return f->named ? emi_backend_syscall.write(f->named, buf, bytes, offset)
			: emi_memory_store_write(&f->store, buf, bytes, offset);
}
