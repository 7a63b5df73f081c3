/* SPDX-License-Identifier: BSL-1.0 */
/*
 * budget.c -- what this machine and the limits of this process leave us.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
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

/* What the process has in use of its address space, and of that as data; 0 where that is not told. */
static void memory_in_use(uint64_t *space, uint64_t *data)
{
	FILE *f = fopen("/proc/self/statm", "re");

	*space = *data = 0;
	if (f == NULL)
		return;
	/* size resident shared text lib data dt, all in pages */
	if (fscanf(f, "%" SCNu64 " %*u %*u %*u %*u %" SCNu64, space, data) == 2) {
		*space *= (uint64_t)sysconf(_SC_PAGESIZE);
		*data *= (uint64_t)sysconf(_SC_PAGESIZE);
	} else {
		*space = *data = 0;
	}
	fclose(f);
}

/* What a limit is, if getrlimit() did not fail; UINT64_MAX: none. */
static uint64_t limit_of(int failed, const struct rlimit *limit)
{
	return failed != 0 || limit->rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit->rlim_cur;
}

static uint64_t left_of(uint64_t limit, uint64_t used)
{
	return limit == UINT64_MAX ? limit : limit > used ? limit - used : 0;
}

static uint64_t address_limit(void)
{
#ifdef RLIMIT_AS
	struct rlimit limit;

	return limit_of(getrlimit(RLIMIT_AS, &limit), &limit);
#else
	return UINT64_MAX;
#endif
}

static uint64_t data_limit(void)
{
	struct rlimit limit;

	return limit_of(getrlimit(RLIMIT_DATA, &limit), &limit);
}

void emi_memory_bounds(emi_bound bounds[EMI_BOUNDS])
{
	uint64_t space, data;

	memory_in_use(&space, &data);
	bounds[0].bytes = emi_physical_memory();
	bounds[0].what = "of physical memory";
	bounds[1].bytes = emi_cgroup_memory("");
	bounds[1].what = "that the control group's limit allows";
	bounds[2].bytes = left_of(address_limit(), space);
	bounds[2].what = "that the limit on the address space (ulimit -v) leaves";
	bounds[3].bytes = left_of(data_limit(), data);
	bounds[3].what = "that the limit on data (ulimit -d) leaves";
}

const char *emi_memory_rlimit(uint64_t *bytes)
{
	const uint64_t space = address_limit(), data = data_limit();

	*bytes = space < data ? space : data;
	if (*bytes == UINT64_MAX)
		return NULL;
	return space < data ? "address space (ulimit -v)" : "data (ulimit -d)";
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
