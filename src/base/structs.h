/* SPDX-License-Identifier: BSL-1.0 */
/*
 * structs.h -- structs of callers, which may be older or newer than the library: those that begin with their size.
 *
 * What is taken from a caller is first copied into a struct of our own, where fields that an older caller does not have
 * are zero.  What is given to a caller is what he has room for.  The least size is that of the first release
 * (structs.inc); one that is smaller is that of no version, but of a struct that nobody initialised.
 */
#ifndef EMI_STRUCTS_H
#define EMI_STRUCTS_H

#include <extmem.h>
#include <extmem/gen/kernels.h>
#include <extmem/sys/allocator.h>
#include <extmem/sys/backend.h>
#include <extmem/sys/block.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/fault.h>
#include <extmem/sys/file.h>
#include <extmem/sys/io_stats.h>
#include <extmem/sys/output.h>
#include <extmem/sys/pool.h>
#include <extmem/sys/simdisk.h>
#include <extmem/sys/element_stream.h>

/* Bytes of a struct up to the end of a field. */
#define EMI_END(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))

/* Does a struct of a caller, or one that he may have made, have that field? */
#define EMI_REACHES(theirs, type, field) ((theirs)->size >= EMI_END(type, field))

/* EMI_FIRST_<struct>: its size in the first release. */
enum emi_first_size {
#define EM_FIRST(type, field) EMI_FIRST_##type = (int)EMI_END(type, field),
#include "base/structs.inc"
#undef EM_FIRST
	EMI_FIRST_SIZES
};

/* Is the size that a caller's struct begins with that of any version?  It may be much larger than ours.  EM_OK;
 * EM_ERR_INVAL: theirs is NULL; EM_ERR_VERSION: it is not. */
em_status emi_struct_check(const void *theirs, size_t full, size_t first, const char *name, em_errinfo *err);
#define EMI_STRUCT_CHECK(type, theirs, err) emi_struct_check(theirs, sizeof(type), EMI_FIRST_##type, #type, err)

/* Copy a caller's struct to ours.  NULL: all defaults, which are zero.  EM_ERR_VERSION: its size is that of no
 * version, or what it has beyond ours is not zero; then all of ours is zero. */
em_status emi_struct_take(void *ours, const void *theirs, size_t full, size_t first, const char *name, em_errinfo *err);
#define EMI_STRUCT_TAKE(type, to, from, err) emi_struct_take(to, from, sizeof(type), EMI_FIRST_##type, #type, err)

/* The other way round; what he has beyond ours is zeroed.  As emi_struct_check(). */
em_status emi_struct_give(void *theirs, const void *ours, size_t full, size_t first);
#define EMI_STRUCT_GIVE(type, to, from) emi_struct_give(to, from, sizeof(type), EMI_FIRST_##type)

/* Where a caller wants the detail of a failure, as the pointer `at' bytes behind the beginning of his options says;
 * NULL: nowhere. It is believed in options of a known version, and in those that were zeroed in place of being
 * initialised, whose size is 0. */
em_errinfo *emi_struct_errinfo(const void *theirs, size_t full, size_t first, size_t at);
#define EMI_ERRINFO_OF(type, from) emi_struct_errinfo(from, sizeof(type), EMI_FIRST_##type, offsetof(type, errinfo))

#endif
