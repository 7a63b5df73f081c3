/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_room.c -- where scratch and output have their space from: an output on a file system of its own has all of its
 * space at the beginning, and one that shares it with a scratch disk gets it step by step.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extmem.h>
#include <extmem/sys/backend.h>

#include "common/test.h"
#include "io/conform_fs.h"
#include "sort/sort_model.h"

#define MIB ((uint64_t)1 << 20)
#define BYTES (12 * MIB)
#define RECORD 16u

/* The backend.  Its functions get no more than a handle, so there is one. */
static struct {
	em_backend be;
	const em_backend *inner;
	pthread_mutex_t lock;
	void *output;
	unsigned reserved;      /* how often space was asked for for the output, ... */
	uint64_t first, end;    /* ... how much at first, and up to where */
	int written;            /* something was, before all was reserved */
} w;

static int watch_open(void *user, em_backend_open *how)
{
	int e = w.inner->open(w.inner->user, how);

	(void)user;
	if (e == 0 && (how->flags & (EM_OPEN_LINKABLE | EM_OPEN_CREATE)) != 0)
		w.output = how->handle;
	return e;
}

static int watch_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	int e = w.inner->reserve(handle, offset, bytes);

	pthread_mutex_lock(&w.lock);
	if (handle == w.output && e == 0) {
		if (w.reserved++ == 0)
			w.first = bytes;
		w.end = offset + bytes;
	}
	pthread_mutex_unlock(&w.lock);
	return e;
}

static int64_t watch_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	pthread_mutex_lock(&w.lock);
	if (handle == w.output && w.end < BYTES)
		w.written = 1;
	pthread_mutex_unlock(&w.lock);
	return w.inner->write(handle, buf, bytes, offset);
}

static void watch(void)
{
	memset(&w, 0, sizeof w);
	pthread_mutex_init(&w.lock, NULL);
	w.inner = em_backend_find("syscall");
	w.be = *w.inner;
	w.be.open = watch_open;
	w.be.reserve = watch_reserve;
	w.be.write = watch_write;
}

/* Sort a file beside the output with scratch in these directories; memory for about a part of it, or for all. */
static void sort_it(const char *dir, const char *const *scratch, uint32_t n, uint64_t memory)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, RECORD);
	char *in = test_path(dir, "in"), *out = test_path(dir, "out");
	const char *const inputs[] = { in };
	test_rng rng = test_rng_make(test_seed());
	uint64_t count = BYTES / RECORD;
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, count);
	unsigned char *sorted = sort_expected(&shape, records, &count, 0);
	em_ctx_opts opts = sort_ctx_opts();
	em_sort_opts so = EM_SORT_OPTS_INIT;
	em_errinfo err;
	em_order *order;
	em_ctx *ctx;

	watch();
	memset(&err, 0, sizeof err);
	sort_write_file(in, records, (size_t)BYTES);
	so.errinfo = &err;
	opts.memory = memory;
	opts.threads = 1;
	opts.backend = NULL;
	opts.custom = &w.be;
	opts.dirs = scratch;
	opts.ndirs = n;
	ctx = sort_ctx(&opts);
	order = sort_order(ctx, &shape);
	if (em_sort_files(ctx, order, inputs, 1, out, &so, NULL) != EM_OK)
		fail_msg("%s", err.text);
	sort_assert_file(out, sorted, (size_t)BYTES);
	if (w.end != BYTES)
		fail_msg("%u bytes were reserved with %u MiB", (unsigned)w.end, (unsigned)(memory / MIB));
	em_order_close(order);
	em_ctx_close(ctx);
	unlink(in);
	unlink(out);
	free(in);
	free(out);
	free(records);
	free(sorted);
	pthread_mutex_destroy(&w.lock);
}

static void assert_at_once(void)
{
	assert_int_equal(w.reserved, 1);
	assert_true(w.first == BYTES);
	assert_false(w.written);
}

static void assert_in_steps(void)
{
	assert_true(w.reserved > 4);
	assert_true(w.first <= MIB);
	assert_true(w.written);
}

static void with_tmpfs(const char *tmpfs)
{
	char *dir = test_dir_make();
	const char *const apart[] = { tmpfs }, *const same[] = { dir };
	const char *const last[] = { tmpfs, dir }, *const first[] = { dir, tmpfs };

	sort_it(dir, apart, 1, 4 * MIB);
	assert_at_once();
	sort_it(dir, same, 1, 4 * MIB);
	assert_in_steps();
	/* One of several disks is enough. */
	sort_it(dir, last, 2, 4 * MIB);
	assert_in_steps();
	sort_it(dir, first, 2, 4 * MIB);
	assert_in_steps();
	/* What is sorted in memory takes no scratch. */
	sort_it(dir, same, 1, 40 * MIB);
	assert_at_once();
	test_dir_remove(dir);
}

static void test_shared(void **state)
{
	(void)state;
	conform_on_tmpfs(128 * MIB, with_tmpfs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests_name("sort/room", tests, NULL, NULL);
}
