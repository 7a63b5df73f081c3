/* SPDX-License-Identifier: BSL-1.0 */
/*
 * element_bufferb.c -- streams with a buffer of their own, of whole elements.
 *
 * The buffer is the window.  It is filled when it is empty and written when it is full and one more comes, so n
 * elements are as few transfers as there are buffers full of them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "base/context.h"
#include "base/memory.h"
#include "stream/element_kind.h"

static uint64_t unit(uint64_t element, uint64_t buffer)
{
	(void)element;
	return buffer;
}

static em_status open_buffer(emi_element_stream *s)
{
	s->area_bytes = s->buffer;
	if (!s->writing && s->area_bytes > s->size)
		s->area_bytes = (size_t)s->size; /* whole elements, as the file is */
	if (s->area_bytes == 0)
		return EM_OK;
	s->area = emi_buffer_alloc(s->object.ctx, s->area_bytes, &s->err);
	return s->area != NULL ? EM_OK : s->err.status;
}

static em_status refill(emi_element_stream *s, void *element)
{
	size_t n = s->size - s->at < s->area_bytes ? (size_t)(s->size - s->at) : s->area_bytes;
	em_status status = emi_ctx_check(s->object.ctx, &s->err);

	if (status == EM_OK)
		status = emi_element_pread(s, s->area, n, s->at);
	if (status != EM_OK)
		return status;
	s->at += n;
	s->cur = s->area;
	s->left = n;
	emi_element_take(s, element);
	return EM_OK;
}

/* Write what is in the buffer, which then ends where the position is. */
static em_status flush(emi_element_stream *s)
{
	const uint64_t position = s->at - s->left;
	const size_t n = s->cur != NULL ? (size_t)(s->cur - s->area) : 0;
	em_status status = emi_ctx_check(s->object.ctx, &s->err);

	if (status == EM_OK && n > 0)
		status = emi_element_pwrite(s, s->area, n, position - n);
	if (status != EM_OK)
		return status;
	s->at = position;
	s->cur = s->area;
	s->left = 0;
	return EM_OK;
}

static em_status make_room(emi_element_stream *s, const void *element)
{
	em_status status = flush(s);

	if (status != EM_OK)
		return status;
	s->left = s->area_bytes;
	s->at += s->area_bytes;
	emi_element_put(s, element);
	return EM_OK;
}

static void close_buffer(emi_element_stream *s)
{
	emi_buffer_free(s->object.ctx, s->area, s->area_bytes);
}

const emi_element_kind emi_element_bufferb = {
	"bufferb", 1, 0, unit, open_buffer, refill, make_room, flush, close_buffer,
};
