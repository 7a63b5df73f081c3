/* SPDX-License-Identifier: BSL-1.0 */
/*
 * budget.c -- what this machine and the limits of this process leave us.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/budget.h"

/* Descriptors are looked for up to this number; who has more open than that has a limit far above it. */
#define LOOK_AT 1024u

uint64_t emi_physical_memory(void)
{
#ifdef _SC_PHYS_PAGES
	long pages = sysconf(_SC_PHYS_PAGES);
	long page = sysconf(_SC_PAGESIZE);

	if (pages > 0 && page > 0)
		return (uint64_t)pages * (uint64_t)page;
#endif
	return UINT64_MAX;
}

uint32_t emi_usable_cores(void)
{
	long n = 0;
#ifdef __linux__
	cpu_set_t set;

	/* On machines with more processors than the set has room for this fails, and what is online counts. */
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
#endif
	if (n <= 0)
		n = sysconf(_SC_NPROCESSORS_ONLN);
	if (n <= 0)
		return 1;
	return n > INT32_MAX ? INT32_MAX : (uint32_t)n;
}

uint32_t emi_free_descriptors(void)
{
	struct rlimit limit;
	uint32_t most = UINT32_MAX;
	uint32_t used = 0;
	uint32_t fd;

	/* RLIM_INFINITY is above anything that a uint32_t holds. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < most)
		most = (uint32_t)limit.rlim_cur;
	for (fd = 0; fd < most && fd < LOOK_AT; fd++)
		if (fcntl((int)fd, F_GETFD) != -1 || errno != EBADF)
			used++;
	return most - used;
}
