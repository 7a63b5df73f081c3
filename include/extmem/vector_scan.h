/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/vector_scan.h  Algorithms on ranges of vectors: those that pass through them, and those that sort.
 *
 * (STXXL's scanning algorithms: Dementiev, Kettner and Sanders 2007, section 5.3.)  A range is the n records of a
 * vector from position `from' on; an n of UINT64_MAX means up to the end.  Records are read ahead of the caller's
 * function and written behind it, past the vector's cache, with which all of this agrees.
 *
 *     static int add(void *sum, uint64_t i, const void *records, uint64_t n)
 *     {
 *             const uint64_t *x = records;
 *             while (n-- != 0)
 *                     *(uint64_t *)sum += *x++;
 *             return 0;
 *     }
 *
 *     uint64_t sum = 0;
 *     em_status status = em_vector_for_each(v, 0, UINT64_MAX, add, &sum);
 *
 * Functions of the caller's get as many records at a time as lie in a block, or one where they only answer a question.
 * One that returns a value that is not 0 in place of going on stops the call, which returns EM_ERR_USER.  They may not
 * call the vector: EM_ERR_BUSY.
 *
 * All of these return EM_ERR_INVAL (a pointer is NULL), EM_ERR_RANGE (the range is not in the vector), EM_ERR_ACCESS
 * (they would change one that is read-only), EM_ERR_STATE (they would, and it has a writer, or a record is pinned in a
 * block of the range), EM_ERR_USER (a function of an order failed), and what transfers and memory return: see
 * em_vector_get().  After a failure of one that changes the vector a part of the range is changed, unless it says more.
 *
 * Costs: N is the records of the range, scan(N) as many block transfers as it has blocks.  Memory: the buffers of a
 * reader, and of a writer where the vector is changed.  A vector of few records is not on a disk after any of these.
 */
#ifndef EXTMEM_VECTOR_SCAN_H
#define EXTMEM_VECTOR_SCAN_H

#include <extmem/order.h>
#include <extmem/sort.h>
#include <extmem/vector.h>

EM_BEGIN_DECLS

/** Look at the n > 0 records from position i on. */
typedef int (*em_vector_visit_fn)(void *user, uint64_t i, const void *records, uint64_t n);
/** Change them, or make them. */
typedef int (*em_vector_change_fn)(void *user, uint64_t i, void *records, uint64_t n);
/** Is it true of a record?  0 or something else. */
typedef int (*em_vector_test_fn)(void *user, const void *record);

/** Visit all records, from the first to the last: for each, count, accumulate, compare, copy out.  I/O: scan(N). */
EM_API EM_NODISCARD em_status em_vector_for_each(em_vector *v, uint64_t from, uint64_t n, em_vector_visit_fn fn,
						 void *user);

/** Change all records in place.  I/O: 2 scan(N). */
EM_API EM_NODISCARD em_status em_vector_mutate(em_vector *v, uint64_t from, uint64_t n, em_vector_change_fn fn,
					       void *user);

/** Have all records made by a function, which finds garbage.  The range may go beyond the end, and then the vector gets
 *  longer; here an n of UINT64_MAX is not allowed.  I/O: scan(N). */
EM_API EM_NODISCARD em_status em_vector_generate(em_vector *v, uint64_t from, uint64_t n, em_vector_change_fn fn,
						 void *user);

/** The same with copies of one record. */
EM_API EM_NODISCARD em_status em_vector_fill(em_vector *v, uint64_t from, uint64_t n, const void *record);

/** The position of the first record of which a test is true; EM_NOT_FOUND, and *position is the end of the range.
 *  I/O: scan() of the records up to there. */
EM_API EM_NODISCARD em_status em_vector_find(em_vector *v, uint64_t from, uint64_t n, em_vector_test_fn test,
					     void *user, uint64_t *position);

/** Of how many records a test is true.  I/O: scan(N). */
EM_API EM_NODISCARD em_status em_vector_count(em_vector *v, uint64_t from, uint64_t n, em_vector_test_fn test,
					      void *user, uint64_t *count);

/** Copy a range to position `at' of a vector of such records, which may be the same one; there the ranges may overlap.
 *  What goes beyond the end makes the vector longer.  EM_ERR_INVAL: the records have two sizes, or the vectors two
 *  contexts.  I/O: 2 scan(N). */
EM_API EM_NODISCARD em_status em_vector_copy(em_vector *to, uint64_t at, em_vector *v, uint64_t from, uint64_t n);

/** Have the records in the opposite order.  I/O: 2 scan(N). */
EM_API EM_NODISCARD em_status em_vector_reverse(em_vector *v, uint64_t from, uint64_t n);

/** Have those records in front of which a test is true; *middle: the position of the first other one.  The order among
 *  either is lost.  The test may be asked more than once about a record.  (Hoare's partition, of sections at either
 *  end.) I/O: 2 scan(N), less what needs no change.  Memory: 2 MiB, or half of the cache. */
EM_API EM_NODISCARD em_status em_vector_partition(em_vector *v, uint64_t from, uint64_t n, em_vector_test_fn test,
						  void *user, uint64_t *middle);

/**
 * Have at position from + k that record which would be there if the range were sorted; those before are not behind it
 * in the order, those behind it are not before it.  EM_ERR_INVAL: the order is of records of another size;
 * EM_ERR_RANGE: k is not less than n.
 *
 * Two records of a random sample have the k-th between them but for a few percent of the cases; the range is
 * partitioned by either, and what is between is sorted.  (After Floyd and Rivest, "Expected time bounds for selection",
 * CACM 18 (1975).)  I/O: less than 4 scan(N) on average; an eighth of scan(N) of that at most for the sample.
 */
EM_API EM_NODISCARD em_status em_vector_nth_element(em_vector *v, uint64_t from, uint64_t n, uint64_t k,
						    const em_order *order);

/** The first position of a range that is sorted whose record is not before a given one, or its end.  EM_OK;
 *  EM_NOT_FOUND: the record there, if any, is not equal to it.  I/O: log2(N / B) + 1 blocks. */
EM_API EM_NODISCARD em_status em_vector_lower_bound(em_vector *v, uint64_t from, uint64_t n, const em_order *order,
						    const void *record, uint64_t *position);

/**
 * Sort a range (extmem/sort.h), stably.  opts may be NULL; with EM_SORT_UNIQUE of equal records the first is left;
 * then, or always, *left, which may be NULL, is how many there are in front; what is behind them in the range is as it
 * was.
 *
 * Nothing is changed before all records were read.  After a failure in writing them back, whose detail ends with "the
 * range is undefined", there may be records twice and others not at all.
 *
 * Returns also what em_sorter_open() and its relatives do.  I/O: a sort's, of which 2 scan(N) are on the vector.
 */
EM_API EM_NODISCARD em_status em_vector_sort(em_vector *v, uint64_t from, uint64_t n, const em_order *order,
					     const em_sort_opts *opts, uint64_t *left);

/** Put a range into random order, as extmem/shuffle.h says: of so many records with one seed it is that of
 *  em_shuffle_files().  opts may be NULL; no flags.  Failures and costs are those of em_vector_sort() for records of 8
 *  bytes more. */
EM_API EM_NODISCARD em_status em_vector_shuffle(em_vector *v, uint64_t from, uint64_t n, uint64_t seed,
						const em_sort_opts *opts);

/** Is a range sorted?  EM_NOT_FOUND: yes, and *position is its end.  EM_OK: no, and it is the first whose record is
 *  before the one in front of it in the order.  I/O: scan() of the records up to there. */
EM_API EM_NODISCARD em_status em_vector_find_disorder(em_vector *v, uint64_t from, uint64_t n, const em_order *order,
						      uint64_t *position);

EM_END_DECLS

#endif
