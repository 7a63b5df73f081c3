/* SPDX-License-Identifier: BSL-1.0 */
/*
 * space.c -- a bitmap of units, with next fit.
 *
 * Blocks of several sizes live side by side, so what is kept is units, not blocks: a gap is where enough neighbouring
 * units are free, whoever freed them.  The search goes on where the last one ended (next fit), which keeps blocks that
 * are written together together and makes a search short on average.
 *
 * The bitmap is a table of pages of bits, so that it grows without being copied: a page of 4 KiB tells of 128 MiB.
 *
 * A search that fails has looked at everything.  So that a disk full of gaps that are too small is not searched
 * for every block, `missing' remembers the least size that was not found; it is forgotten when units are
 * given back that make a gap of that size.
 *
 * Gaps may be cut out, when what is in them is given back to the file system: their units are then never found again, and the disk grows at
 * its end instead.  So whoever gets units may rely on the file system having set them aside.  A page of
 * which everything was cut out is released, so that a disk that lives long grows in addresses and not in memory.
 */
#include <string.h>

#include "base/memory.h"
#include "block/space.h"

enum { WORD_BITS = 64, PAGE_WORDS = 512, PAGE_UNITS = WORD_BITS * PAGE_WORDS, FIRST_TABLE = 8 };

static uint64_t *word_of(const emi_space *s, uint64_t unit)
{
	return &s->page[unit / PAGE_UNITS].word[unit % PAGE_UNITS / WORD_BITS];
}

/* Is unit in a page of which nothing is left?  Then such units end there. */
static int in_cut_page(const emi_space *s, uint64_t unit)
{
	return s->page[unit / PAGE_UNITS].word == NULL;
}

static uint64_t page_end(uint64_t unit)
{
	return (unit / PAGE_UNITS + 1) * PAGE_UNITS;
}

static int in_use(const emi_space *s, uint64_t unit)
{
	return in_cut_page(s, unit) || (*word_of(s, unit) >> (unit % WORD_BITS) & 1) != 0;
}

/* Set or clear the bits of n units. */
static void mark(emi_space *s, uint64_t unit, uint64_t n, int used)
{
	while (n > 0) {
		unsigned bit = (unsigned)(unit % WORD_BITS);
		unsigned m = n < WORD_BITS - bit ? (unsigned)n : WORD_BITS - bit;
		uint64_t bits = (m == WORD_BITS ? UINT64_MAX : ((uint64_t)1 << m) - 1) << bit;

		if (used)
			*word_of(s, unit) |= bits;
		else
			*word_of(s, unit) &= ~bits;
		unit += m;
		n -= m;
	}
}

/* First unit of a gap of n units within [from, to), or to. */
static uint64_t find(const emi_space *s, uint64_t from, uint64_t to, uint64_t n)
{
	uint64_t at = from, start = from;

	while (at < to && at - start < n) {
		unsigned bit = (unsigned)(at % WORD_BITS);
		uint64_t rest;

		if (in_cut_page(s, at)) {
			at = start = page_end(at);
			continue;
		}
		rest = *word_of(s, at) >> bit;
		if (rest == 0) {
			at += WORD_BITS - bit;
			continue;
		}
		/* Free units up to the first used one, which ends the gap unless it is long enough. */
		at += (unsigned)__builtin_ctzll(rest);
		if (at - start >= n)
			break;
		rest = ~(*word_of(s, at) >> (at % WORD_BITS));
		/* The shift brought in zeros, so rest has a bit set unless all 64 are in use. */
		at += rest ? (unsigned)__builtin_ctzll(rest) : WORD_BITS;
		start = at;
	}
	return start < to && to - start >= n && at - start >= n ? start : to;
}

/* Is there now a gap of n units around [unit, unit + length), which was just freed? */
static int opens_gap(const emi_space *s, uint64_t unit, uint64_t length, uint64_t n)
{
	uint64_t end = unit + length;

	while (length < n && unit > 0 && !in_use(s, unit - 1)) {
		unit--;
		length++;
	}
	while (length < n && end < s->high && !in_use(s, end)) {
		end++;
		length++;
	}
	return length >= n;
}

void emi_space_init(emi_space *s, em_ctx *ctx)
{
	memset(s, 0, sizeof *s);
	s->ctx = ctx;
	s->missing = 1;
}

void emi_space_free(emi_space *s)
{
	uint64_t i;

	for (i = 0; i < s->pages; i++)
		if (s->page[i].word)
			emi_free(s->ctx, s->page[i].word, PAGE_WORDS * sizeof(uint64_t));
	if (s->page)
		emi_free_array(s->ctx, s->page, s->table, sizeof *s->page);
	emi_space_init(s, s->ctx);
}

int emi_space_reuse(emi_space *s, uint64_t n, uint64_t *unit)
{
	uint64_t to, at;

	if (n >= s->missing || s->high - s->used - s->cut < n)
		return 0;
	at = find(s, s->cursor, s->high, n);
	if (at == s->high) {
		/* From the front, as far as a gap may reach that begins before the cursor. */
		to = s->high - s->cursor < n ? s->high : s->cursor + n - 1;
		at = find(s, 0, to, n);
		if (at == to) {
			s->missing = n;
			return 0;
		}
	}
	mark(s, at, n, 1);
	s->used += n;
	s->cursor = at + n;
	*unit = at;
	return 1;
}

