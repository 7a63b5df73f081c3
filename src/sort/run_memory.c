/* SPDX-License-Identifier: BSL-1.0 */
/* run_memory.c -- see run_memory.h. */
#include "sort/run_memory.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/meter.h"

#define PIECE ((size_t)16 << 20)        /* bytes of a piece, about */
#define PAGE_PIECE ((size_t)64 << 10)
#define DEEP 8u                         /* blocks under way for each disk: more do not make it faster */
#define AGAIN 8                         /* times what trying to write takes are spent on memory before it is tried
                                           again */
#define WEIGHT 0.125                    /* of what a buffer cost, against those before */
#define DEARER 2.0                      /* what memory costs keeps a processor from sorting */
#define LEAST_ROOM 64u                  /* entries of a list */

void emi_run_memory_init(emi_run_memory *m, em_ctx *ctx, uint64_t most, size_t block_bytes, uint32_t disks)
{
	memset(m, 0, sizeof *m);
	m->ctx = ctx;
	m->most = most;
	m->disks = disks;
	m->blocks.bytes = block_bytes + EMI_PAGE;
	m->pages.bytes = EMI_DIR_BYTES;
}

void emi_run_memory_free(emi_run_memory *m)
{
	uint64_t i;

	for (i = 0; i < m->npieces; i++)
		emi_buffer_free(m->ctx, m->piece[i].base, m->piece[i].bytes);
	if (m->piece != NULL)
		emi_free_array(m->ctx, m->piece, m->pieces_room, sizeof *m->piece);
	if (m->buffer != NULL)
		emi_free_array(m->ctx, m->buffer, m->room, sizeof *m->buffer);
	memset(m, 0, sizeof *m);
}

void emi_run_memory_measured(emi_run_memory *m, size_t bytes, uint64_t ns)
{
	const double now = (double)ns / (double)bytes;
	double fresh;

	__atomic_load(&m->fresh, &fresh, __ATOMIC_RELAXED);
	fresh = fresh == 0 ? now : fresh + WEIGHT * (now - fresh);
	__atomic_store(&m->fresh, &fresh, __ATOMIC_RELAXED);
}

/* Many writes are under way, or were until now: what has become of them? */
static void measure_writing(emi_run_memory *m, uint64_t written)
{
	emi_write_rate *r = &m->rate;
	const uint64_t now = emi_now_ns();

	if (r->deep) {
		r->deep_ns += now - r->when;
		r->deep_bytes += written - r->done;
	}
	/* Pages are written, too, which nobody sends.  While blocks stay, what is under way is written as fast as can
	 * be, to the last byte. */
	if (r->sent <= written)
		r->deep = 0;
	else if (r->sent - written >= (uint64_t)DEEP * m->disks * r->block)
		r->deep = 1;
	else if (!m->stays)
		r->deep = 0;
	r->when = now;
	r->done = written;
}

/* Nanoseconds for a byte that is written while many are under way; 0: not known.  What is under way is taken to be half
 * done. */
static double write_cost(const emi_run_memory *m)
{
	const emi_write_rate *r = &m->rate;

	return r->block == 0 ? 0 : (double)r->deep_ns / ((double)r->deep_bytes + (double)r->block / 2);
}

/* A block that was packed takes a whole buffer, and less of a disk; but who packs it cannot sort meanwhile, either, and
 * disks that are behind all the same are not slow for a moment only. */
static int is_cheaper(const emi_run_memory *m, size_t bytes, uint64_t packing, double fresh)
{
	const double disk = write_cost(m) * (double)bytes, memory = fresh * (double)m->blocks.bytes - (double)packing;

	if (m->blocks.left == 0 && m->most - m->taken < m->blocks.bytes)
		return 0;
	return m->no_disks || (disk > 0 && (packing != 0 ? 1 : DEARER) * memory < disk);
}

/* How things were some time ago is no longer worth knowing. */
static void forget(emi_run_memory *m, double fresh)
{
	emi_write_rate *r = &m->rate;
	const double trying = (double)DEEP * m->disks * (double)m->blocks.bytes * write_cost(m);

	if (fresh * (double)r->stayed > AGAIN * trying)
		r->deep_ns = r->deep_bytes = r->stayed = 0;
}

int emi_run_memory_wants(emi_run_memory *m, size_t bytes, uint64_t packing, uint64_t written)
{
	double fresh;
	int stays;

	if (m->most == 0)
		return 0;
	__atomic_load(&m->fresh, &fresh, __ATOMIC_RELAXED);
	measure_writing(m, written);
	forget(m, fresh);
	stays = is_cheaper(m, bytes, packing, fresh);
	if (stays)
		m->rate.stayed += bytes;
	__atomic_store_n(&m->stays, stays, __ATOMIC_RELAXED);
	return stays;
}

