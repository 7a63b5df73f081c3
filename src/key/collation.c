/* SPDX-License-Identifier: BSL-1.0 */
/* collation.c -- see collation.h. */
#include "key/collation.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/workers.h"

em_status emi_collation_open(emi_collation *c, const em_order *order, em_status (*tick)(void *arg), void *tick_arg,
			     em_errinfo *err)
{
	const char *isa = emi_order_ctx(order)->isa;

	memset(c, 0, sizeof *c);
	c->codec = emi_order_codec(order);
	c->own = emi_order_own(order);
	if (c->own == NULL)
		c->kern = emi_kernels_for(c->codec->elem, isa);
	if (c->own == NULL && c->kern == NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "no kernels for instruction set %s", isa);
	c->vary = emi_order_vary(order);
	c->key_failures = emi_order_key_failures(order);
	emi_codes_init(&c->codes, order);
	c->order = (em_order *)(uintptr_t)order;
	emi_order_ref(c->order);
	emi_collation_watch(c, tick, tick_arg);
	return EM_OK;
}

void emi_collation_close(emi_collation *c)
{
	em_order_close(c->order);
	memset(c, 0, sizeof *c);
}

void emi_collation_watch(emi_collation *c, em_status (*tick)(void *arg), void *tick_arg)
{
	emi_compare *all = emi_order_on_caller(c->order) ? &c->watched : &c->shared;

	memset(&c->watched, 0, sizeof c->watched);
	memset(&c->shared, 0, sizeof c->shared);
	c->watched.tick = tick;
	c->watched.tick_arg = tick_arg;
	(void)emi_order_tie(c->order, &c->watched);
	c->tie = emi_order_tie(c->order, all);
	c->own_arg = emi_order_own_arg(c->order, all);
}

em_status emi_collation_check(const emi_collation *c, em_errinfo *err)
{
	if (__atomic_load_n(&c->watched.failed, __ATOMIC_RELAXED) != 0 ||
	    __atomic_load_n(&c->shared.failed, __ATOMIC_RELAXED) != 0)
		return emi_fail(err, EM_ERR_USER, "the comparison function reported an error");
	if (emi_order_key_failures(c->order) != c->key_failures)
		return emi_fail(err, EM_ERR_USER, "the function that computes keys reported an error");
	return EM_OK;
}

void *emi_collation_here(emi_collation *c, void *arg)
{
	return arg == &c->shared && !emi_in_worker(emi_order_ctx(c->order)) ? &c->watched : arg;
}

static int compare_frames(void *arg, uint64_t a, uint64_t b)
{
	return emi_string_compare(arg, (const emi_frame *)(uintptr_t)a, (const emi_frame *)(uintptr_t)b, 0);
}

emi_tie emi_collation_frames(const emi_collation *c)
{
	const emi_tie frames = { .fn = compare_frames, .arg = (void *)(uintptr_t)c->vary };

	return c->vary != NULL ? frames : c->tie;
}

int emi_collation_mixes(const emi_collation *c)
{
	return emi_codec_in_place(c->codec) && (c->own != NULL ? c->own->mix != NULL : c->tie.fn == NULL);
}
