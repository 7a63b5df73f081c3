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
 * - Option structs begin with their size: set it with the initialiser (EM_..._INIT).
 *   A field that is zero means "the default".  Fields are only ever appended.
 * - One thread per object at a time; objects of one context are independent.
 * - The library never prints, exits, aborts, or reads the environment.
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
