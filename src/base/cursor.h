/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cursor.h -- what is behind a cursor: the object that it is of.
 *
 * An object has an emi_cursor, and gives it a function that has the next window come.  That is the object's public call
 * for the next batch, followed by emi_cursor_show() or its like: so what is true of the call is true of the cursor, its
 * checks, locks and failures included.
 */
#ifndef EMI_CURSOR_H
#define EMI_CURSOR_H

#include <extmem/batch.h>
#include <extmem/cursor.h>

typedef struct emi_cursor emi_cursor;

struct emi_cursor {
	em_cursor c;            /* first: callers have its address */
	em_status (*fill)(emi_cursor *c, void *object);
	void *object;
};

/* step: as in em_cursor. */
void emi_cursor_init(emi_cursor *c, ptrdiff_t step, em_status (*fill)(emi_cursor *c, void *object), void *object);

/* Show a batch; its records from the last to the first if the step is negative. */
void emi_cursor_show(emi_cursor *c, const em_batch *batch);

/* There is nothing to see. */
void emi_cursor_clear(emi_cursor *c);

#endif
