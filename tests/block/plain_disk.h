/* SPDX-License-Identifier: BSL-1.0 */
/*
 * plain_disk.h -- what tests of one scratch disk share.
 */
#ifndef EM_TEST_PLAIN_DISK_H
#define EM_TEST_PLAIN_DISK_H

#include <string.h>

#include <extmem/sys/fault.h>

#include "block/disk.h"
#include "common/test.h"

enum { PAGE = 4096 };

/* A context of 64 MiB whose disk is in a directory, with a backend or a fault around one (or NULL); mem is prepared and
 * used if it is not NULL. */
em_ctx *disk_ctx(const char *dir, const char *backend, const em_fault *fault, test_memory *mem);

/* Become a user of the disk. */
emi_disk *disk_acquire(em_ctx *ctx);

static inline em_errinfo clean(void)
{
	em_errinfo err;

	memset(&err, 0, sizeof err);
	return err;
}

#endif
