/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend.h -- the backends that are built in.
 *
 * Internal names of what extmem/sys/backend.h offers, and the tables themselves; a backend that is a variant of
 * another (libaio, io_uring and memory of syscall) borrows its functions.
 */
#ifndef EMI_BACKEND_H
#define EMI_BACKEND_H

#include <extmem/sys/backend.h>

/* The built-in backend of that name that works here, or NULL.  NULL: the best: libaio if the kernel lets us, else
 * io_uring, else syscall. */
const em_backend *emi_backend_find(const char *name);

/* Those that work here, best first. */
uint32_t emi_backend_count(void);
const em_backend *emi_backend_at(uint32_t i);

/* The errno with which the kernel refuses the built-in backend of that name, 0 if it does not or there is none. */
int emi_backend_refusal(const char *name);

/* Is a caller's own backend complete?  NULL, or what is wrong with it. */
const char *emi_backend_flaw(const em_backend *be);

/* Can it give space back, bring data to the device, take transfers through a channel?  Tables made before there was such a function
 * end in front of it. */
int emi_backend_discards(const em_backend *be);
int emi_backend_syncs(const em_backend *be);
int emi_backend_has_channel(const em_backend *be);

extern const em_backend emi_backend_syscall;
extern const em_backend emi_backend_memory;

/* NULL where it is not built in, or the kernel refuses it. */
const em_backend *emi_backend_libaio(void);
const em_backend *emi_backend_io_uring(void);
int emi_backend_io_uring_refusal(void);

#endif