/* Make the table long enough for pages pages. */
static em_status reach(emi_space *s, uint64_t pages, em_errinfo *err)
{
	uint64_t n = s->table ? s->table : FIRST_TABLE;
	emi_space_page *table;

	if (pages <= s->table)
		return EM_OK;
	while (n < pages)
		n *= 2;
	table = emi_alloc_array(s->ctx, n, sizeof *table, err);
	if (!table)
		return err->status;
	if (s->page) {
		memcpy(table, s->page, (size_t)s->pages * sizeof *table);
		emi_free_array(s->ctx, s->page, s->table, sizeof *s->page);
	}
	s->page = table;
	s->table = n;
	return EM_OK;
}

em_status emi_space_extend(emi_space *s, uint64_t n, uint64_t *unit, em_errinfo *err)
{
	uint64_t pages = (s->high + n + PAGE_UNITS - 1) / PAGE_UNITS;
	em_status status = reach(s, pages, err);

	if (status != EM_OK)
		return status;
	while (s->pages < pages) {
		s->page[s->pages].cut = 0;
		s->page[s->pages].word = emi_alloc(s->ctx, PAGE_WORDS * sizeof(uint64_t), err);
		if (!s->page[s->pages].word)
			return err->status;
		s->pages++;
	}
	*unit = s->high;
	mark(s, s->high, n, 1);
	s->high += n;
	s->used += n;
	return EM_OK;
}

void emi_space_drop(emi_space *s, uint64_t unit, uint64_t n)
{
	mark(s, unit, n, 0);
	s->used -= n;
	if (s->missing != UINT64_MAX && opens_gap(s, unit, n, s->missing))
		s->missing = UINT64_MAX;
}

/* The first free unit within [from, to), or to. */
static uint64_t next_free(const emi_space *s, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t rest;

		if (in_cut_page(s, from)) {
			from = page_end(from);
			continue;
		}
		rest = ~*word_of(s, from) >> (from % WORD_BITS);
		if (rest != 0) {
			from += (unsigned)__builtin_ctzll(rest);
			break;
		}
		from += WORD_BITS - from % WORD_BITS;
	}
	return from < to ? from : to;
}

/* The first unit within [from, to) that is not free, or to. */
static uint64_t next_taken(const emi_space *s, uint64_t from, uint64_t to)
{
	while (from < to && !in_cut_page(s, from)) {
		uint64_t rest = *word_of(s, from) >> (from % WORD_BITS);

		if (rest != 0) {
			from += (unsigned)__builtin_ctzll(rest);
			break;
		}
		from += WORD_BITS - from % WORD_BITS;
	}
	return from < to ? from : to;
}

/* Units from unit on, at most n, that are in its page. */
static uint64_t within_page(uint64_t unit, uint64_t n)
{
	uint64_t rest = page_end(unit) - unit;

	return n < rest ? n : rest;
}

/* Count units as cut out, and release pages of which nothing is left. */
static void note_cut(emi_space *s, uint64_t unit, uint64_t n)
{
	while (n > 0) {
		emi_space_page *p = &s->page[unit / PAGE_UNITS];
		uint64_t m = within_page(unit, n);

		p->cut += m;
		if (p->cut == PAGE_UNITS) {
			emi_free(s->ctx, p->word, PAGE_WORDS * sizeof(uint64_t));
			p->word = NULL;
		}
		unit += m;
		n -= m;
	}
}

uint64_t emi_space_cut(emi_space *s, uint64_t least, uint64_t *unit)
{
	uint64_t at, end;

	for (at = next_free(s, s->cutter, s->high); at < s->high; at = next_free(s, end, s->high)) {
		end = next_taken(s, at, s->high);
		if (end - at < least)
			continue;
		mark(s, at, end - at, 1);
		note_cut(s, at, end - at);
		s->cut += end - at;
		s->cutter = end;
		*unit = at;
		return end - at;
	}
	s->cutter = 0;
	return 0;
}

/* Units of a page that was released stay what they are: they are few, and bringing it back could fail. */
void emi_space_mend(emi_space *s, uint64_t unit, uint64_t n)
{
	while (n > 0) {
		uint64_t m = within_page(unit, n);

		if (!in_cut_page(s, unit)) {
			s->page[unit / PAGE_UNITS].cut -= m;
			s->cut -= m;
			s->used += m;
			emi_space_drop(s, unit, m);
		}
		unit += m;
		n -= m;
	}
}

uint64_t emi_space_memory(uint64_t units)
{
	uint64_t pages = units / PAGE_UNITS + 1, table = FIRST_TABLE;

	while (table < pages)
		table *= 2;
	/* The old table is there until the new one is filled. */
	return pages * PAGE_WORDS * sizeof(uint64_t) + (table + table / 2) * sizeof(emi_space_page);
}
