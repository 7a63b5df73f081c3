/* SPDX-License-Identifier: BSL-1.0 */
/*
 * process.c -- which process this is.
 *
 * A context works only in the process that made it, and every call looks whether this is that one.  To ask the kernel
 * takes a tenth of what a small transfer does.  So the answer is kept in a page that the kernel empties in a child,
 * however that was made: whoever finds nothing there asks, and writes it down.  It is the one thing here that a process
 * has and not a context; it holds nothing that anybody could change.  Where there are no such pages the kernel is asked
 * each time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/process.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int64_t *kept;           /* the process id, or 0; atomic; NULL: it is not kept */

static void make_page(void)
{
#if defined(MADV_WIPEONFORK) && defined(MAP_ANONYMOUS)
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	if (madvise(p, page, MADV_WIPEONFORK) == 0)
		kept = p;
	else
		(void)munmap(p, page);
#endif
}

int64_t emi_process_id(void)
{
	int64_t id;

	pthread_once(&once, make_page);
	if (!kept)
		return (int64_t)getpid();
	id = __atomic_load_n(kept, __ATOMIC_RELAXED);
	if (id == 0) {
		id = (int64_t)getpid();
		__atomic_store_n(kept, id, __ATOMIC_RELAXED);
	}
	return id;
}
