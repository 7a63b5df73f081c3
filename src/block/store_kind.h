/* SPDX-License-Identifier: BSL-1.0 */
/*
 * store_kind.h -- what a store consists of, and what its three kinds do each in their own way (store_disks.c,
 * store_array.c, store_file.c).
 */
#ifndef EMI_STORE_KIND_H
#define EMI_STORE_KIND_H

#include "block/store.h"

typedef struct emi_store_kind {
	int (*read)(emi_store *s, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *io);
	em_status (*write)(emi_store *s, emi_request *rq, const void *buf, size_t bytes, em_bid bid, emi_io_stats *io,
			   em_errinfo *err);
	/* Have as many of the first *n blocks as lie side by side, one at least, and say how many.  NULL: all do. */
	em_status (*side_by_side)(emi_store *s, em_bid bid, uint32_t *n, em_errinfo *err);
	/* NULL: blocks are neither allocated nor freed, or it has no length. */
	em_status (*alloc)(emi_store *s, const em_placement *place, uint64_t first, size_t bytes, em_bid *bid, size_t n,
			   em_errinfo *err);
	em_status (*free)(emi_store *s, em_bid bid, size_t bytes, em_errinfo *err);
	/* Before the length is set, and, when holders know it, after that. */
	em_status (*resize)(emi_store *s, uint64_t bytes, em_errinfo *err);
	void (*resized)(emi_store *s);
	/* Give back what is its own beside the struct. */
	void (*close)(emi_store *s);
} emi_store_kind;

/* Blocks of an array that were written, PART at a time. */
enum { EMI_ARRAY_PART = 256 };

typedef struct emi_array_part {
	em_bid place[EMI_ARRAY_PART]; /* reserved: so many bytes of the block are there; 0: none, and it has no place */
} emi_array_part;

typedef struct emi_array {
	size_t block_bytes;
	int placed;             /* by the placement */
	em_placement placement;
	uint64_t parts;         /* entries of part */
	emi_array_part **part;  /* NULL: none of these blocks has a place */
} emi_array;

struct emi_store {
	const emi_store_kind *kind;
	em_ctx *ctx;            /* kept */
	uint32_t users;         /* who close it */
	int owns;               /* the disks are its own */
	int read_only;
	const int *canceled;    /* whose work ends when this is not 0, atomically; or NULL */
	emi_holder *first;      /* holders */
	emi_disk *disk;         /* NULL: of a file, or none yet */
	em_file *file;          /* NULL: it is on scratch disks */
	uint64_t length;        /* in bytes */
	uint64_t written;       /* of a file: what is behind is zeros, up to the length */
	uint64_t at;            /* of a part of a file: where it begins; else 0 */
	int (*arrived)(void *block); /* of a part of a file; or NULL */
	emi_array array;
};

/* A store of that kind: NULL with EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FORK. */
emi_store *emi_store_new(em_ctx *ctx, const emi_store_kind *kind, em_errinfo *err);

/* Have disks of its own, if it has none. */
em_status emi_store_acquire(emi_store *s, em_errinfo *err);

/* There is nothing to read: the buffer is zeros and the request idle.  Returns 0. */
int emi_store_zero(emi_request *rq, void *buf, size_t bytes);

#endif
