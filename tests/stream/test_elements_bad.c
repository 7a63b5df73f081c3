/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_elements_bad.c -- streams of elements when something is wrong: options, files, memory, disks.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <extmem/sys/element_stream.h>

#include "base/context.h"
#include "stream/stream_test.h"

#define KINDS 4u

typedef struct fixture {
	char *dir, *path;
	em_ctx *ctx;
	uint64_t before;
} fixture;

static int set_up(void **state)
{
	fixture *f = calloc(1, sizeof(*f));

	f->dir = test_dir_make();
	f->path = test_path(f->dir, "elements");
	f->ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	f->before = f->ctx != NULL ? em_ctx_memory_used(f->ctx) : 0;
	*state = f;
	return f->ctx == NULL;
}

static int tear_down(void **state)
{
	fixture *f = *state;
	const int same = em_ctx_memory_used(f->ctx) == f->before && f->ctx->fds_used == 0;

	em_ctx_close(f->ctx);
	free(f->path);
	test_dir_remove(f->dir);
	free(f);
	return !same;
}

static em_element_opts options(uint32_t kind, uint64_t element, uint64_t buffer, em_errinfo *err)
{
	em_element_opts o = EM_ELEMENT_OPTS_INIT;

	o.kind = kind;
	o.element_bytes = element;
	o.buffer_bytes = buffer;
	o.errinfo = err;
	return o;
}

static void assert_refused(const fixture *f, const char *path, const em_element_opts *o, int writing, em_status want)
{
	em_element_reader *r = (em_element_reader *)1;
	em_element_writer *w = (em_element_writer *)1;

	if (writing) {
		assert_int_equal(em_element_writer_open(&w, f->ctx, path, o), want);
		assert_null(w);
	} else {
		assert_int_equal(em_element_reader_open(&r, f->ctx, path, o), want);
		assert_null(r);
	}
	if (o->errinfo != NULL) {
		assert_int_equal(o->errinfo->status, want);
		assert_true(o->errinfo->text[0] != '\0');
	}
}

static void test_options(void **state)
{
	const fixture *f = *state;
	em_element_opts o;
	em_errinfo err;
	int writing;

	stream_write_file(f->path, "0123456789", 10);
	for (writing = 0; writing < 2; writing++) {
		o = options(5, 4, 0, &err);
		assert_refused(f, f->path, &o, writing, EM_ERR_INVAL);
		o = options(1, 4, 0, &err);
		o.flags = 4;
		assert_refused(f, f->path, &o, writing, EM_ERR_INVAL);
		o = options(3, 4, UINT64_MAX, &err);
		assert_refused(f, f->path, &o, writing, EM_ERR_RANGE);
		o = options(3, UINT64_MAX, 0, &err);
		assert_refused(f, f->path, &o, writing, EM_ERR_RANGE);
		o = options(1, 4, 0, &err);
		assert_refused(f, NULL, &o, writing, EM_ERR_INVAL);
		o.size = 3;
		o.errinfo = NULL;
		assert_refused(f, f->path, &o, writing, EM_ERR_VERSION);
	}
	assert_int_equal(em_element_reader_open(NULL, f->ctx, f->path, NULL), EM_ERR_INVAL);
	assert_int_equal(em_element_writer_open(NULL, f->ctx, f->path, NULL), EM_ERR_INVAL);
	/* More than the budget. */
	o = options(EM_ELEMENT_BUFFERB, 4, 1 << 30, &err);
	assert_refused(f, f->path, &o, 1, EM_ERR_MEMLIMIT);
	assert_true(err.bytes >= 1 << 30);
	/* Nothing of that touched the file. */
	stream_assert_file(f->path, "0123456789", 10);
	/* A reader needs no more than the file has. */
	o = options(EM_ELEMENT_BUFFERB, 5, 1 << 30, &err);
	{
		em_element_reader *r;

		assert_int_equal(em_element_reader_open(&r, f->ctx, f->path, &o), EM_OK);
		assert_true(em_ctx_memory_used(f->ctx) - f->before < 16384);
		em_element_reader_close(r);
	}
}

