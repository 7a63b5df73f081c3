/* SPDX-License-Identifier: BSL-1.0 */
/* kway_impl.h -- what the files of a k-way merge share (kway.h). */
#ifndef EMI_KWAY_IMPL_H
#define EMI_KWAY_IMPL_H

#include "sort/kway.h"

/* Elements in hand of source i, those that are held back, too. */
static inline size_t emi_kway_left(const emi_kway *k, uint32_t i)
{
	if (k->win[i].cur == k->slot[i].stop)
		return 0;
	return (size_t)(k->slot[i].stop - (const char *)k->win[i].cur) / k->by->codec->elem_bytes;
}

/* Those that are not. */
static inline size_t emi_kway_open_left(const emi_kway *k, uint32_t i)
{
	if (k->win[i].cur == k->win[i].end)
		return 0;
	return (size_t)((const char *)k->win[i].end - (const char *)k->win[i].cur) / k->by->codec->elem_bytes;
}

/* The element n places behind one; n may be 0, and there be none then. */
static inline const char *emi_kway_skip(const emi_kway *k, const void *elem, size_t n)
{
	return n != 0 ? (const char *)elem + n * k->by->codec->elem_bytes : elem;
}

/* kway_window.c: have elements of source i in hand if there are any, without a bound.  before: the record that came in
 * front of them, or NULL: see emi_codes_make().  EM_END: it is over. */
em_status emi_kway_load(emi_kway *k, uint32_t i, const void *before, em_errinfo *err);

/* The record of the first element in hand; or where it would be. */
const char *emi_kway_record(const emi_kway *k, uint32_t i);

/* What is in hand of source i was loaded long ago: it begins a merge now. */
void emi_kway_renew(emi_kway *k, uint32_t i);

/* Hold back what is not before the bound. */
void emi_kway_hold_bound(emi_kway *k, uint32_t i);

/* Of n records, one behind the other, and aligned as elements are, how many are before the bound? */
size_t emi_kway_before_bound(const emi_kway *k, const char *records, size_t n);

/* kway_mix.c: hold back what is behind the first end of a window.  Returns how many elements are not, *sources: of how
 * many sources, *one: one of these. */
size_t emi_kway_cut(emi_kway *k, uint32_t *sources, uint32_t *one);

/* Mix what is not held back: begin; have the next ones ready, if there are any; give back what is ready. */
void emi_kway_mix_start(emi_kway *k);
void emi_kway_mix_run(emi_kway *k);
void emi_kway_unmix(emi_kway *k);

#endif
