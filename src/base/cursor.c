/* SPDX-License-Identifier: BSL-1.0 */
/* cursor.c -- see cursor.h and extmem/cursor.h. */
#include "base/cursor.h"

#include <string.h>

void emi_cursor_init(emi_cursor *c, ptrdiff_t step, em_status (*fill)(emi_cursor *c, void *object), void *object)
{
	memset(c, 0, sizeof *c);
	c->c.step = step;
	c->fill = fill;
	c->object = object;
}

void emi_cursor_clear(emi_cursor *c)
{
	c->c.cur = c->c.end = c->c.window = c->c.at = NULL;
	c->c.ends = c->c.last = NULL;
}

void emi_cursor_show(emi_cursor *c, const em_batch *batch)
{
	const ptrdiff_t step = c->c.step;
	const char *records = batch->records;

	if (batch->ends != NULL) {
		c->c.window = c->c.at = records;
		c->c.ends = batch->ends;
		c->c.last = batch->ends + batch->n;
	} else if (step > 0) {
		c->c.cur = records;
		c->c.end = records + batch->bytes;
	} else {
		c->c.cur = records + batch->bytes + step;
		c->c.end = records + step;
	}
}

em_status em_cursor_refill(em_cursor *cursor)
{
	emi_cursor *c = (emi_cursor *)(void *)cursor;

	if (c == NULL)
		return EM_ERR_INVAL;
	emi_cursor_clear(c);
	c->c.status = c->fill(c, c->object);
	return c->c.status;
}

/* Copy up to `most' records of one size that are in the window, for which there is room.  How many they were. */
static uint64_t copy_fixed(em_cursor *c, char *to, uint64_t most)
{
	const ptrdiff_t step = c->step;
	const size_t size = (size_t)(step > 0 ? step : -step);
	const uint64_t there = (uint64_t)((c->end - c->cur) / step);
	const uint64_t n = there < most ? there : most;
	uint64_t i;

	if (step > 0 && n != 0)
		memcpy(to, c->cur, (size_t)n * size);
	for (i = 0; step < 0 && i < n; i++)
		memcpy(to + (size_t)i * size, c->cur + (ptrdiff_t)i * step, size);
	c->cur += (ptrdiff_t)n * step;
	return n;
}

/* The same of any length; *used of so many bytes are taken. */
static uint64_t copy_vary(em_cursor *c, char *to, size_t bytes, size_t *used, uint64_t *ends, uint64_t most)
{
	uint64_t n = 0;

	while (n < most && c->ends != c->last) {
		const size_t size = (size_t)(c->window + *c->ends - c->at);

		if (size > bytes - *used)
			break;
		if (size != 0)
			memcpy(to + *used, c->at, size);
		*used += size;
		ends[n++] = *used;
		c->at = c->window + *c->ends++;
	}
	return n;
}

static em_status read_fixed(em_cursor *c, char *to, size_t bytes, uint64_t most, uint64_t *n)
{
	const size_t size = (size_t)(c->step > 0 ? c->step : -c->step);
	const uint64_t room = bytes / size < most ? bytes / size : most;
	em_status st = EM_OK;

	if (room == 0)
		return most == 0 ? EM_OK : EM_ERR_RANGE;
	while (*n < room && st == EM_OK) {
		if (c->cur == c->end)
			st = em_cursor_refill(c);
		if (st == EM_OK)
			*n += copy_fixed(c, to + (size_t)*n * size, room - *n);
	}
	return st;
}

static em_status read_vary(em_cursor *c, char *to, size_t bytes, uint64_t *ends, uint64_t most, uint64_t *n)
{
	em_status st = EM_OK;
	size_t used = 0;
	uint64_t some;

	while (*n < most && st == EM_OK) {
		if (c->ends == c->last)
			st = em_cursor_refill(c);
		if (st != EM_OK)
			break;
		some = copy_vary(c, to, bytes, &used, ends + *n, most - *n);
		*n += some;
		if (c->ends != c->last && *n < most)
			st = EM_ERR_RANGE;
	}
	return st;
}

em_status em_cursor_read(em_cursor *c, void *to, size_t bytes, uint64_t *ends, uint64_t most, uint64_t *n)
{
	em_status st;

	if (n != NULL)
		*n = 0;
	if (c == NULL || to == NULL || n == NULL || (c->step == 0) != (ends != NULL))
		return EM_ERR_INVAL;
	st = c->step != 0 ? read_fixed(c, to, bytes, most, n) : read_vary(c, to, bytes, ends, most, n);
	return *n != 0 ? EM_OK : st;
}
