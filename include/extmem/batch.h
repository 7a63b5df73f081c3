/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/batch.h  Batches: how records cross the boundary of the library.
 *
 * Whatever iterates lends batches, not records.  A batch belongs to the object that lent
 * it and is valid until the next call on that object, other than close.  Later versions may append fields to it (see
 * extmem/base.h).
 */
#ifndef EXTMEM_BATCH_H
#define EXTMEM_BATCH_H

#include <extmem/base.h>

EM_BEGIN_DECLS

typedef struct em_batch {
	const void *records;  /**< The first record; aligned as the library pleases. */
	size_t n;             /**< Number of records, never 0 with EM_OK. */
	size_t bytes;         /**< Bytes of all records together. */
	const uint64_t *ends; /**< NULL: all records have the same size.  Otherwise n offsets
	                           from `records' of the first byte behind each record. */
} em_batch;

EM_END_DECLS

#endif
