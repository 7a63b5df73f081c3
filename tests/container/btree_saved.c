/* SPDX-License-Identifier: BSL-1.0 */
/* btree_saved.c -- see btree_saved.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "container/btree_saved.h"

enum { ROOM = 6000 };

static int by_function(const saved *s)
{
	return s->c.shape == BTREE_FUNCTION || s->c.shape == BTREE_LARGE_FUNCTION || s->c.shape == BTREE_KEY_FUNCTION;
}

void saved_open(saved *s, btree_shape shape, uint32_t flags)
{
	btree_case_open(&s->c, em_backend_find("memory"), shape, ROOM, 0);
	s->c.opts.flags = flags;
	s->dir = test_dir_make();
	s->path = test_path(s->dir, "tree");
	btree_case_make(&s->c);
}

void saved_close(saved *s)
{
	free(s->path);
	test_dir_remove(s->dir);
	btree_case_close(&s->c);
}

void saved_grow(saved *s, size_t n)
{
	const uint64_t keys = s->c.opts.flags != 0 ? n / 3 + 1 : 8 * n;

	while (s->c.n < n)
		assert_btree_ok(&s->c, btree_case_insert(&s->c, test_below(&s->c.f.rng, keys)));
	for (n /= 5; n != 0; n--)
		assert_btree_ok(&s->c, btree_case_erase(&s->c, test_below(&s->c.f.rng, keys)));
}

em_status saved_open_tree(saved *s)
{
	em_btree_opts opts = s->c.opts;
	const int plain = s->c.inserts % 2 == 0;
	/* As few as may be, but that makes many transfers. */
	const uint64_t frames = test_below(&s->c.f.rng, 12) != 0 ? 256 : EM_BTREE_FRAMES_MIN;

	opts.cache_bytes = opts.node_cache_bytes = frames * BLOCK;
	/* What the file says need not be said again. */
	if (plain) {
		opts.flags = 0;
		opts.key_bytes = opts.leaf_bytes = opts.node_bytes = 0;
	}
	return em_btree_open_file(&s->c.t, s->c.f.ctx, s->path, by_function(s) || !plain ? s->c.order : NULL, &opts);
}

em_status saved_look(saved *s, em_errinfo *err)
{
	em_status st = saved_open_tree(s);

	if (st != EM_OK) {
		*err = s->c.err;
		return st;
	}
	st = em_btree_verify(s->c.t);
	em_btree_error(s->c.t, err);
	em_btree_close(s->c.t);
	s->c.t = NULL;
	return st;
}

size_t saved_read(const char *path, char **bytes)
{
	const int fd = open(path, O_RDONLY);
	struct stat sb;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &sb), 0);
	*bytes = malloc((size_t)sb.st_size + 1);
	assert_non_null(*bytes);
	assert_int_equal(read(fd, *bytes, (size_t)sb.st_size), sb.st_size);
	close(fd);
	return (size_t)sb.st_size;
}

void saved_save(saved *s)
{
	assert_btree_ok(&s->c, em_btree_save(s->c.t, s->path));
	em_btree_close(s->c.t);
	s->c.t = NULL;
}
