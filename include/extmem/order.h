/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/order.h  Orders: what "sorted" means for records of one size.
 *
 * An order is data whenever it can be: a list of key fields, most significant first.  The
 * library turns them into unsigned integers once per record (key normalisation) and then
 * compares integers.  Of an order that only code can tell that code had better compute an integer for each of many
 * records at a time (em_order_key_fn()), or be inlined by a template, <extmem/gen/order.h>; a comparison by a function
 * works, too, and is slow.
 *
 * An order is immutable and may be shared between threads and sorters of its context.
 */
#ifndef EXTMEM_ORDER_H
#define EXTMEM_ORDER_H

#include <extmem/ctx.h>

EM_BEGIN_DECLS

/** Types of key fields.  The widths are in bytes. */
#define EM_KEY_U8 1
#define EM_KEY_U16 2
#define EM_KEY_U32 3
#define EM_KEY_U64 4
#define EM_KEY_I8 5
#define EM_KEY_I16 6
#define EM_KEY_I32 7
#define EM_KEY_I64 8
#define EM_KEY_F32 9    /**< IEEE 754 total order: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN. */
#define EM_KEY_F64 10   /**< As EM_KEY_F32. */
#define EM_KEY_BYTES 11 /**< Bytes as memcmp() compares them; has a width. */

/** Flags of a key field. */
#define EM_KEY_BIG_ENDIAN 1u /**< Numbers are stored most significant byte first; default: least first. */
#define EM_KEY_DESCENDING 2u /**< Largest first. */

typedef struct em_key {
	uint64_t offset; /**< Of the field's first byte in the record. */
	uint64_t width;  /**< Bytes, for EM_KEY_BYTES only; otherwise 0 or the type's width. */
	int32_t type;    /**< EM_KEY_... */
	uint32_t flags;  /**< EM_KEY_BIG_ENDIAN | EM_KEY_DESCENDING */
	uint64_t reserved[2]; /**< 0. */
} em_key;
/** A key that is a number: { offset, 0, EM_KEY_..., flags, { 0 } }. */
#define EM_KEY_INIT { 0, 0, 0, 0, { 0, 0 } }
/** As EM_KEY_INIT, by a call (extmem/base.h). */
EM_API void em_key_init(em_key *out);

typedef struct em_order em_order;

/** A flag of orders by a function: it may be called on several threads of the context at the same time.  Otherwise it
 *  is only called on the thread that called the library, and that one does all the computing. */
#define EM_FN_THREADS 1u

/**
 * Compare two records: negative, 0, positive as a comes before, with, after b.
 * EM_CMP_ERROR reports a failure: it counts as "equal", and the call in progress returns
 * EM_ERR_USER before long, with EM_FN_THREADS after the function was perhaps called some more times.  A function that
 * is inconsistent gives some order of the records, never a crash or an endless loop.  What a and b point to may be
 * copies, which are gone after the call.
 */
typedef int (*em_cmp_fn)(const void *a, const void *b, void *user);
#define EM_CMP_ERROR INT32_MIN

/**
 * An order by n key fields, most significant first, for records of record_size bytes.
 * n == 0: all bytes of the record, as memcmp() compares them.  Fields may overlap and leave gaps.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL   out or ctx is NULL, record_size is 0, a type or flag is unknown, a width
 *                  does not fit its type, what is reserved is not 0; the detail names the field by its index
 *   EM_ERR_RANGE   a field reaches past the end of the record, a record does not fit in memory
 *   EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FORK
 *
 * err may be NULL.
 */
EM_API EM_NODISCARD em_status em_order_keys(em_order **out, em_ctx *ctx, uint64_t record_size, const em_key *keys,
					    uint32_t n, em_errinfo *err);

/**
 * An order by a comparison function, for records of record_size bytes.  Sorting calls it about log2(n) times for each
 * of n records; fastest are records of 4, 8, 12, 16, 20, 24, 32, 40, 48 and 64 bytes, which are moved and not referred
 * to.  flags: EM_FN_THREADS, or 0.  name (copied, may be NULL) is what files and messages call it.  user_free, when not
 * NULL, is called with user when the order is released (also when this call fails).
 *
 * Returns: EM_OK, EM_ERR_INVAL (out, ctx or cmp is NULL, record_size is 0, a flag is unknown), EM_ERR_RANGE
 * (a record does not fit in memory), EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FORK.
 */
