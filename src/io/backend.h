/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend.h -- the backends that are built in.
 *
 * Internal names of what extmem/sys/backend.h offers, and the tables themselves; a backend that is a variant of
 * another (libaio and memory of syscall) borrows its functions.
 */
#ifndef EMI_BACKEND_H
#define EMI_BACKEND_H

#include <extmem/sys/backend.h>

/* The built-in backend of that name that works here, or NULL.  NULL: the best: libaio if the kernel lets us, else
 * syscall. */
const em_backend *emi_backend_find(const char *name);

/* Those that work here, best first. */
uint32_t emi_backend_count(void);
const em_backend *emi_backend_at(uint32_t i);

/* Is a caller's own backend complete?  NULL, or what is wrong with it. */
const char *emi_backend_flaw(const em_backend *be);

/* Can it give space back?  Tables made before there was discard end in front of it. */
int emi_backend_discards(const em_backend *be);

extern const em_backend emi_backend_syscall;
extern const em_backend emi_backend_memory;
extern const em_backend emi_backend_simdisk;

/* NULL where it is not built in, or the kernel refuses it. */
const em_backend *emi_backend_libaio(void);

#endif
