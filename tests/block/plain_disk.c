/* SPDX-License-Identifier: BSL-1.0 */
/* plain_disk.c -- see plain_disk.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "block/plain_disk.h"

em_ctx *disk_ctx(const char *dir, const char *backend, const em_fault *fault, test_memory *mem)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx = NULL;

	memset(&err, 0, sizeof err);
	opts.memory = (uint64_t)64 << 20;
	opts.dirs = &dir;
	opts.ndirs = 1;
	opts.backend = backend;
	opts.errinfo = &err;
	if (fault)
		opts.custom = em_fault_backend(fault);
	if (mem) {
		test_memory_init(mem, 0);
		opts.allocator = &mem->allocator;
	}
	if (em_ctx_open(&ctx, &opts) != EM_OK)
		fail_msg("%s", err.text);
	return ctx;
}

emi_disk *disk_acquire(em_ctx *ctx)
{
	em_errinfo err = clean();
	emi_disk *d = NULL;

	if (emi_scratch_acquire(ctx, &d, &err) != EM_OK)
		fail_msg("%s", err.text);
	return d;
}
