/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scarce.c -- see scarce.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "common/scarce.h"

#if defined(__linux__) && defined(__GLIBC__)

#include <dlfcn.h>

typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int (*affinity_fn)(pid_t, size_t, cpu_set_t *);

static int64_t left = -1;       /* atomic */
static uint32_t cpus;

int test_scarce(void)
{
	return 1;
}

void test_threads_left(int64_t n)
{
	__atomic_store_n(&left, n, __ATOMIC_SEQ_CST);
}

void test_cpus(uint32_t n)
{
	cpus = n;
}

/* What a sanitizer has for it, which must know of each thread; clang links it statically, so that it is not the next
 * one. */
extern int __interceptor_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)
	__attribute__((weak));

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	int64_t now = __atomic_load_n(&left, __ATOMIC_SEQ_CST);
	create_fn create = __interceptor_pthread_create;
	void *address = next("pthread_create");

	while (now > 0 && !__atomic_compare_exchange_n(&left, &now, now - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		continue;
	if (now == 0 || address == NULL)
		return EAGAIN;
	if (create == NULL)
		memcpy(&create, &address, sizeof create);
	return create(thread, attr, fn, arg);
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	void *address = next("sched_getaffinity");
	affinity_fn ask;
	uint32_t i;

	if (cpus == 0) {
		memcpy(&ask, &address, sizeof ask);
		return ask(pid, bytes, set);
	}
	CPU_ZERO_S(bytes, set);
	for (i = 0; i < cpus; i++)
		CPU_SET_S(i, bytes, set);
	return 0;
}

#else

int test_scarce(void)
{
	return 0;
}

void test_threads_left(int64_t n)
{
	(void)n;
}

void test_cpus(uint32_t n)
{
	(void)n;
}

#endif