static void test_files(void **state)
{
	const fixture *f = *state;
	char *none = test_path(f->dir, "none"), *below = test_path(none, "below"), *fifo = test_path(f->dir, "fifo");
	em_element_opts o;
	em_errinfo err;
	uint32_t kind;

	stream_write_file(f->path, "0123456789", 10);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (kind = 1; kind <= KINDS; kind++) {
		o = options(kind, 4, 8, &err);
		assert_refused(f, f->path, &o, 0, EM_ERR_FORMAT);
		assert_non_null(strstr(err.text, f->path));
		assert_non_null(strstr(err.text, "10 bytes"));
		assert_int_equal(err.record, 3);
		assert_string_equal(err.path, f->path);
		assert_refused(f, none, &o, 0, EM_ERR_NOENT);
		assert_string_equal(err.path, none);
		assert_refused(f, f->dir, &o, 0, EM_ERR_INVAL);
		assert_refused(f, fifo, &o, 0, EM_ERR_INVAL);
		assert_refused(f, "/dev/null", &o, 0, EM_ERR_INVAL);
		assert_refused(f, below, &o, 1, EM_ERR_NOENT);
		assert_refused(f, f->dir, &o, 1, EM_ERR_INVAL);
		assert_refused(f, fifo, &o, 1, EM_ERR_INVAL);
		assert_refused(f, "/dev/full", &o, 1, EM_ERR_INVAL);
		o.flags = EM_ELEMENT_NEW;
		assert_refused(f, f->path, &o, 1, EM_ERR_EXIST);
		stream_assert_file(f->path, "0123456789", 10);
	}
	assert_int_equal(chmod(f->dir, 0755), 0);
	assert_int_equal(chmod(f->path, 0), 0);
	stream_not_root();
	assert_refused(f, f->path, &o, 0, EM_ERR_ACCESS);
	o.flags = 0;
	assert_refused(f, f->path, &o, 1, EM_ERR_ACCESS);
	stream_root_again();
	unlink(fifo);
	free(none);
	free(below);
	free(fifo);
}

/* The file ends before it should: told where, and again. */
static void test_truncated(void **state)
{
	enum { N = 3000, R = 100 };
	static const uint64_t cuts[] = { 0, 1, 99, 100, 4096, 40000, 200050 };
	const fixture *f = *state;
	char *data = calloc(N, R), element[R];
	uint32_t kind;
	size_t c;

	for (kind = 1; kind <= KINDS; kind++)
		for (c = 0; c < sizeof(cuts) / sizeof(cuts[0]); c++) {
			em_element_opts o = options(kind, R, 1000, NULL);
			em_element_reader *r;
			em_errinfo err;
			em_status st;
			int i;

			stream_write_file(f->path, data, N * R);
			assert_int_equal(em_element_reader_open(&r, f->ctx, f->path, &o), EM_OK);
			/* Whole windows of a mapping, so that none is cut while it is in use: that is a SIGBUS. */
			for (i = 0; i < 10; i++)
				assert_int_equal(em_element_reader_next(r, element), EM_OK);
			assert_int_equal(truncate(f->path, (off_t)cuts[c]), 0);
			do
				st = em_element_reader_next(r, element);
			while (st == EM_OK);
			assert_int_equal(st, EM_ERR_SHORT);
			assert_int_equal(em_element_reader_next(r, element), EM_ERR_SHORT);
			assert_int_equal(em_element_reader_at_end(r), 0);
			em_element_reader_error(r, &err);
			assert_int_equal(err.status, EM_ERR_SHORT);
			assert_string_equal(err.path, f->path);
			/* Where it ends now, or where the transfer began that found it out. */
			assert_true(err.offset >= cuts[c]);
			em_element_reader_close(r);
		}
	free(data);
}

/* A file that grows is read as it was. */
static void test_grown(void **state)
{
	const fixture *f = *state;
	char *data = calloc(1, 100000), element[10];
	uint32_t kind;
	int i;

	for (kind = 1; kind <= KINDS; kind++) {
		em_element_opts o = options(kind, 10, 4000, NULL);
		em_element_reader *r;

		stream_write_file(f->path, data, 50000);
		assert_int_equal(em_element_reader_open(&r, f->ctx, f->path, &o), EM_OK);
		stream_write_file(f->path, data, 100000);
		for (i = 0; i < 5000; i++)
			assert_int_equal(em_element_reader_next(r, element), EM_OK);
		assert_int_equal(em_element_reader_next(r, element), EM_END);
		em_element_reader_close(r);
	}
	free(data);
}

