/* SPDX-License-Identifier: BSL-1.0 */
/* scratch_set.c -- see scratch_set.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "block/scratch_set.h"

static void hear(void *user, int32_t level, const char *line)
{
	heard *h = user;

	if (level < EM_LOG_WARN && strncmp(line, "scratch was closed", 18) != 0)
		return;
	h->warnings += level >= EM_LOG_WARN;
	h->level = level;
	snprintf(h->line, sizeof h->line, "%s", line);
}

void set_prepare(set *s, uint32_t n, uint32_t flags)
{
	const em_ctx_opts opts = EM_CTX_OPTS_INIT;
	const em_disk_opts disk = EM_DISK_OPTS_INIT;
	uint32_t i;

	memset(s, 0, sizeof *s);
	s->dir = test_dir_make();
	for (i = 0; i < n; i++) {
		s->disk[i] = disk;
		s->disk[i].path = s->dir;
		s->disk[i].backend = "memory";
		s->list[i] = &s->disk[i];
	}
	s->opts = opts;
	s->opts.memory = (uint64_t)64 << 20;
	s->opts.backend = "syscall";
	s->opts.disks = s->list;
	s->opts.ndisks = n;
	s->opts.allocator = &s->mem.allocator;
	s->opts.flags = flags;
	s->opts.log = hear;
	s->opts.log_user = &s->log;
	test_memory_init(&s->mem, 0);
}

emi_disk *set_user(set *s)
{
	em_errinfo err = clean();
	emi_disk *d = NULL;

	if (emi_scratch_acquire(s->ctx, &d, &err) != EM_OK)
		fail_msg("%s", err.text);
	return d;
}

void set_start(set *s)
{
	assert_int_equal(em_ctx_open(&s->ctx, &s->opts), EM_OK);
	s->d = set_user(s);
}

void set_stop(set *s)
{
	emi_scratch_release(s->ctx, s->d);
	em_ctx_close(s->ctx);
	test_memory_assert_clean(&s->mem);
	test_dir_remove(s->dir);
}
