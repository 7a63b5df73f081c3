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