/* What was not finished is discarded, and nothing is written for it. */
static void test_unfinished(void **state)
{
	const fixture *f = *state;
	uint32_t kind;
	int n, i;

	for (kind = 1; kind <= KINDS; kind++)
		for (n = 0; n < 4000; n += 1333) {
			em_element_opts o = options(kind, 8, 4096, NULL);
			em_element_writer *w;

			stream_write_file(f->path, "before", 6);
			assert_int_equal(em_element_writer_open(&w, f->ctx, f->path, &o), EM_OK);
			for (i = 0; i < n; i++)
				assert_int_equal(em_element_writer_push(w, "12345678"), EM_OK);
			em_element_writer_close(w);
			stream_assert_file(f->path, "", 0);
		}
}

/* Write until it fails; returns how many elements were taken, or -1 when it went wrong otherwise. */
static long overfill(em_ctx *ctx, const char *path, const em_element_opts *o, long most)
{
	char element[64] = "";
	em_element_writer *w;
	em_status st = EM_OK;
	em_errinfo err;
	long n = 0;

	if (em_element_writer_open(&w, ctx, path, o) != EM_OK)
		return -1;
	while (n < most && (st = em_element_writer_push(w, element)) == EM_OK)
		n++;
	/* What is in buffers may have to wait for the end. */
	if (st == EM_OK)
		st = em_element_writer_finish(w);
	em_element_writer_error(w, &err);
	if (st != EM_ERR_NOSPACE || err.status != st || strcmp(err.path, path) != 0 ||
	    em_element_writer_finish(w) != st || em_element_writer_push(w, element) != st)
		n = -1;
	em_element_writer_close(w);
	return n;
}

static int on_a_small_disk(const char *dir, const char *path)
{
	static const uint64_t buffers[] = { 64, 5000, 100000, 8u << 20 };
	uint32_t kind;
	size_t b;
	em_ctx *ctx;
	long n;

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", dir, "tmpfs", 0, "size=1m") != 0)
		return 100;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	for (kind = 1; kind <= KINDS; kind++)
		for (b = 0; b < 4; b++) {
			em_element_opts o = options(kind, 50, buffers[b], NULL);
			em_element_writer *w;

			n = overfill(ctx, path, &o, 100000);
			/* A mapping takes what there is, to the last element. */
			if (n < 0 || (kind == EM_ELEMENT_MAPPING && n != (1 << 20) / 50))
				return (int)(kind * 10 + b);
			/* There is room again, and a small file fits whatever the window. */
			if (em_element_writer_open(&w, ctx, path, &o) != EM_OK)
				return 1;
			for (n = 0; n < 10000; n++)
				if (em_element_writer_push(w, "01234567890123456789012345678901234567890123456789") !=
				    EM_OK)
					return 2;
			if (em_element_writer_finish(w) != EM_OK)
				return 3;
			em_element_writer_close(w);
		}
	em_ctx_close(ctx);
	return 0;
}

/* A full disk is a status and not a signal, where we may mount a small one. */
static void test_full_disk(void **state)
{
	const fixture *f = *state;
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(on_a_small_disk(f->dir, f->path));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 100)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_file_size_limit(void **state)
{
	const fixture *f = *state;
	struct rlimit old, few;
	uint32_t kind;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	few = old;
	few.rlim_cur = 123456;
	for (kind = 1; kind <= KINDS; kind++) {
		em_element_opts o = options(kind, 50, 10000, NULL);
		long n;

		assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
		n = overfill(f->ctx, f->path, &o, 1000000);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		assert_true(n >= 123456 / 50 && n < 123456 / 50 + 10000 / 50 + 1);
		if (kind == EM_ELEMENT_SIMPLE || kind == EM_ELEMENT_MAPPING)
			assert_int_equal(n, 123456 / 50);
	}
}

/* Writing and reading with an allocation failing. */
typedef struct work {
	const char *path;
	uint32_t kind;
} work;

