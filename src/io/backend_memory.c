/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_memory.c -- scratch that is kept in memory.
 *
 * Only temporary files are, in an emi_store: named ones are looked up in the file system, by the syscall backend.
 */
#include <errno.h>
#include <stdlib.h>

#include "io/backend.h"
#include "io/memory_store.h"

typedef struct mem_file {
	void *named;            /* the syscall backend's handle; NULL: in memory */
	emi_store store;
} mem_file;

static int mem_open(void *user, em_backend_open *how)
{
	mem_file *f;
	int e = 0;

	if ((how->flags & EM_OPEN_TEMP) && how->want_direct == EM_DIRECT_ON) {
		how->reason = "it is kept in memory";
		return EOPNOTSUPP;
	}
	f = calloc(1, sizeof *f);
	if (!f)
		return ENOMEM;
	if (how->flags & EM_OPEN_TEMP) {
		how->reason = "it is kept in memory";
		e = emi_store_init(&f->store);
	} else {
		e = emi_backend_syscall.open(user, how);
		f->named = how->handle;
	}
	if (e != 0) {
		free(f);
		return e;
	}
	how->handle = f;
	return 0;
}

static void mem_close(void *handle, int forked)
{
	mem_file *f = handle;

	if (f->named)
		emi_backend_syscall.close(f->named, forked);
	else
		emi_store_free(&f->store, forked);
	free(f);
}

static int mem_get_size(void *handle, uint64_t *bytes)
{
	mem_file *f = handle;

	if (f->named)
		return emi_backend_syscall.get_size(f->named, bytes);
	*bytes = emi_store_size(&f->store);
	return 0;
}

static int mem_set_size(void *handle, uint64_t bytes)
{
	mem_file *f = handle;

	if (f->named)
		return emi_backend_syscall.set_size(f->named, bytes);
	return emi_store_resize(&f->store, bytes);
}

static int mem_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	mem_file *f = handle;

	if (f->named)
		return emi_backend_syscall.reserve(f->named, offset, bytes);
	return emi_store_reserve(&f->store, offset, bytes);
}

static int mem_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	mem_file *f = handle;

	if (f->named)
		return emi_backend_syscall.discard(f->named, offset, bytes);
	return emi_store_discard(&f->store, offset, bytes);
}

static int mem_fd(void *handle)
{
	mem_file *f = handle;

	return f->named ? emi_backend_syscall.fd(f->named) : -1;
}

static int64_t mem_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	mem_file *f = handle;

	if (f->named)
		return emi_backend_syscall.read(f->named, buf, bytes, offset);
	return emi_store_read(&f->store, buf, bytes, offset);
}

static int64_t mem_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	mem_file *f = handle;

	if (f->named)
		return emi_backend_syscall.write(f->named, buf, bytes, offset);
	return emi_store_write(&f->store, buf, bytes, offset);
}

const em_backend emi_backend_memory = {
	sizeof(em_backend), 0, 0, 0, "memory", NULL,
	mem_open, mem_close, mem_get_size, mem_set_size, mem_reserve, mem_fd, mem_read, mem_write, NULL, NULL,
	mem_discard, NULL, NULL, NULL,
};
