/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/base.h  What every public header needs: linkage, attributes, integers.
 *
 * Conventions that hold for the whole library:
 *
 * - Counts of records and offsets are uint64_t, sizes of memory are size_t; sizes are
 *   bytes and counts are records unless a name says otherwise.
 * - The receiver comes first, also `em_thing **out` of a constructor; other outputs come last.
 *   What a constructor returns through `**out` is the caller's to close; `*out` is NULL
 *   when the call failed.  What a function lends is the library's.
 * - Structs that the caller makes begin with their size: set it with the initialiser (EM_..._INIT).
 *   A field of options that is zero means "the default", unless it says otherwise.
 * - One thread per object at a time; objects of one context are independent.
 * - Any call that does work may return EM_ERR_FORK in a child of the process that made its context, and EM_ERR_CANCELED
 *   once the context was canceled (em_ctx_cancel()), whether it lists them or not.
 * - The library never prints, exits, aborts, or reads the environment.
 *
 * How structs grow, so that a program runs with every later library, compiled once against any header:
 *
 * - What the caller makes, or makes room for, begins with `uint32_t size'.  Fields are only ever appended.  A size that
 *   is less than that in the first release is EM_ERR_VERSION: the struct was made without its initialiser.  Fields that
 *   an older program does not have are the default; what it has no room for is not told.  Fields that a newer program
 *   has and this library does not know must be zero, or that is EM_ERR_VERSION, too.
 *   Options that have no size tell no place for the detail of the failure, unless the size is 0: then they were zeroed
 *   in place of being initialised.
 * - What stands in arrays (em_key, em_text_key), or may be filled as it is found (em_errinfo, em_placement,
 *   em_block_layout), has no size.  It has reserved fields instead, which the initialiser sets to zero, and which must
 *   be so: later versions give them names.
 * - What the library lends (em_batch, em_cursor, em_transfer, em_backend_open, what generated kernels get) may be longer
 *   than the program knows: look at it where it is, and copy fields, not structs.
 * - em_bid, em_cache_access, em_cache_trace and em_kern_window never change.
 *
 * Headers in extmem/sys and extmem/gen are the extension tier.  Before 1.0 it may change between minor versions, in
 * more ways than by growth; its functions have a symbol version of their own (EXTMEM_SYS_0_1), which then changes, too.
 */
#ifndef EXTMEM_BASE_H
#define EXTMEM_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define EM_BEGIN_DECLS extern "C" {
#define EM_END_DECLS }
#else
#define EM_BEGIN_DECLS
#define EM_END_DECLS
#endif

#if defined(__GNUC__)
#define EM_API __attribute__((visibility("default")))
#define EM_NODISCARD __attribute__((warn_unused_result))
#else
#define EM_API
#define EM_NODISCARD
#endif

#define EM_VERSION_MAJOR 0
#define EM_VERSION_MINOR 1
#define EM_VERSION_PATCH 0
#define EM_VERSION_STRING "0.1.0"

EM_BEGIN_DECLS

/** The version of the library that is running, as "0.1.0".  Static; any thread. */
EM_API const char *em_version(void);

EM_END_DECLS

#endif
