/* SPDX-License-Identifier: BSL-1.0 */
/* comparing.c -- see comparing.h. */
#include "sort/comparing.h"

#include <string.h>

#include "base/workers.h"

void emi_comparing_init(emi_comparing *c, const em_order *order, em_status (*tick)(void *arg), void *tick_arg)
{
	emi_compare *all = emi_order_on_caller(order) ? &c->watched : &c->shared;

	memset(c, 0, sizeof *c);
	c->watched.order = c->shared.order = order;
	c->watched.tick = tick;
	c->watched.tick_arg = tick_arg;
	(void)emi_order_tie(order, &c->watched);
	c->tie = emi_order_tie(order, all);
	c->own_arg = emi_order_own_arg(order, all);
}

void *emi_comparing_here(emi_comparing *c, void *arg)
{
	return arg == &c->shared && !emi_in_worker(emi_order_ctx(c->shared.order)) ? &c->watched : arg;
}

int emi_comparing_failed(const emi_comparing *c)
{
	return __atomic_load_n(&c->watched.failed, __ATOMIC_RELAXED) || __atomic_load_n(&c->shared.failed, __ATOMIC_RELAXED);
}
