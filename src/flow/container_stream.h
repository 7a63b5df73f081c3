/* SPDX-License-Identifier: BSL-1.0 */
/*
 * container_stream.h -- what streams and sinks of containers have in common.
 *
 * They make the public calls of a container, so that what is true of these is true of them: locks, checks and failures
 * included.  A kind says which calls those are.  A stream either lends what a reader of the container lends, or copies
 * what it takes out to its buffer.
 */
#ifndef EMI_CONTAINER_STREAM_H
#define EMI_CONTAINER_STREAM_H

#include <extmem/stream_containers.h>

#include "flow/flow_sink.h"
#include "flow/stream.h"

typedef struct emi_from emi_from;

typedef struct emi_from_kind {
	em_status (*open)(emi_from *f);         /* with the first pull; NULL: there is nothing to open */
	/* Lend the next batch; or, if NULL, ... */
	em_status (*next)(emi_from *f, const em_batch **batch);
	/* ... take some records out, of n, to a buffer.  Either: EM_END or EM_NOT_FOUND: there are no more. */
	em_status (*take)(emi_from *f, void *records, uint64_t n, uint64_t *got);
	void (*error)(const emi_from *f, em_errinfo *err);
	void (*close)(emi_from *f);             /* what was opened; NULL: nothing */
	int turned;                             /* what was taken comes from its last record to its first */
} emi_from_kind;

struct emi_from {
	em_stream s;
	const emi_from_kind *how;
	void *container;
	void *reader;           /* what was opened; NULL: it was not */
	uint64_t from, n;       /* the range of a reader */
	uint32_t direction;
	em_batch turning;       /* a batch that is lent from its last record to its first */
	char *key;              /* of a tree: where it begins and ends, a record each; NULL: nowhere ... */
	int has_from, has_to;
	int over;
};

/* A stream of a container, which is not NULL; name: what its argument is called.  f is zeroed but for what all streams
 * have; it is the caller's to complete and to give to emi_stream_made().  NULL, with err filled. */
emi_from *emi_from_new(const void *container, const emi_from_kind *how, uint64_t record_bytes, uint64_t count,
		       em_errinfo *err);

/* What a function that makes one ends with. */
em_status emi_from_made(emi_from *f, em_stream **out, em_status st, em_errinfo *theirs, const em_errinfo *err);

typedef struct emi_to emi_to;

typedef struct emi_to_kind {
	em_status (*open)(emi_to *t);           /* with the first push, or finish; NULL: there is nothing to open */
	em_status (*push)(emi_to *t, const void *records, uint64_t n, uint64_t *pushed);
	em_status (*finish)(emi_to *t);         /* NULL: there is nothing to do */
	void (*error)(const emi_to *t, em_errinfo *err);
	void (*close)(emi_to *t);               /* what was opened; NULL: nothing */
} emi_to_kind;

struct emi_to {
	em_sink k;
	const emi_to_kind *how;
	void *container;
	void *writer;           /* what was opened; NULL: it was not */
	uint64_t from;
	em_btree_load_opts load;
};

emi_to *emi_to_new(const void *container, const emi_to_kind *how, uint64_t record_bytes, em_errinfo *err);

/* The context of a container: all begin with an emi_object. */
static inline em_ctx *emi_container_ctx(const void *container)
{
	return ((const emi_object *)container)->ctx;
}

#endif
