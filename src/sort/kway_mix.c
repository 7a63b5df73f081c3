/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kway_mix.c -- merging what is in memory, a cache full at a time.
 *
 * The kernels mix windows that are in memory as a whole.  Of sources only the next windows are.  So they are cut: of
 * the last records in hand the smallest is found, and everything that comes up to it, by record and then by source, can
 * be mixed.  The source that it is of has nothing in hand then, and lends its next window before the next cut.
 *
 * A mix gives as many elements as it likes.  What was not lent of them can be given back: equal elements came in the
 * order of the sources, so the last one that was lent tells how many each source has given.
 */
#include "sort/keeper.h"
#include "sort/kway_impl.h"

static int compare(const emi_kway *k, const void *a, const void *b)
{
	return emi_elem_compare(k->by, &k->by->tie, a, b);
}

/* Of n sorted elements, how many come before x; with upto, or equal it? */
static size_t count(const emi_kway *k, const void *elems, size_t n, const void *x, int upto)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		const int c = compare(k, emi_kway_skip(k, elems, mid), x);

		if (c < 0 || (upto && c == 0))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const void *last_in_hand(const emi_kway *k, uint32_t i)
{
	return k->slot[i].stop - k->by->codec->elem_bytes;
}

size_t emi_kway_cut(emi_kway *k, uint32_t *sources, uint32_t *one)
{
	uint32_t i, first = 0;
	size_t n = 0;

	for (i = 1; i < k->k; i++)
		if (compare(k, last_in_hand(k, i), last_in_hand(k, first)) < 0)
			first = i;
	*sources = 0;
	for (i = 0; i < k->k; i++) {
		const size_t left = emi_kway_left(k, i);
		const size_t mine = i == first ? left
					       : count(k, k->win[i].cur, left, last_in_hand(k, first), i < first);

		k->win[i].end = emi_kway_skip(k, k->win[i].cur, mine);
		if (mine == 0)
			continue;
		n += mine;
		(*sources)++;
		*one = i;
	}
	return n;
}

void emi_kway_mix_start(emi_kway *k)
{
	emi_mixing_start(&k->mixing, k->by, k->k, k->win, k->taken, k->mix);
	k->state = EMI_KWAY_MIX;
}

void emi_kway_mix_run(emi_kway *k)
{
	uint32_t i;

	for (i = 0; i < k->k; i++)
		k->was[i] = k->win[i].cur;
	k->ready_at = 0;
	k->ready = emi_mixing_run(&k->mixing, k->out, k->spare);
	if (!k->by->codec->identity)
		emi_collation_store(k->by, k->out, k->ready, k->out);
}

/* Elements that were taken of source i when what is ready was. */
static size_t taken(const emi_kway *k, uint32_t i)
{
	if (k->win[i].cur == k->was[i])
		return 0;
	return (size_t)((const char *)k->win[i].cur - (const char *)k->was[i]) / k->by->codec->elem_bytes;
}

/* Only those that came before x, and `equal' of those that equal it, were lent. */
static void give_back(emi_kway *k, const void *x, size_t lent)
{
	uint32_t i;

	for (i = 0; i < k->k; i++) {
		/* Until the next loop, how many of them equal it. */
		const size_t all = taken(k, i), before = count(k, k->was[i], all, x, 0);

		k->taken[i] = count(k, k->was[i], all, x, 1) - before;
		k->win[i].cur = emi_kway_skip(k, k->was[i], before);
		lent -= before < lent ? before : lent;
	}
	for (i = 0; i < k->k; i++) {
		const size_t n = k->taken[i] < lent ? k->taken[i] : lent;

		k->win[i].cur = emi_kway_skip(k, k->win[i].cur, n);
		lent -= n;
	}
}

void emi_kway_unmix(emi_kway *k)
{
	const emi_codec *codec = k->by->codec;
	const char *last;
	emi_any_elem elem;
	uint32_t i;

	if (k->ready == 0)
		return;
	k->ready = 0;
	if (k->ready_at == 0) {
		for (i = 0; i < k->k; i++)
			k->win[i].cur = k->was[i];
		return;
	}
	last = k->out + (k->ready_at - 1) * codec->record_bytes;
	if (codec->identity) {
		give_back(k, last, k->ready_at);
	} else {
		emi_collation_load(k->by, last, 1, &elem);
		give_back(k, &elem, k->ready_at);
	}
}