EM_API EM_NODISCARD em_status em_order_cmp(em_order **out, em_ctx *ctx, uint64_t record_size, const char *name,
					   em_cmp_fn cmp, uint32_t flags, void *user, void (*user_free)(void *user),
					   em_errinfo *err);

/**
 * Compute the keys of n >= 1 records, which lie one behind the other at any address: keys[i] is that of the i-th.
 * Records come in the order of their keys.  Returns 0; anything else is a failure: the call in progress returns
 * EM_ERR_USER before long, after the function was perhaps called some more times.  A record must have the same key each
 * time; if it does not, the output has some order, and never a crash or an endless loop.  What records point to may be
 * copies, which are gone after the call.
 */
typedef int (*em_key_fn)(const void *records, size_t n, uint64_t *keys, void *user);

/**
 * An order by a 64-bit key that a function computes, for records of record_size bytes.  While runs are formed each
 * record's key is asked for once, some hundred at a time, and once more in each merge; besides, single records are
 * asked about: the first of each block, and about log2(M/B) for each block of a run that is merged.  All else is as
 * with a field of a record that is not only the key.  flags: EM_FN_THREADS, or 0.  name and user_free as of
 * em_order_cmp().
 *
 * A failure of the function concerns all calls in progress that use this order.
 *
 * Returns: EM_OK, EM_ERR_INVAL (out, ctx or fn is NULL, record_size is 0, a flag is unknown), EM_ERR_RANGE
 * (a record does not fit in memory), EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FORK.
 */
EM_API EM_NODISCARD em_status em_order_key_fn(em_order **out, em_ctx *ctx, uint64_t record_size, const char *name,
					      em_key_fn fn, uint32_t flags, void *user, void (*user_free)(void *user),
					      em_errinfo *err);

/** Drop the caller's reference; sorters keep their own.  NULL is allowed.  Never fails. */
EM_API void em_order_close(em_order *order);

/** Size of the records it orders, in bytes; 0: records of any length.  Any thread. */
EM_API uint64_t em_order_record_size(const em_order *order);

/** Its name: "u64le@0,i32be@8:r" style for keys, the given one or "" for functions.  Lives as long as the order. */
EM_API const char *em_order_name(const em_order *order);

/** Compare two records of its size with it: -1, 0, 1.  Any thread for key fields and functions with EM_FN_THREADS.  A
 *  function that fails says that they are equal.  Records of any length: see em_text_compare(); here they count as
 *  equal. */
EM_API int em_order_compare(const em_order *order, const void *a, const void *b);

/**
 * Parse one key as the command spells it: OFFSET:TYPE[:r], TYPE one of u8 u16 u32 u64 i8 i16
 * i32 i64 f32 f64 with an optional suffix le (default) or be, or bytesN.
 *
 * Returns: EM_OK, EM_ERR_INVAL with a message that names the part that is wrong.
 */
EM_API EM_NODISCARD em_status em_key_parse(em_key *out, const char *text, em_errinfo *err);

/**
 * Make an order by key fields, or of text, again from its name (em_order_name()).  So the name of an order can be kept
 * with what is sorted by it.
 *
 * Key fields are for records of record_size bytes: TYPE@OFFSET[:r], as above, one behind the other with commas between
 * them, most significant first.  Text has records of any length: record_size is 0, and the name begins with "text:".
 *
 * Returns as em_order_keys() and em_order_text(); EM_ERR_INVAL with a message that names the part that is wrong, also
 * when it is the name of an order by a function, or of text and record_size is not 0.  err may be NULL.
 */
EM_API EM_NODISCARD em_status em_order_parse(em_order **out, em_ctx *ctx, uint64_t record_size, const char *name,
					     em_errinfo *err);

EM_END_DECLS

#endif
