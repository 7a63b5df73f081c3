/* SPDX-License-Identifier: BSL-1.0 */
/*
 * holder.c -- asking all who keep blocks of a store in memory; see holder.h and store.h.
 *
 * Before anything is forgotten all are asked whether they can, so that nothing has changed when one cannot.
 */
#include <inttypes.h>
#include <stddef.h>

#include "base/error.h"
#include "block/store_kind.h"

void emi_store_join(emi_store *s, emi_holder *h, const emi_holder_calls *calls)
{
	h->calls = calls;
	h->prev = NULL;
	h->next = s->first;
	if (s->first != NULL)
		s->first->prev = h;
	s->first = h;
}

void emi_store_part(emi_store *s, emi_holder *h)
{
	*(h->prev != NULL ? &h->prev->next : &s->first) = h->next;
	if (h->next != NULL)
		h->next->prev = h->prev;
}

static int others_pin(emi_store *s, const emi_holder *me, const emi_span *span)
{
	emi_holder *h;

	for (h = s->first; h != NULL; h = h->next)
		if (h != me && h->calls->pins != NULL && h->calls->pins(h, span))
			return 1;
	return 0;
}

int emi_store_pins(emi_store *s, const emi_span *span)
{
	return others_pin(s, NULL, span);
}

em_status emi_store_flush(emi_store *s, const emi_span *span, em_errinfo *err)
{
	em_status first = EM_OK;
	emi_holder *h;

	for (h = s->first; h != NULL; h = h->next) {
		const em_status st = h->calls->flush != NULL ? h->calls->flush(h, span, err) : EM_OK;

		if (first == EM_OK)
			first = st;
	}
	return first;
}

em_status emi_store_forget(emi_store *s, const emi_holder *me, const emi_span *span, em_errinfo *err)
{
	em_status st = EM_OK;
	emi_holder *h;

	if (s->first == NULL || (s->first == me && me->next == NULL))
		return EM_OK;
	if (others_pin(s, me, span))
		return emi_fail(err, EM_ERR_STATE, "a block at %" PRIu64 " or behind is pinned", span->at.offset);
	for (h = s->first; h != NULL && st == EM_OK; h = h->next)
		if (h != me && h->calls->forget != NULL)
			st = h->calls->forget(h, span, err);
	return st;
}

void emi_store_cut(emi_store *s, em_bid end)
{
	emi_holder *h;

	for (h = s->first; h != NULL; h = h->next)
		if (h->calls->cut != NULL)
			h->calls->cut(h, end);
}

void emi_store_overlay(emi_store *s, const emi_holder *me, const emi_span *span, void *buf)
{
	emi_holder *h;

	for (h = s->first; h != NULL; h = h->next)
		if (h != me && h->calls->overlay != NULL)
			h->calls->overlay(h, span, buf);
}
