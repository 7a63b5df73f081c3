/* SPDX-License-Identifier: BSL-1.0 */
/*
 * preload.c -- a library for LD_PRELOAD that makes a call of the system fail, be short, or return 0; see preload.h.
 *
 * It stands in front of the C library for the functions in preload_calls.c and preload_async.c.  Only calls that the
 * command or libextmem make themselves count, not those that the C library makes for its own ends.  Each call has a
 * place: the function, the addresses of the command and the library that it came through, and the kind of file.  The
 * same call of another run has the same place, wherever the files are loaded, and whatever other threads do meanwhile.
 *
 * Here is how places are told apart, and what is to happen to a call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/preload_core.h"

#define FRAMES 24
#define DEPTH 6         /* callers that make a place */
#define MODULES 2       /* the command and the library */
#define PLACES 4096u

/* A place, and how often it was reached. */
typedef struct place {
	uint64_t key;           /* 0: free */
	const char *call;
	char kind;
	uint64_t count;
} place;

static struct {
	uintptr_t from, to, base;
} module[MODULES];
static unsigned modules;

static place places[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t injected;

/* What is to happen: from EXTMEM_PRELOAD_FAIL. */
static struct {
	char call[PRELOAD_NAME];
	uint64_t key;           /* 0: at any place */
	uint64_t nth;           /* 0: nothing is to happen */
	uint64_t times;
	int how;
	uint64_t reached;
} plan;

static const char *log_path, *scratch;
/* Finding out where a call comes from makes calls, too. */
static __thread int inside;
static int ready;

void *preload_next(const char *name64, const char *name)
{
	void *at = name64 ? dlsym(RTLD_NEXT, name64) : NULL;

	return at ? at : dlsym(RTLD_NEXT, name);
}

static int note_module(struct dl_phdr_info *info, size_t size, void *user)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash ? slash + 1 : info->dlpi_name;
	int i;

	(void)size;
	(void)user;
	if (modules == MODULES || (*name && strncmp(name, "libextmem.", 10)))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		module[modules].base = (uintptr_t)info->dlpi_addr;
		module[modules].from = (uintptr_t)info->dlpi_addr + (uintptr_t)p->p_vaddr;
		module[modules].to = module[modules].from + (uintptr_t)p->p_memsz;
		modules++;
		break;
	}
	return 0;
}

/* Which of the modules an address is in; MODULES: none. */
static unsigned module_of(const void *at)
{
	unsigned i;

	for (i = 0; i < modules; i++)
		if ((uintptr_t)at >= module[i].from && (uintptr_t)at < module[i].to)
			return i;
	return MODULES;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 29);
}

/* What sort of file: s: scratch, o: an output that has no name of its own yet, f: another file, p: anything else, -:
 * none. */
static char kind_of(int fd)
{
	static ssize_t (*next)(const char *, char *, size_t);
	char link[32], path[4096];
	ssize_t n;

	if (fd < 0)
		return '-';
	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "readlink");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = next(link, path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/')
		return 'p';
	path[n] = '\0';
	if (scratch && !strncmp(path, scratch, strlen(scratch)))
		return 's';
	return strstr(path, " (deleted)") || strstr(path, ".tmp") ? 'o' : 'f';
}

static uint64_t key_of(const char *call, char kind)
{
	void *frame[FRAMES];
	const int n = backtrace(frame, FRAMES);
	uint64_t h = (unsigned char)kind;
	int i, depth = 0;

	for (; *call; call++)
		h = mix(h, (unsigned char)*call);
	for (i = 0; i < n && depth < DEPTH; i++) {
		const unsigned m = module_of(frame[i]);

		if (m == MODULES)
			continue;
		h = mix(h, ((uintptr_t)frame[i] - module[m].base) << 1 | m);
		depth++;
	}
	return h ? h : 1;
}

/* Count a call; with the lock held. */
static void note(const char *call, char kind, uint64_t key)
{
	unsigned i;

	for (i = 0; i < PLACES; i++) {
		place *p = &places[(key + i) % PLACES];

		if (p->key && p->key != key)
			continue;
		p->key = key;
		p->call = call;
		p->kind = kind;
		p->count++;
		return;
	}
}

/* With the lock held. */
static int strikes(const char *call, uint64_t key)
{
	if (!plan.nth || strcmp(call, plan.call) || (plan.key && plan.key != key))
		return 0;
	plan.reached++;
	if (plan.reached < plan.nth || plan.reached - plan.nth >= plan.times)
		return 0;
	injected++;
	return plan.how;
}

int preload_fate(const char *call, int fd, const void *to)
{
	const int saved = errno;
	uint64_t key;
	char kind;
	int how;

	if (!ready || inside || module_of(to) == MODULES)
		return 0;
	inside = 1;
	kind = kind_of(fd);
	key = key_of(call, kind);
	pthread_mutex_lock(&lock);
	note(call, kind, key);
	how = strikes(call, key);
	pthread_mutex_unlock(&lock);
	inside = 0;
	errno = saved;
	return how;
}

int preload_fails(const char *call, int fd, const void *to)
{
	const int how = preload_fate(call, fd, to);

	if (how > 0)
		errno = how;
	return how > 0;
}

static void __attribute__((constructor)) begin(void)
{
	const char *what = getenv("EXTMEM_PRELOAD_FAIL");
	unsigned long long key, nth, times;
	void *frame[2];

	if (!getenv("EXTMEM_PRELOAD_LOG"))
		return;
	log_path = getenv("EXTMEM_PRELOAD_LOG");
	scratch = getenv("TMPDIR");
	/* The first one loads what it needs. */
	(void)backtrace(frame, 2);
	dl_iterate_phdr(note_module, NULL);
	if (what && sscanf(what, "%23s %llx %llu %llu %d", plan.call, &key, &nth, &times, &plan.how) == 5) {
		plan.key = key;
		plan.nth = nth;
		plan.times = times;
	}
	ready = 1;
}

static void __attribute__((destructor)) end(void)
{
	FILE *f;
	unsigned i;

	if (!ready)
		return;
	ready = 0;
	f = fopen(log_path, "w");
	if (!f)
		return;
	fprintf(f, "injected %llu\n", (unsigned long long)injected);
	for (i = 0; i < PLACES; i++)
		if (places[i].key)
			fprintf(f, "%s %c %llx %llu\n", places[i].call, places[i].kind,
				(unsigned long long)places[i].key, (unsigned long long)places[i].count);
	fclose(f);
}
