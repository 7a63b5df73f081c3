/* SPDX-License-Identifier: BSL-1.0 */
/*
 * own_backend.c -- a backend of one's own: scratch that cannot be read by who finds the disk.
 *
 * Eight short functions around those of "syscall" are a whole backend: here they change every byte on its way by a key
 * that depends on its place (a toy: it hides nothing from anybody who tries, and what a file grows by does not read as
 * zeros, which only scratch can bear).  Numbers are sorted through it in little memory, so that they go to scratch and
 * come back.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem.h>
#include <extmem/sys/backend.h>

enum { NUMBERS = 1000000, PIECE = 4096 };

static const em_backend *base;  /* what does the work */
static uint64_t hidden;         /* bytes written; atomic, as several threads write */

/* The same twice is nothing: one function for both ways. */
static void change(unsigned char *bytes, size_t n, uint64_t offset)
{
	size_t i;

	for (i = 0; i < n; i++)
		bytes[i] ^= (unsigned char)((offset + i) * 167 + 13);
}

static int hide_open(void *user, em_backend_open *how)
{
	(void)user;
	/* Pieces that are changed are in a buffer of ours, which is not aligned. */
	if (how->want_direct == EM_DIRECT_ON) {
		how->reason = "bytes are changed on their way";
		return EOPNOTSUPP;
	}
	how->want_direct = EM_DIRECT_OFF;
	how->reason = "bytes are changed on their way";
	return base->open(base->user, how);
}

static void hide_close(void *handle, int forked)
{
	base->close(handle, forked);
}

static int hide_get_size(void *handle, uint64_t *bytes)
{
	return base->get_size(handle, bytes);
}

static int hide_set_size(void *handle, uint64_t bytes)
{
	return base->set_size(handle, bytes);
}

static int hide_fd(void *handle)
{
	return base->fd(handle);
}

static int64_t hide_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	const int64_t n = base->read(handle, buf, bytes, offset);

	if (n > 0)
		change((unsigned char *)buf, (size_t)n, offset);
	return n;
}

/* A piece at a time: a transfer may be short, the library goes on with the rest.  The caller's buffer must not
 * change. */
static int64_t hide_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	unsigned char piece[PIECE];
	const size_t n = bytes < PIECE ? bytes : (size_t)PIECE;

	memcpy(piece, buf, n);
	change(piece, n, offset);
	__atomic_fetch_add(&hidden, n, __ATOMIC_RELAXED);
	return base->write(handle, piece, n, offset);
}

static em_status sort_numbers(em_ctx *ctx, uint64_t *in_order)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_sorter *sorter = NULL;
	em_order *order = NULL;
	const em_batch *batch;
	uint64_t x = 88172645463325252u, last = 0;
	em_status s;
	size_t i;

	*in_order = 0;
	s = em_order_keys(&order, ctx, sizeof x, &key, 1, NULL);
	if (s == EM_OK)
		s = em_sorter_open(&sorter, ctx, order, NULL);
	for (i = 0; s == EM_OK && i < NUMBERS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		s = em_sorter_push(sorter, &x, 1);
	}
	if (s == EM_OK)
		s = em_sorter_finish(sorter);
	while (s == EM_OK && (s = em_sorter_next(sorter, &batch)) == EM_OK) {
		const uint64_t *numbers = (const uint64_t *)batch->records;

		for (i = 0; i < batch->n; i++) {
			*in_order += numbers[i] >= last;
			last = numbers[i];
		}
	}
	em_sorter_close(sorter);
	em_order_close(order);
	return s == EM_END ? EM_OK : s;
}

int main(void)
{
	em_backend hide = EM_BACKEND_INIT;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx = NULL;
	uint64_t in_order = 0;
	em_errinfo err = EM_ERRINFO_INIT;
	em_status s;

	base = em_backend_find("syscall");
	hide.name = "hide";
	hide.open = hide_open;
	hide.close = hide_close;
	hide.get_size = hide_get_size;
	hide.set_size = hide_set_size;
	hide.fd = hide_fd;
	hide.read = hide_read;
	hide.write = hide_write;
	opts.custom = &hide;
	opts.memory = 4 << 20;
	opts.errinfo = &err;
	s = em_ctx_open(&ctx, &opts);
	if (s == EM_OK)
		s = sort_numbers(ctx, &in_order);
	if (s != EM_OK)
		fprintf(stderr, "own_backend: %s\n", err.text[0] != 0 ? err.text : em_status_text(s));
	printf("%" PRIu64 " numbers in order, %" PRIu64 " bytes hidden on their way\n", in_order, hidden);
	em_ctx_close(ctx);
	return s == EM_OK && in_order == NUMBERS && hidden > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
