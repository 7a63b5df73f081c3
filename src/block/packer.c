/* SPDX-License-Identifier: BSL-1.0 */
/* packer.c -- see packer.h. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "block/packer.h"

#include <limits.h>
#include <string.h>
#ifdef HAVE_LZ4
#include <lz4.h>
#endif

#include "base/error.h"
#include "base/memory.h"

#define HALF 128u               /* 256ths: what is worth the time of packing and unpacking ... */
#define SAVES_A_BIT 248u        /* ... and what is worth it for the space */
#define TRY_EVERY 32u           /* blocks, when the last one was not worth it */

#ifdef HAVE_LZ4
#define SPEED 2                 /* LZ4's acceleration: a tenth faster than 1, and nearly as small; more is larger and no
                                   faster */

int emi_packer_supported(void)
{
	return 1;
}

static size_t state_bytes(void)
{
	return ((size_t)LZ4_sizeofState() + 63) / 64 * 64;
}

static size_t compress(char *state, const char *from, size_t bytes, char *to, size_t room)
{
	return (size_t)LZ4_compress_fast_extState(state, from, to, (int)bytes, (int)room, SPEED);
}

int emi_unpack(const char *packed, size_t bytes, char *to, size_t whole)
{
	return bytes <= INT_MAX && whole <= INT_MAX &&
	       LZ4_decompress_safe(packed, to, (int)bytes, (int)whole) == (int)whole;
}
#else
int emi_packer_supported(void)
{
	return 0;
}

static size_t state_bytes(void)
{
	return 64;
}

static size_t compress(char *state, const char *from, size_t bytes, char *to, size_t room)
{
	(void)state, (void)from, (void)bytes, (void)to, (void)room;
	return 0;
}

int emi_unpack(const char *packed, size_t bytes, char *to, size_t whole)
{
	(void)packed, (void)bytes, (void)to, (void)whole;
	return 0;
}
#endif

uint64_t emi_packer_memory(uint32_t n)
{
	return (uint64_t)n * (sizeof(emi_spare) + state_bytes() + EMI_PAGE);
}

em_status emi_packer_init(emi_packer *p, em_ctx *ctx, uint32_t n, size_t bytes, int always, em_errinfo *err)
{
	memset(p, 0, sizeof *p);
	if (n == 0)
		return EM_OK;
	if (pthread_mutex_init(&p->lock, NULL) != 0)
		return emi_fail(err, EM_ERR_NOMEM, "cannot make a lock");
	p->ctx = ctx;
	p->n = n;
	p->bytes = bytes;
	p->always = always;
	p->spare = emi_alloc_array(ctx, n, sizeof *p->spare, err);
	if (p->spare != NULL)
		p->states = emi_buffer_alloc_array(ctx, n, state_bytes(), err);
	if (p->states != NULL)
		return EM_OK;
	emi_packer_free(p);
	return err->status;
}

void emi_packer_free(emi_packer *p)
{
	if (p->ctx == NULL)
		return;
	if (p->states != NULL)
		emi_buffer_free_array(p->ctx, p->states, p->n, state_bytes());
	if (p->spare != NULL)
		emi_free_array(p->ctx, p->spare, p->n, sizeof *p->spare);
	pthread_mutex_destroy(&p->lock);
	memset(p, 0, sizeof *p);
}

void emi_packer_give(emi_packer *p, char *buffer)
{
	p->spare[p->free].buffer = buffer;
	p->spare[p->free].clean = 0;
	p->spare[p->free].state = p->states + p->free * state_bytes();
	p->free++;
}

/* A spare buffer, if this block is to be tried and there is one. */
static int take(emi_packer *p, emi_spare *spare)
{
	int taken = 0;

	pthread_mutex_lock(&p->lock);
	if (p->free != 0 && (p->always || !p->poor || ++p->skipped >= TRY_EVERY)) {
		p->skipped = 0;
		*spare = p->spare[--p->free];
		taken = 1;
	}
	pthread_mutex_unlock(&p->lock);
	return taken;
}

static void bring_back(emi_packer *p, const emi_spare *spare, int poor)
{
	pthread_mutex_lock(&p->lock);
	p->spare[p->free++] = *spare;
	p->poor = poor;
	pthread_mutex_unlock(&p->lock);
}

size_t emi_packer_pack(emi_packer *p, char **buffer, size_t bytes)
{
	const size_t room = bytes / 256 * (p->always ? SAVES_A_BIT : HALF);
	emi_spare s;
	size_t packed;

	if (p->n == 0 || bytes < 2 * EMI_PAGE || bytes > INT_MAX / 2 || !take(p, &s))
		return 0;
	if (!s.clean)
		memset(s.buffer, 0, p->bytes);
	s.clean = 1;
	packed = compress(s.state, *buffer, bytes, s.buffer, room);
	if (packed != 0) {
		char *from = *buffer;

		memset(s.buffer + packed, 0, (EMI_PAGE - packed % EMI_PAGE) % EMI_PAGE);
		*buffer = s.buffer;
		s.buffer = from;
	}
	bring_back(p, &s, packed == 0);
	return packed;
}
