/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend.h -- the backends that are built in.
 *
 * Internal names of what extmem/sys/backend.h offers, and the tables themselves; a backend whose files are those of
 * another (nearly all: of syscall) borrows its functions.
 */
#ifndef EMI_BACKEND_H
#define EMI_BACKEND_H

#include <extmem/sys/backend.h>

/* The built-in backend of that name that works here, or NULL.  NULL: the best: libaio if the kernel lets us, else
 * io_uring, else syscall. */
const em_backend *emi_backend_find(const char *name);

/* As emi_backend_find() with a name; when it returns NULL, *why tells why that backend does not work here, or is NULL
 * when there is none of that name. */
const em_backend *emi_backend_named(const char *name, const char **why);

/* Those that work here, best first. */
uint32_t emi_backend_count(void);
const em_backend *emi_backend_at(uint32_t i);

/* Is a caller's own backend complete?  NULL, or what is wrong with it. */
const char *emi_backend_flaw(const em_backend *be);

/* Can it give space back, bring data to the device, take transfers through a channel? */
int emi_backend_discards(const em_backend *be);
int emi_backend_syncs(const em_backend *be);
int emi_backend_has_channel(const em_backend *be);

/* Are temporary files in memory, and files with names real ones?  Is all of it, as far as we know, in a file system? */
int emi_backend_in_memory(const em_backend *be);
int emi_backend_is_real(const em_backend *be);

extern const em_backend emi_backend_syscall;
extern const em_backend emi_backend_mmap;
extern const em_backend emi_backend_memory;
extern const em_backend emi_backend_simdisk;

/* NULL and a reason, a static text, where it is not built in or the system refuses it. */
const em_backend *emi_backend_libaio(const char **why);
const em_backend *emi_backend_io_uring(const char **why);
const em_backend *emi_backend_stdio(const char **why);

/*
 * For backends whose files are the syscall backend's, opened for buffered transfers: a handle points to a struct that
 * begins with an emi_base.
 */
typedef struct emi_base {
	void *handle;           /* the syscall backend's */
	int writable;
} emi_base;

/* Open how: make such a struct of so many zeroed bytes, open the file, and have start fill in the rest; when that fails
 * nothing is left behind.  Direct is refused, or done without, for the given reason, a static text.  0 or an errno. */
int emi_base_open(em_backend_open *how, size_t bytes, const char *reason, int (*start)(void *handle));

/* Functions for the table. */
int emi_base_get_size(void *handle, uint64_t *bytes);
int emi_base_set_size(void *handle, uint64_t bytes);
int emi_base_reserve(void *handle, uint64_t offset, uint64_t bytes);
int emi_base_discard(void *handle, uint64_t offset, uint64_t bytes);
int emi_base_sync(void *handle);
int emi_base_fd(void *handle);

#endif
