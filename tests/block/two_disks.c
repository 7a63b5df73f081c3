/* SPDX-License-Identifier: BSL-1.0 */
/* two_disks.c -- see two_disks.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <time.h>
#include <unistd.h>

#include <extmem/sys/request.h>

#include "block/two_disks.h"
#include "common/test.h"

enum { SECONDS = 60 };

void two_disks_open(two_disks *t, em_backend *be)
{
	const em_disk_opts one = EM_DISK_OPTS_INIT;
	const em_disks_opts how = EM_DISKS_OPTS_INIT;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_disk_opts disk[2];
	const em_disk_opts *const list[] = { &disk[0], &disk[1] };
	int i;

	memset(t, 0, sizeof *t);
	for (i = 0; i < 2; i++) {
		disk[i] = one;
		disk[i].custom = be;
		disk[i].path = t->dir[i] = test_dir_make();
	}
	opts.memory = 32u << 20;
	opts.threads = 1;
	opts.disks = list;
	opts.ndisks = 2;
	assert_int_equal(em_ctx_open(&t->ctx, &opts), EM_OK);
	assert_int_equal(em_disks_open(&t->disks, t->ctx, &how), EM_OK);
	alarm(SECONDS);
}

void two_disks_close(two_disks *t)
{
	int i;

	em_disks_close(t->disks);
	em_ctx_close(t->ctx);
	for (i = 0; i < 2; i++)
		test_dir_remove(t->dir[i]);
	alarm(0);
}

em_bid two_disks_alloc(two_disks *t, uint32_t disk, size_t bytes)
{
	em_bid bid;

	assert_int_equal(em_bids_alloc_row(t->disks, &bid, 1, bytes, disk), EM_OK);
	assert_int_equal(bid.disk, disk);
	return bid;
}

void two_disks_assert(two_disks *t, em_bid bid, char *buf, size_t bytes, int c)
{
	em_request *rq;
	size_t i;

	memset(buf, 0, bytes);
	assert_int_equal(em_block_read(t->disks, bid, buf, bytes, NULL, NULL, &rq), EM_OK);
	assert_int_equal(em_request_wait(rq), EM_OK);
	em_request_close(rq);
	for (i = 0; i < bytes; i++)
		assert_int_equal(buf[i], c);
}

void two_disks_await(const int *count)
{
	const struct timespec moment = { 0, 1000000 };

	while (__atomic_load_n(count, __ATOMIC_SEQ_CST) == 0)
		(void)nanosleep(&moment, NULL);
}