static em_status write_and_read(void *arg, em_ctx *ctx, em_errinfo *err)
{
	const work *k = arg;
	em_element_opts o = options(k->kind, 16, 4000, err);
	char element[16] = "0123456789abcde";
	em_element_writer *w = NULL;
	em_element_reader *r = NULL;
	em_status st;
	int i;

	st = em_element_writer_open(&w, ctx, k->path, &o);
	for (i = 0; st == EM_OK && i < 1000; i++)
		st = em_element_writer_push(w, element);
	if (st == EM_OK)
		st = em_element_writer_finish(w);
	em_element_writer_close(w);
	if (st == EM_OK)
		st = em_element_reader_open(&r, ctx, k->path, &o);
	while (st == EM_OK)
		st = em_element_reader_next(r, element);
	em_element_reader_close(r);
	return st;
}

static void test_no_memory(void **state)
{
	static const int least[KINDS] = { 4, 6, 6, 4 };
	const fixture *f = *state;
	work k;

	k.path = f->path;
	for (k.kind = 1; k.kind <= KINDS; k.kind++)
		assert_true(stream_fail_memory(write_and_read, &k, EM_END) >= least[k.kind - 1] || !test_sweeps());
}

static void test_no_descriptors(void **state)
{
	const fixture *f = *state;
	em_element_opts o;
	em_errinfo err;
	uint32_t kind, taken = 0;

	stream_write_file(f->path, "01234567", 8);
	while (emi_fd_take(f->ctx, "taken", NULL) == EM_OK)
		taken++;
	for (kind = 1; kind <= KINDS; kind++) {
		o = options(kind, 4, 8, &err);
		assert_refused(f, f->path, &o, 0, EM_ERR_FDLIMIT);
		assert_refused(f, f->path, &o, 1, EM_ERR_FDLIMIT);
	}
	while (taken-- > 0)
		emi_fd_drop(f->ctx);
	stream_assert_file(f->path, "01234567", 8);
}

/* A child can only close: what the parent has written stays what it is. */
static void test_fork(void **state)
{
	const fixture *f = *state;
	uint32_t kind;

	for (kind = 1; kind <= KINDS; kind++) {
		em_element_opts o = options(kind, 8, 80, NULL);
		em_element_writer *w;
		em_element_reader *r;
		char element[8], *want = malloc(8 * 3000);
		int i, status;
		pid_t child;

		for (i = 0; i < 3000; i++)
			memcpy(want + 8 * i, "abcdefgh", 8);
		assert_int_equal(em_element_writer_open(&w, f->ctx, f->path, &o), EM_OK);
		for (i = 0; i < 1500; i++)
			assert_int_equal(em_element_writer_push(w, "abcdefgh"), EM_OK);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			const int bad = em_element_writer_finish(w) != EM_ERR_FORK;

			em_element_writer_close(w);
			_exit(bad);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		for (i = 0; i < 1500; i++)
			assert_int_equal(em_element_writer_push(w, "abcdefgh"), EM_OK);
		assert_int_equal(em_element_writer_finish(w), EM_OK);
		em_element_writer_close(w);
		stream_assert_file(f->path, want, 8 * 3000);

		assert_int_equal(em_element_reader_open(&r, f->ctx, f->path, &o), EM_OK);
		assert_int_equal(em_element_reader_next(r, element), EM_OK);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			em_status st;

			do
				st = em_element_reader_next(r, element);
			while (st == EM_OK);
			em_element_reader_close(r);
			_exit(st != (kind == EM_ELEMENT_SIMPLE ? EM_END : EM_ERR_FORK));
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		em_element_reader_close(r);
		free(want);
	}
}

/* Streams keep their context. */
static void test_context_first(void **state)
{
	const fixture *f = *state;
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_element_writer *w;

	assert_int_equal(em_element_writer_open(&w, ctx, f->path, NULL), EM_OK);
	em_ctx_close(ctx);
	assert_int_equal(em_element_writer_push(w, "abcd"), EM_OK);
	assert_int_equal(em_element_writer_finish(w), EM_OK);
	em_element_writer_close(w);
	stream_assert_file(f->path, "abcd", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_options, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_truncated, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_grown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unfinished, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_file_size_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_descriptors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fork, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_context_first, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
