/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scratch_set.h -- what tests of block ids share: a context with disks in memory, and what its log says of them.
 */
#ifndef EM_TEST_SCRATCH_SET_H
#define EM_TEST_SCRATCH_SET_H

#include <string.h>

#include <extmem/disk.h>

#include "block/disk.h"
#include "common/test.h"

enum { PAGE = 4096, DISKS = 3 };

/* What the log said of blocks: warnings, and the last line. */
typedef struct heard {
	unsigned warnings;
	int32_t level;
	char line[512];
} heard;

typedef struct set {
	char *dir;
	em_disk_opts disk[DISKS];
	const em_disk_opts *list[DISKS];
	em_ctx_opts opts;
	em_ctx *ctx;
	emi_disk *d;
	test_memory mem;
	heard log;
} set;

static inline em_errinfo clean(void)
{
	em_errinfo err;

	memset(&err, 0, sizeof err);
	return err;
}

/* n disks that are kept in memory, not opened yet: what is to be different is changed now. */
void set_prepare(set *s, uint32_t n, uint32_t flags);

/* Open the context and become a user of its disks; and the other way round, when nothing may be left of them. */
void set_start(set *s);
void set_stop(set *s);

/* Another user of them. */
emi_disk *set_user(set *s);

#endif
