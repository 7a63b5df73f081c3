/* SPDX-License-Identifier: BSL-1.0 */
/*
 * store.h -- where the blocks of a data structure live, and who keeps some of them in memory.
 *
 * A store is one of three:
 *
 *   disks     the scratch disks of a context.  Blocks of any size are allocated and freed, and known by their ids.
 *   array     the same disks, but blocks of one size B that are numbered: block i is at {0, i * B}.  It gets its place
 *             on a disk when it is written for the first time, so neither making nor lengthening an array takes space.
 *   file      a user's file: block i of any size B is at {0, i * B}.  The last block may be there in part only.  Or a
 *             part of one, for reading only.
 *
 * Caches, pools, readers and writers stand on a store and do not ask which one it is:
 *
 *	emi_store_open_file(&s, file, err);             (or _disks, or _array)
 *	opts.store = s;
 *	emi_cache_open(&c, ctx, &opts, err);            (each keeps the store)
 *	emi_store_close(s);
 *
 *	emi_store_read(s, &rq, buf, B, bid, io);        (a transfer by hand: what a reader that bypasses a cache does)
 *	... compute ...
 *	emi_wait(&rq, err);
 *	emi_store_overlay(s, NULL, &span, buf);               (what is newer in memory)
 *
 *	emi_store_forget(s, me, &span, err);            (a write by hand: nobody else may keep what is old)
 *	emi_store_write(s, &rq, buf, B, bid, io, err);
 *
 * Zeros.  What was never written is zeros, and nothing is read to know that: blocks of disks and arrays by what the
 * disks know, the end of a file that was lengthened here as long as nothing behind it was written.
 *
 * Length.  Arrays and files have a length in bytes, which only emi_store_resize() changes.  What is behind it is
 * EM_ERR_RANGE.  Of a block that the end is in, what is before is moved, and what is behind reads as zeros: nothing is
 * ever written behind the end of a file.  A file that somebody else has cut short is EM_ERR_SHORT, for reading and for
 * writing, which would fill the gap with zeros.
 *
 * Coherence.  Whoever keeps contents of blocks in memory is a holder (holder.h) and is asked by the others: to write
 * what it has changed, to forget what is going to change, or to lend what is newer than the store.  So all that stand
 * on one store agree, and must be on one thread at a time; different stores are independent, also on the same disks or
 * file, and know nothing of each other.  Requests that have bytes in common keep their order, so what is on its way to
 * the store is no matter.  But a block should be changed through one cache at a time: if two have changed it, and
 * neither has written it, nobody knows which is newer.
 */
#ifndef EMI_STORE_H
#define EMI_STORE_H

#include "block/disk.h"
#include "block/holder.h"

typedef struct emi_store emi_store;

/* The disks that somebody else uses already, and closes after the store. */
em_status emi_store_open_disks(emi_store **out, em_ctx *ctx, emi_disk *disk, em_errinfo *err);

/* A user of the context's disks of its own, which it is not before a block is allocated.  What is still allocated when
 * it is closed is freed. */
em_status emi_store_open_scratch(emi_store **out, em_ctx *ctx, em_errinfo *err);

/* An array of no blocks of so many bytes, a multiple of EMI_PAGE, on disks of its own likewise.  Block i goes where the
 * placement says, or, NULL, to one disk after the other.  The placement is copied. */
em_status emi_store_open_array(emi_store **out, em_ctx *ctx, size_t block_bytes, const em_placement *place,
			       em_errinfo *err);

/* A file, which must stay open, with the length that it has now.  It is read-only if the file is.  EM_ERR_IO. */
em_status emi_store_open_file(emi_store **out, em_file *file, em_errinfo *err);

/* So many bytes of a file, from byte `at' on, which are there, for reading only.  arrived: NULL, or it gets each block
 * that was read, before anybody else does, and returns 0 if the block is damaged, which is EM_ERR_CORRUPT then.  err is
 * not NULL. */
em_status emi_store_open_part(emi_store **out, em_file *file, uint64_t at, uint64_t bytes, int (*arrived)(void *block),
			      em_errinfo *err);

/* All of them: EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FORK. */

/* Bytes of memory that one takes, but for the list of places of an array. */
uint64_t emi_store_memory(void);
/* And the most that the list takes when so many blocks are in use; UINT64_MAX: more than can be counted. */
uint64_t emi_store_array_memory(uint64_t blocks);

/* One more who closes it. */
emi_store *emi_store_hold(emi_store *s);

/* NULL is allowed.  Requests must be done.  Never fails, and writes nothing. */
void emi_store_close(emi_store *s);

/* From now on transfers fail with EM_ERR_CANCELED when *canceled is not 0, which any thread may make it.  NULL: never.
 * */
void emi_store_watch(emi_store *s, const int *canceled);
int emi_store_canceled(const emi_store *s);

/* May work on it go on?  As emi_ctx_check(), or EM_ERR_CANCELED of this. */
em_status emi_store_check_work(const emi_store *s, em_errinfo *err);

/* The disks that it is on: of disks and arrays, from the first allocation on; else NULL. */
emi_disk *emi_store_disk(const emi_store *s);
int emi_store_read_only(const emi_store *s);
/* Ids have a disk that is less; 1 of an array and a file. */
uint32_t emi_store_disks(const emi_store *s);

/* Of arrays and files, in bytes; of disks UINT64_MAX. */
uint64_t emi_store_length(const emi_store *s);

/* Where blocks of a size begin: at multiples of that. */
size_t emi_store_step(const emi_store *s, size_t block_bytes);

