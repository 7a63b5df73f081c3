/* SPDX-License-Identifier: BSL-1.0 */
/*
 * packer.h -- blocks made smaller with LZ4 on their way to the disk, and whole again on their way back.
 *
 * A sort that waits for its disk is faster by what it does not move.  Sorted records of any length have much in common
 * with those before them, and LZ4 is fast enough not to make the processor the bottleneck instead.  Whether it is worth
 * it the data tells: a block is left as it is unless it becomes half as large, and when one did not only some of those
 * that follow are tried.  Who wants the space rather than the time has all tried, and packed if that saves 3 %.
 *
 * Nothing is copied: the block is packed into a spare buffer, which takes the place of the buffer that it was in.  As
 * many threads can pack at a time as there are spare buffers.  Without the LZ4 library nothing is ever packed.
 */
#ifndef EMI_PACKER_H
#define EMI_PACKER_H

#include <pthread.h>

#include <extmem/ctx.h>

typedef struct emi_spare {
	char *buffer;
	char *state;            /* LZ4's memory */
	int clean;              /* nothing is in the buffer but zeroes and what was put in it: what lies behind a block
	                           is written, too */
} emi_spare;

typedef struct emi_packer {
	em_ctx *ctx;
	pthread_mutex_t lock;
	emi_spare *spare;       /* those that are not in use */
	char *states;
	size_t bytes;           /* of each buffer */
	uint32_t n, free;
	int always;             /* all that become a little smaller, and not only those that become half as large */
	uint32_t skipped;       /* blocks that were not tried since the last one */
	int poor;               /* the last one that was tried was not worth it */
} emi_packer;

/* Was the library built with LZ4? */
int emi_packer_supported(void);

/* Bytes of memory beside n spare buffers. */
uint64_t emi_packer_memory(uint32_t n);

/*
 * For n threads at a time; n > 0 needs support.  The spare buffers, of so many bytes as the blocks' own, are the
 * caller's: he gives them one by one, and frees all buffers in the end, wherever they have come to.
 */
em_status emi_packer_init(emi_packer *p, em_ctx *ctx, uint32_t n, size_t bytes, int always, em_errinfo *err);
void emi_packer_free(emi_packer *p);
void emi_packer_give(emi_packer *p, char *buffer);

/*
 * Pack bytes of a buffer, which is exchanged for another one with the packed bytes in front and zeroes up to the end of
 * the page: returns how many, or 0 if the block stays as it is.  Any thread.
 */
size_t emi_packer_pack(emi_packer *p, char **buffer, size_t bytes);

/* Unpack bytes: 0 if these are not what `whole' bytes were packed to.  Any thread. */
int emi_unpack(const char *packed, size_t bytes, char *to, size_t whole);

#endif
