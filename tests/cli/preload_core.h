/* SPDX-License-Identifier: BSL-1.0 */
/* preload_core.h -- what functions that stand in front of the C library ask: are they to fail?  See preload.c. */
#ifndef EM_PRELOAD_CORE_H
#define EM_PRELOAD_CORE_H

#include <sys/types.h>

#include "cli/preload.h"

/* The command has names of its own, which must not take the place of these. */
#define PRELOAD_OWN __attribute__((visibility("hidden")))

#define NO_FD (-1)

/* Where a function returns to. */
#define HERE __builtin_return_address(0)

/* The next definition of a function, as files of 64 bits have it, or by its plain name. */
PRELOAD_OWN void *preload_next(const char *name64, const char *name);

/* What is to come of this call, which returns to the address: 0: it is made; above: the errno that it fails with;
 * else PRELOAD_SHORT or PRELOAD_ZERO. */
PRELOAD_OWN int preload_fate(const char *call, int fd, const void *to);

/* The call fails: the errno is set. */
PRELOAD_OWN int preload_fails(const char *call, int fd, const void *to);

/* Memory that is perhaps shared with the kernel, for io_uring (preload_async.c). */
PRELOAD_OWN void preload_note_ring(int fd, off_t what, void *at);

#endif