/* Set it; no transfer of somebody who is no holder is under way.  What is added is zeros; what is cut off is forgotten
 * by all holders, and blocks of an array are freed.  EM_ERR_STATE: what is to be cut off is pinned; EM_ERR_INVAL: the
 * file is read-only; EM_ERR_NOTSUP: it is of disks; as emi_file_resize(), or, as cutting off only gives back,
 * emi_file_cut().  After a failure the length is as it was. */
em_status emi_store_resize(emi_store *s, uint64_t bytes, em_errinfo *err);

/* As that, where nobody has anything behind so many bytes: it is zeros, and the block that the end is in may be pinned,
 * but none behind it. */
em_status emi_store_trim(emi_store *s, uint64_t bytes, em_errinfo *err);

/* May so many bytes be read there, or written?  To be asked before a transfer is begun.  EM_ERR_INVAL: no such disk,
 * the file is read-only; EM_ERR_RANGE: behind the end; EM_ERR_STATE: nothing was ever allocated. */
em_status emi_store_check(const emi_store *s, emi_request_kind kind, em_bid bid, size_t bytes, em_errinfo *err);

/* The same, and one block of that size may begin there.  EM_ERR_INVAL. */
em_status emi_store_check_block(const emi_store *s, emi_request_kind kind, em_bid bid, size_t bytes, em_errinfo *err);

/* Allocate n blocks; see emi_bids_alloc().  EM_ERR_NOTSUP: arrays and files have them by their length. */
em_status emi_store_alloc(emi_store *s, const em_placement *place, uint64_t first, size_t bytes, em_bid *bid, size_t n,
			  em_errinfo *err);

/* Free a block, whose requests must be done, when other holders have forgotten it.  A block of an array has no place
 * then, and is zeros; one of a file is forgotten and nothing else.  me may be NULL.  EM_ERR_STATE: it is pinned; see
 * emi_bids_free(). */
em_status emi_store_free(emi_store *s, const emi_holder *me, em_bid bid, size_t bytes, em_errinfo *err);

/* Begin to read a block into buf.  1: emi_wait() tells how it ends; all of buf is filled then, with zeros where nothing
 * was ever written.  0: nothing was written at all, so nothing is read: buf is zeros, and the request is idle.  io may
 * be NULL. */
int emi_store_read(emi_store *s, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *io);

/* Begin to read a block that somebody says was written: that it was not, or in part only, is EM_ERR_STATE or
 * EM_ERR_CORRUPT, where blocks are allocated. */
void emi_store_read_written(emi_store *s, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *io);

/* Begin to write a block.  EM_OK: emi_wait() tells how it ends; else there is no transfer, and the request is idle:
 * EM_ERR_SHORT; of a block of an array that gets its place as emi_bid_alloc(). */
em_status emi_store_write(emi_store *s, emi_request *rq, const void *buf, size_t bytes, em_bid bid, emi_io_stats *io,
			  em_errinfo *err);

/* Begin to write up to *n blocks of that size, which follow each other in an array or a file, and which lie so in buf:
 * *n becomes how many they are, at least one, as their places have to be side by side.  As emi_store_write(). */
em_status emi_store_write_run(emi_store *s, emi_request *rq, const void *buf, size_t block_bytes, em_bid bid,
			      uint32_t *n, emi_io_stats *io, em_errinfo *err);

/* How many bytes of a block of an array were written, behind which it is zeros; of other stores 0. */
uint32_t emi_store_there(const emi_store *s, em_bid bid);

/* A write of it, which is over, has failed, and so many were written before: it is zeros behind them again.  Without
 * that it is what happens to be on the disk, until a write succeeds.  Of other stores nothing is done. */
void emi_store_unwrite(emi_store *s, em_bid bid, uint32_t there);

/* Read the newest contents now, whoever has them. */
em_status emi_store_fetch(emi_store *s, void *buf, size_t bytes, em_bid bid, emi_io_stats *io, em_errinfo *err);

/* Several transfers are going to be begun: those that lie side by side are made together where that can be.  They may
 * be waited for before.  1: until emi_store_gathered() is called; 0: there is nothing to be read or written yet. */
int emi_store_gather(emi_store *s);
void emi_store_gathered(emi_store *s);

/* Have what was written reach the device: see emi_file_sync(); of scratch nothing is done. */
em_status emi_store_sync(emi_store *s, em_errinfo *err);

/* Holders. */

/* From now on h is asked, until it parts. */
void emi_store_join(emi_store *s, emi_holder *h, const emi_holder_calls *calls);
void emi_store_part(emi_store *s, emi_holder *h);

/* Have all holders write what they have changed of a span; the first failure. */
em_status emi_store_flush(emi_store *s, const emi_span *span, em_errinfo *err);

/* Is a block of a span pinned? */
int emi_store_pins(emi_store *s, const emi_span *span);

/* Have all holders but me (NULL: but none) forget a span, whether changed or not.  EM_ERR_STATE: a part of it is
 * pinned, and nothing was forgotten. */
em_status emi_store_forget(emi_store *s, const emi_holder *me, const emi_span *span, em_errinfo *err);

/* Tell all holders that the store ends there: for emi_store_resize(). */
void emi_store_cut(emi_store *s, em_bid end);

/* Bring buf, which has the span as it is in the store, up to date with what holders, but me, have changed. */
void emi_store_overlay(emi_store *s, const emi_holder *me, const emi_span *span, void *buf);

#endif
