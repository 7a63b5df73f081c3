/* SPDX-License-Identifier: BSL-1.0 */
/*
 * ram_file.h -- files of backends that keep temporary ones in memory.
 *
 * Only those are: what has a name, or is to get one, is a file of the syscall backend.  A handle of such a backend
 * points to a struct that begins with an emi_ram, so these functions go into its table as they are, or are called by
 * its own.
 */
#ifndef EMI_RAM_FILE_H
#define EMI_RAM_FILE_H

#include "io/backend.h"
#include "io/memory_store.h"

typedef struct emi_ram {
	void *named;            /* the syscall backend's handle; NULL: in memory */
	emi_memory_store store;        /* only then */
} emi_ram;

/* Open it as how says; direct is refused, or done without, for the given reason, a static text.  0 or an errno;
 * how->handle is the caller's to set. */
int emi_ram_open(emi_ram *f, em_backend_open *how, const char *reason);

/* Release what it consists of, but not the struct. */
void emi_ram_release(emi_ram *f, int forked);

/* Functions for the table. */
int emi_ram_get_size(void *handle, uint64_t *bytes);
int emi_ram_set_size(void *handle, uint64_t bytes);
int emi_ram_reserve(void *handle, uint64_t offset, uint64_t bytes);
int emi_ram_discard(void *handle, uint64_t offset, uint64_t bytes);
int emi_ram_sync(void *handle);
int emi_ram_fd(void *handle);
int64_t emi_ram_read(void *handle, void *buf, size_t bytes, uint64_t offset);
int64_t emi_ram_write(void *handle, const void *buf, size_t bytes, uint64_t offset);

#endif
