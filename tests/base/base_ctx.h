/* SPDX-License-Identifier: BSL-1.0 */
/*
 * base_ctx.h -- a context for tests of this layer, made without what is above it: no backend, no kernels.
 */
#ifndef EM_TEST_BASE_CTX_H
#define EM_TEST_BASE_CTX_H

#include "base/context.h"

/* A context with one reference, for emi_ctx_unref().  allocator NULL: the system's. */
em_ctx *base_ctx(uint64_t memory, uint32_t threads, const em_allocator *allocator);

#endif
