/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/fault.h  Make input and output fail on purpose, to test what a program does then.
 *
 * A fault is a backend that passes everything on to another, counts the operations, and lets the Nth of them fail, or
 * each with a probability.  It sits below the library's retrying: what is injected as short or EINTR is survived,
 * EIO or ENOSPC comes out as an error.
 *
 *     em_fault fault;
 *     em_ctx_opts opts = EM_CTX_OPTS_INIT;
 *     em_fault_init(&fault, sizeof fault, em_backend_find("syscall"));
 *     fault.ops = EM_FAULT_WRITE;
 *     fault.nth = 3;
 *     fault.sys_errno = ENOSPC;
 *     opts.custom = em_fault_backend(&fault);
 *
 * The struct is the caller's and must outlive the contexts that use it.  Its members may be set while no operation
 * is under way; em_fault_set() and em_fault_set_random() change them at any time.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0 (see extmem/base.h).
 */
#ifndef EXTMEM_SYS_FAULT_H
#define EXTMEM_SYS_FAULT_H

#include <extmem/sys/backend.h>

EM_BEGIN_DECLS

/** Operations, to be combined. */
#define EM_FAULT_OPEN 1u
#define EM_FAULT_SIZE 2u    /**< Asking for the size. */
#define EM_FAULT_RESIZE 4u
#define EM_FAULT_RESERVE 8u
#define EM_FAULT_READ 16u
#define EM_FAULT_WRITE 32u
#define EM_FAULT_SUBMIT 64u /**< Handing transfers over; the transfers themselves count as reads and writes. */
#define EM_FAULT_DISCARD 128u /**< Giving space back, which may fail without anything being wrong. */
#define EM_FAULT_SYNC 256u
#define EM_FAULT_ALL 63u    /**< All but the last three. */

typedef struct em_fault {
	uint32_t size;            /**< What em_fault_init() was told. */
	uint32_t ops;             /**< Operations that are counted; EM_FAULT_ALL at first. */
	uint64_t nth;             /**< The first one to fail, from 1; 0 (at first): none. */
	uint64_t times;           /**< How many fail in a row; 1 at first. */
	int32_t sys_errno;        /**< The errno it fails with; EIO at first.  0: a transfer is short, others
	                               succeed. */
	int32_t reserved;
	uint64_t count;           /**< Operations counted so far; atomic, may be reset between calls. */
	uint64_t injected;        /**< Of these, how many were made to fail; atomic. */
	const em_backend *inner;  /**< Where everything is passed on to. */
	uint64_t table[64];       /**< The library's, for em_fault_backend(). */
} em_fault;

/** Prepare a fault of so many bytes, sizeof(em_fault), around a backend (NULL: the best that works here).  EM_OK;
 *  EM_ERR_INVAL (fault is NULL); EM_ERR_VERSION (no version of an em_fault has so few bytes; it is not touched). */
EM_API EM_NODISCARD em_status em_fault_init(em_fault *fault, size_t size, const em_backend *inner);

/**
 * Change what fails from now on, while operations may be under way: of the operations `ops` (0: none, the fault is
 * over), counted from 1 anew, the nth (0: none) and those behind it, `times` in all.  An operation that has begun may
 * still follow the old settings.  sys_errno stays what it is, and injected goes on counting.  May be called by any
 * thread, by one at a time.
 */
EM_API void em_fault_set(em_fault *fault, uint32_t ops, uint64_t nth, uint64_t times);

/**
 * The same, but each of the operations `ops` fails with a probability of 1 / one_in, whatever became of others (1: all
 * fail; 0: none), until em_fault_set() or this is called again.  Which ones of them, counted from 1 anew, follows from
 * the seed, of which any will do.  An nth that is set after this fails in addition.  May be called by any thread, by
 * one at a time, as em_fault_set().
 */
EM_API void em_fault_set_random(em_fault *fault, uint32_t ops, uint64_t one_in, uint64_t seed);

/** The backend to give to a context. */
EM_API const em_backend *em_fault_backend(const em_fault *fault);

EM_END_DECLS

#endif
