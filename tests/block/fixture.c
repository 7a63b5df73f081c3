/* SPDX-License-Identifier: BSL-1.0 */
/* fixture.c -- see fixture.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "block/fixture.h"

static void note(void *user, int32_t level, const char *line)
{
	fixture *f = user;

	if (level != EM_LOG_WARN)
		return;
	f->warned++;
	snprintf(f->warning, sizeof f->warning, "%s", line);
}

void fixture_open_threads(fixture *f, const em_backend *const *backends, uint32_t n, uint32_t flags, uint32_t threads)
{
	static uint64_t opened;
	const em_disk_opts one = EM_DISK_OPTS_INIT;
	em_disk_opts disk[FIXTURE_DISKS];
	const em_disk_opts *list[FIXTURE_DISKS];
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	uint32_t i;

	memset(f, 0, sizeof *f);
	f->rng = test_rng_make(test_seed() + opened++);
	test_memory_init(&f->mem, 0);
	opts.memory = 32u << 20;
	opts.threads = threads;
	opts.allocator = &f->mem.allocator;
	opts.flags = flags;
	opts.log = note;
	opts.log_user = f;
	for (i = 0; i < n; i++) {
		assert_int_equal(em_fault_init(&f->fault[i], sizeof f->fault[i], backends[i]), EM_OK);
		f->fault[i].ops = 0;
		disk[i] = one;
		disk[i].custom = em_fault_backend(&f->fault[i]);
		list[i] = &disk[i];
		if (n > 1)
			disk[i].path = f->dir[i] = test_dir_make();
	}
	if (n > 1) {
		opts.disks = list;
		opts.ndisks = n;
	} else {
		opts.custom = disk[0].custom;
	}
	assert_int_equal(em_ctx_open(&f->ctx, &opts), EM_OK);
	if (emi_scratch_acquire(f->ctx, &f->disk, &f->err) != EM_OK)
		fail_msg("%s", f->err.text);
}

void fixture_open_with(fixture *f, const em_backend *const *backends, uint32_t n, uint32_t flags)
{
	fixture_open_threads(f, backends, n, flags, 1);
}

void fixture_open_on(fixture *f, const em_backend *const *backends, uint32_t n)
{
	fixture_open_with(f, backends, n, 0);
}

void fixture_open(fixture *f, const char *name)
{
	const em_backend *backend = em_backend_find(name);

	fixture_open_on(f, &backend, 1);
}

void fixture_fail_by_chance(fixture *f, unsigned k, em_status (*step)(void *what), void *what)
{
	static const uint64_t one_in[] = {2, 10, 50};
	unsigned i, failures = 0;

	em_fault_set_random(&f->fault[0], EM_FAULT_READ | EM_FAULT_WRITE, one_in[k % 3], test_random(&f->rng));
	for (i = 0; i < 500; i++) {
		const em_status st = step(what);

		assert_true(st == EM_OK || st == EM_ERR_IO);
		failures += st != EM_OK;
	}
	em_fault_set(&f->fault[0], 0, 0, 0);
	print_message("%u failures by %u transfers\n", failures, (unsigned)f->fault[0].injected);
	assert_true(f->fault[0].injected != 0 || k % 3 != 0);
}

void fixture_close(fixture *f)
{
	uint32_t i;

	if (f->disk != NULL)
		emi_scratch_release(f->ctx, f->disk);
	em_ctx_close(f->ctx);
	test_memory_assert_clean(&f->mem);
	for (i = 0; i < FIXTURE_DISKS; i++) {
		if (f->dir[i] == NULL)
			continue;
		assert_dir_empty(f->dir[i]);
		test_dir_remove(f->dir[i]);
	}
}