void emi_run_memory_sent(emi_run_memory *m, size_t bytes)
{
	m->rate.sent += bytes;
	m->rate.block = bytes;
}

uint64_t emi_run_memory_leave(emi_run_memory *m)
{
	const uint64_t left = m->most - m->taken;

	m->most = m->taken;
	return left;
}

int emi_run_memory_stays(const emi_run_memory *m)
{
	return __atomic_load_n(&m->stays, __ATOMIC_RELAXED);
}

/* A list of n of its room entries gets room for another one. */
static int extend(em_ctx *ctx, void **list, size_t entry, uint64_t n, uint64_t *room)
{
	const uint64_t more = *room == 0 ? LEAST_ROOM : 2 * *room;
	void *longer;

	if (n < *room)
		return 1;
	longer = emi_alloc_array(ctx, more, entry, NULL);
	if (longer == NULL)
		return 0;
	if (*list != NULL) {
		memcpy(longer, *list, (size_t)*room * entry);
		emi_free_array(ctx, *list, *room, entry);
	}
	*list = longer;
	*room = more;
	return 1;
}

/* Room in the list for so many pieces, and for one that emi_run_memory_adopt() adds. */
static int list_pieces(emi_run_memory *m, uint64_t more)
{
	void *list = m->piece;

	if (!extend(m->ctx, &list, sizeof *m->piece, m->npieces + more, &m->pieces_room))
		return 0;
	m->piece = list;
	return 1;
}

/* Another piece for a row of buffers, no larger than what is left. */
static int add_piece(emi_run_memory *m, emi_buffer_row *row, size_t wanted)
{
	const uint64_t left = m->most - m->taken;
	size_t n = wanted > row->bytes ? wanted / row->bytes : 1;
	emi_memory_piece piece;

	if (n > left / row->bytes)
		n = (size_t)(left / row->bytes);
	if (n == 0 || !list_pieces(m, 1))
		return 0;
	piece.bytes = n * row->bytes;
	piece.base = emi_buffer_alloc(m->ctx, piece.bytes, NULL);
	if (piece.base == NULL) {
		/* There is less than was thought: that is all there is. */
		m->most = m->taken;
		return 0;
	}
	m->piece[m->npieces++] = piece;
	m->taken += piece.bytes;
	row->next = piece.base;
	row->left = (uint32_t)n;
	return 1;
}

/* Enter a buffer in the list: its id, or 0. */
static int enter(emi_run_memory *m, char *buffer, em_bid *bid)
{
	void *list = m->buffer;

	if (!extend(m->ctx, &list, sizeof *m->buffer, m->n, &m->room))
		return 0;
	m->buffer = list;
	memset(bid, 0, sizeof *bid);
	bid->disk = EMI_IN_MEMORY;
	bid->offset = m->n * EMI_DIR_BYTES;
	m->buffer[m->n++] = buffer;
	return 1;
}

/* Have a buffer that nobody has, without taking it. */
static int have(emi_run_memory *m, emi_buffer_row *row, size_t piece)
{
	return row->left != 0 || (m->taken < m->most && add_piece(m, row, piece));
}

static char *take(emi_buffer_row *row)
{
	char *buffer = row->next;

	row->next += row->bytes;
	row->left--;
	return buffer;
}

int emi_run_memory_adopt(emi_run_memory *m, char *base, size_t bytes)
{
	uint64_t i;

	for (i = 0; i < m->n && (uintptr_t)m->buffer[i] - (uintptr_t)base >= bytes; i++)
		continue;
	if (i == m->n)
		return 0;
	m->piece[m->npieces].base = base;
	m->piece[m->npieces++].bytes = bytes;
	m->taken += bytes;
	if (m->most < m->taken)
		m->most = m->taken;
	return 1;
}

int emi_run_memory_keep(emi_run_memory *m, char **buffer, size_t data, em_bid *bid)
{
	if (!have(m, &m->blocks, PIECE) || !list_pieces(m, 0) || !enter(m, *buffer, bid))
		return 0;
	*buffer = take(&m->blocks);
	m->kept += data;
	return 1;
}

int emi_run_memory_page(emi_run_memory *m, em_bid *bid)
{
	if (!have(m, &m->pages, PAGE_PIECE) || !enter(m, m->pages.next, bid))
		return 0;
	take(&m->pages);
	return 1;
}

char *emi_run_memory_at(const emi_run_memory *m, em_bid bid)
{
	return bid.disk == EMI_IN_MEMORY && bid.offset / EMI_DIR_BYTES < m->n ? m->buffer[bid.offset / EMI_DIR_BYTES]
									      : NULL;
}
