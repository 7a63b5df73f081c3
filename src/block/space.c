/* SPDX-License-Identifier: BSL-1.0 */
/*
 * space.c -- a bitmap of units, with first fit.
 *
 * Blocks of several sizes live side by side, so what is kept is units, not blocks: a gap is where enough neighbouring
 * units are free, whoever freed them.  The first gap that is long enough is taken, so what is in use stays in front and
 * the end of the disk becomes free, which is the only space that goes back at no cost for anybody.
 *
 * The bitmap is a table of pages of bits, so that it grows without being copied: a page tells of 128 MiB.  A tree knows
 * for each part of the disk how many units are free in front, in the longest gap, and at the back; those of two
 * neighbours give those of both.  So the first gap is found without looking at what is before it.  The leaves are 512
 * units, in whose bits the rest of the search goes on; the upper part of the tree is over pages, the lower one within
 * each.  Taking and freeing change one path.  Another bit tells whether the unit was written.
 *
 * A page whose units are alike has no bits: all are free, all are in use and were written, or all are cut out.  What is
 * written from one end to the other and freed in that order, as runs are, has bits only where it begins and ends, so a
 * disk of terabytes takes little memory.  A list of extents would do as well there, but takes memory for each of them,
 * and most where fragmentation is worst; this takes two bits and a fifth of one for each unit, whatever happens.
 *
 * Units from `high' on have their bits set, as if they were in use, so no search finds them; `high' goes down as soon
 * as the units before it are free.
 *
 * Gaps may be cut out, when what is in them is given back to the file system: their units are then never found again,
 * and the disk grows at its end instead.  So whoever gets units may rely on the file system having set them aside.  A
 * page of which everything was cut out has no bits, so that a disk that lives long grows in addresses and not in
 * memory.
 */
#include <string.h>

#include "base/memory.h"
#include "block/space.h"

enum {
	WORD_BITS = 64,
	LEAF_WORDS = 8,
	LEAF_UNITS = WORD_BITS * LEAF_WORDS,
	LEAVES = 64,
	PAGE_WORDS = LEAF_WORDS * LEAVES,
	PAGE_UNITS = WORD_BITS * PAGE_WORDS,
	FIRST_TABLE = 8
};

/* emi_space_gaps of at most PAGE_UNITS. */
typedef struct small_gaps {
	uint16_t front, most, back;
} small_gaps;

struct emi_space_bits {
	uint64_t word[PAGE_WORDS]; /* a set bit is a unit in use or cut out, or behind the end */
	uint64_t written[PAGE_WORDS]; /* a set bit is a unit in use that was written */
	small_gaps node[2 * LEAVES]; /* the tree: 1 is the root, LEAVES + i leaf i */
	unsigned units_written;
};

/* The bits that tell what is in use about unit's word. */
static uint64_t word_of(const emi_space *s, uint64_t unit)
{
	const emi_space_page *p = &s->page[unit / PAGE_UNITS];

	if (p->bits == NULL)
		return p->alike == EMI_SPACE_FREE ? 0 : UINT64_MAX;
	return p->bits->word[unit % PAGE_UNITS / WORD_BITS];
}

static uint64_t written_word_of(const emi_space *s, uint64_t unit)
{
	const emi_space_page *p = &s->page[unit / PAGE_UNITS];

	if (p->bits == NULL)
		return p->alike == EMI_SPACE_WRITTEN ? UINT64_MAX : 0;
	return p->bits->written[unit % PAGE_UNITS / WORD_BITS];
}

/* Is unit in a page of which nothing is left?  Then such units end there. */
static int in_cut_page(const emi_space *s, uint64_t unit)
{
	const emi_space_page *p = &s->page[unit / PAGE_UNITS];

	return p->bits == NULL && p->alike == EMI_SPACE_CUT;
}

/* Units from unit on, at most n, that are in its page. */
static uint64_t within_page(uint64_t unit, uint64_t n)
{
	const uint64_t rest = PAGE_UNITS - unit % PAGE_UNITS;

	return n < rest ? n : rest;
}

/* The longest row of set bits. */
static unsigned longest(uint64_t bits)
{
	uint64_t row[6], found;
	unsigned n = 32, k;

	if (bits == UINT64_MAX)
		return WORD_BITS;
	/* Bit i of row[k] is set where a row of 2^k begins. */
	row[0] = bits;
	for (k = 1; k < 6; k++)
		row[k] = row[k - 1] & row[k - 1] >> (1u << (k - 1));
	for (k = 5; k > 0 && row[k] == 0; k--)
		n /= 2;
	if (row[k] == 0)
		return 0;
	for (found = row[k]; k-- > 0;) {
		const uint64_t more = found & row[k] >> n;

		if (more != 0) {
			found = more;
			n += 1u << k;
		}
	}
	return n;
}

static emi_space_gaps gaps_of_word(uint64_t word)
{
	emi_space_gaps g = { WORD_BITS, WORD_BITS, WORD_BITS };

	if (word != 0) {
		g.front = (unsigned)__builtin_ctzll(word);
		g.most = longest(~word);
		g.back = (unsigned)__builtin_clzll(word);
	}
	return g;
}

/* Of two neighbours, of an and bn units. */
static inline emi_space_gaps join(emi_space_gaps a, uint64_t an, emi_space_gaps b, uint64_t bn)
{
	const uint64_t between = a.back + b.front;
	emi_space_gaps g;

	g.front = a.front == an ? an + b.front : a.front;
	g.back = b.back == bn ? bn + a.back : b.back;
	g.most = a.most > b.most ? a.most : b.most;
	if (between > g.most)
		g.most = between;
	return g;
}

static emi_space_gaps widen(small_gaps g)
{
	const emi_space_gaps w = { g.front, g.most, g.back };

	return w;
}

static small_gaps narrow(emi_space_gaps g)
{
	const small_gaps n = { (uint16_t)g.front, (uint16_t)g.most, (uint16_t)g.back };

	return n;
}

static small_gaps gaps_of_leaf(const uint64_t *word)
{
	emi_space_gaps g = gaps_of_word(word[0]);
	unsigned i;

	for (i = 1; i < LEAF_WORDS; i++)
		g = join(g, i * WORD_BITS, gaps_of_word(word[i]), WORD_BITS);
	return narrow(g);
}

/* Store what a node is now: 0 when that is what it was. */
static int set_small(small_gaps *node, small_gaps g)
{
	const int same = node->front == g.front && node->most == g.most && node->back == g.back;

	*node = g;
	return !same;
}

static int set_gaps(emi_space_gaps *node, emi_space_gaps g)
{
	const int same = node->front == g.front && node->most == g.most && node->back == g.back;

	*node = g;
	return !same;
}

/* Bits between two units of a page have changed, the last one included.  Where nothing follows from it for a level,
 * nothing does for those above: 0 when the root is what it was. */
static int renew_page(emi_space_bits *b, uint64_t first, uint64_t last)
{
	uint64_t from = LEAVES + first / LEAF_UNITS, to = LEAVES + last / LEAF_UNITS, units, i;
	int changed = 0;

	for (i = from; i <= to; i++)
		changed |= set_small(&b->node[i], gaps_of_leaf(&b->word[(i - LEAVES) * LEAF_WORDS]));
	for (units = LEAF_UNITS; from > 1 && changed; units *= 2) {
		from /= 2;
		to /= 2;
		changed = 0;
		for (i = from; i <= to; i++)
			changed |=
				set_small(&b->node[i],
					  narrow(join(widen(b->node[2 * i]), units, widen(b->node[2 * i + 1]), units)));
	}
	return changed;
}

/* The same for nodes of the tree over pages, of one level. */
static void renew_above(emi_space *s, uint64_t from, uint64_t to)
{
	int changed = 1;
	uint64_t units, i;

	for (units = PAGE_UNITS; from > 1 && changed; units *= 2) {
		from /= 2;
		to /= 2;
		changed = 0;
		for (i = from; i <= to; i++)
			changed |= set_gaps(&s->gaps[i], join(s->gaps[2 * i], units, s->gaps[2 * i + 1], units));
	}
}

/* Bits of a word from that of unit on, at most n of them: how many. */
static unsigned bits_from(uint64_t unit, uint64_t n, uint64_t *bits)
{
	const unsigned bit = (unsigned)(unit % WORD_BITS);
	const unsigned m = n < WORD_BITS - bit ? (unsigned)n : WORD_BITS - bit;

	*bits = (m == WORD_BITS ? UINT64_MAX : ((uint64_t)1 << m) - 1) << bit;
	return m;
}

/* Set or clear the bits of n units of a page: how many of them were the other way. */
static unsigned mark_words(uint64_t *word, uint64_t unit, uint64_t n, int set)
{
	unsigned changed = 0;

	while (n > 0) {
		uint64_t bits;
		const unsigned m = bits_from(unit, n, &bits);
		uint64_t *w = &word[unit / WORD_BITS];

		changed += (unsigned)__builtin_popcountll((set ? ~*w : *w) & bits);
		*w = set ? *w | bits : *w & ~bits;
		unit += m;
		n -= m;
	}
	return changed;
}

/* The same of what tells that units were written. */
static void mark_written(emi_space_bits *b, uint64_t unit, uint64_t n, int written)
{
	const unsigned changed = mark_words(b->written, unit, n, written);

	b->units_written += written ? changed : 0 - changed;
}

/* The units of page i are alike from now on. */
static void make_alike(emi_space *s, uint64_t i, emi_space_alike alike)
{
	const uint64_t gap = alike == EMI_SPACE_FREE ? PAGE_UNITS : 0;
	const emi_space_gaps g = { gap, gap, gap };
	emi_space_page *p = &s->page[i];

	if (s->spare == NULL)
		s->spare = p->bits;
	else if (p->bits != NULL)
		emi_free(s->ctx, p->bits, sizeof *p->bits);
	p->bits = NULL;
	p->alike = alike;
	p->dropped = 0;
	s->gaps[s->table + i] = g;
}

/* Bits for a page that is going to be in use, the spare ones if there are any. */
static emi_space_bits *take_bits(emi_space *s, em_errinfo *err)
{
	emi_space_bits *b = s->spare;

	s->spare = NULL;
	return b != NULL ? b : emi_alloc(s->ctx, sizeof *b, err);
}

/* Bits for one of which some units become free.  The spare ones are for the next page, if there are others. */
static emi_space_bits *bits_to_free(emi_space *s)
{
	return s->pages == 1 ? take_bits(s, NULL) : emi_alloc(s->ctx, sizeof(emi_space_bits), NULL);
}

/* All units of the bits are alike: free, or in use and written, or in use and not written. */
static void set_all(emi_space_bits *b, int used, int written)
{
	uint64_t units = PAGE_UNITS, i, from;

	memset(b->word, used ? 0xff : 0, sizeof b->word);
	memset(b->written, written ? 0xff : 0, sizeof b->written);
	b->units_written = written ? PAGE_UNITS : 0;
	for (from = 1; from <= LEAVES; from *= 2, units /= 2) {
		const uint16_t gap = (uint16_t)(used ? 0 : units);
		const small_gaps g = { gap, gap, gap };

		for (i = from; i < 2 * from; i++)
			b->node[i] = g;
	}
}

/* The tree over pages follows from the gaps of these pages. */
static void renew_pages(emi_space *s, uint64_t first, uint64_t last)
{
	renew_above(s, s->table + first, s->table + last);
}

/* Set the bits of n > 0 units.  Pages without bits that are free have no gaps then: the caller tells what they are. */
static void mark_used(emi_space *s, uint64_t unit, uint64_t n)
{
	static const emi_space_gaps none = { 0, 0, 0 };
	const uint64_t first = unit / PAGE_UNITS, last = (unit + n - 1) / PAGE_UNITS;
	int changed = 0;

	while (n > 0) {
		const uint64_t i = unit / PAGE_UNITS, at = unit % PAGE_UNITS, m = within_page(unit, n);
		emi_space_bits *b = s->page[i].bits;

		if (b != NULL) {
			mark_words(b->word, at, m, 1);
			changed |= renew_page(b, at, at + m - 1);
		} else {
			changed = 1;
		}
		s->gaps[s->table + i] = b != NULL ? widen(b->node[1]) : none;
		unit += m;
		n -= m;
	}
	if (changed)
		renew_pages(s, first, last);
}

/* n units of page i become free, which are not all it has, or it has bits: 1 if its gaps may have changed. */
static int free_some(emi_space *s, uint64_t i, uint64_t at, uint64_t n)
{
	emi_space_page *p = &s->page[i];
	int changed;

	if (p->bits == NULL && p->dropped == 0) {
		p->bits = bits_to_free(s);
		if (p->bits != NULL)
			set_all(p->bits, 1, 1);
	}
	if (p->bits == NULL) {
		p->dropped += (uint32_t)n;
		if (p->dropped < PAGE_UNITS)
			return 0;
		make_alike(s, i, EMI_SPACE_FREE);
		return 1;
	}
	mark_written(p->bits, at, n, 0);
	mark_words(p->bits->word, at, n, 0);
	changed = renew_page(p->bits, at, at + n - 1);
	s->gaps[s->table + i] = widen(p->bits->node[1]);
	if (p->bits->node[1].most == PAGE_UNITS)
		make_alike(s, i, EMI_SPACE_FREE);
	return changed;
}

/* Clear the bits of n > 0 units, all of which are in use or behind the end. */
static void mark_free(emi_space *s, uint64_t unit, uint64_t n)
{
	const uint64_t first = unit / PAGE_UNITS, last = (unit + n - 1) / PAGE_UNITS;
	int changed = 0;

	while (n > 0) {
		const uint64_t i = unit / PAGE_UNITS, m = within_page(unit, n);

		if (m == PAGE_UNITS) {
			make_alike(s, i, EMI_SPACE_FREE);
			changed = 1;
		} else {
			changed |= free_some(s, i, unit % PAGE_UNITS, m);
		}
		unit += m;
		n -= m;
	}
	if (changed)
		renew_pages(s, first, last);
}

/* The first gap of n units in a leaf that has one: how far from its beginning. */
static uint64_t first_in_leaf(const uint64_t *word, uint64_t n)
{
	uint64_t at = 0, start = 0;

	while (at < LEAF_UNITS && at - start < n) {
		uint64_t rest = word[at / WORD_BITS] >> (at % WORD_BITS);

		if (rest == 0) {
			at += WORD_BITS - at % WORD_BITS;
			continue;
		}
		/* Free units up to the first used one, which ends the gap unless it is long enough. */
		at += (unsigned)__builtin_ctzll(rest);
		if (at - start >= n)
			break;
		rest = ~(word[at / WORD_BITS] >> (at % WORD_BITS));
		/* The shift brought in zeros, so rest has a bit set unless all 64 are in use. */
		at += rest ? (unsigned)__builtin_ctzll(rest) : WORD_BITS;
		start = at;
	}
	return start;
}

static uint64_t first_in_page(const emi_space_bits *b, uint64_t n)
{
	uint64_t i = 1, at = 0, units;

	for (units = PAGE_UNITS / 2; i < LEAVES; units /= 2) {
		const small_gaps *child = &b->node[2 * i];

		if (child[0].most < n && (uint64_t)child[0].back + child[1].front >= n)
			return at + units - child[0].back;
		i *= 2;
		if (b->node[i].most < n) {
			i++;
			at += units;
		}
	}
	return at + first_in_leaf(&b->word[at / WORD_BITS], n);
}

/* The first gap of n > 0 units, or `high'. */
static uint64_t first_gap(const emi_space *s, uint64_t n)
{
	uint64_t i = 1, at = 0, units;

	if (s->table == 0 || s->gaps[1].most < n)
		return s->high;
	for (units = s->table / 2 * PAGE_UNITS; i < s->table; units /= 2) {
		const emi_space_gaps *child = &s->gaps[2 * i];

		if (child[0].most < n && child[0].back + child[1].front >= n)
			return at + units - child[0].back;
		i *= 2;
		if (s->gaps[i].most < n) {
			i++;
			at += units;
		}
	}
	/* A page without bits that has a gap is one. */
	return s->page[i - s->table].bits != NULL ? at + first_in_page(s->page[i - s->table].bits, n) : at;
}

void emi_space_init(emi_space *s, em_ctx *ctx)
{
	memset(s, 0, sizeof *s);
	s->ctx = ctx;
}

static void free_table(emi_space *s)
{
	if (s->page)
		emi_free_array(s->ctx, s->page, s->table, sizeof *s->page);
	if (s->gaps)
		emi_free_array(s->ctx, s->gaps, 2 * s->table, sizeof *s->gaps);
}

void emi_space_free(emi_space *s)
{
	uint64_t i;

	for (i = 0; i < s->pages; i++)
		emi_free(s->ctx, s->page[i].bits, sizeof *s->page[i].bits);
	emi_free(s->ctx, s->spare, sizeof *s->spare);
	free_table(s);
	emi_space_init(s, s->ctx);
}

/* Pages that are free as a whole get bits, as n units from unit on are going to be taken: 0 if there is no memory. */
static int have_bits(emi_space *s, uint64_t unit, uint64_t n)
{
	uint64_t i;

	for (i = unit / PAGE_UNITS; i <= (unit + n - 1) / PAGE_UNITS; i++) {
		emi_space_page *p = &s->page[i];

		if (p->bits != NULL)
			continue;
		p->bits = take_bits(s, NULL);
		if (p->bits == NULL)
			return 0;
		set_all(p->bits, 0, 0);
	}
	return 1;
}

int emi_space_reuse(emi_space *s, uint64_t n, uint64_t *unit)
{
	const uint64_t at = first_gap(s, n);

	if (at == s->high || !have_bits(s, at, n))
		return 0;
	mark_used(s, at, n);
	s->used += n;
	*unit = at;
	return 1;
}

/* Make the table long enough for pages pages. */
static em_status reach(emi_space *s, uint64_t pages, em_errinfo *err)
{
	emi_space grown = *s;
	uint64_t i;

	if (pages <= s->table)
		return EM_OK;
	if (grown.table == 0)
		grown.table = FIRST_TABLE;
	while (grown.table < pages)
		grown.table *= 2;
	grown.page = emi_alloc_array(s->ctx, grown.table, sizeof *grown.page, err);
	if (!grown.page)
		return err->status;
	grown.gaps = emi_alloc_array(s->ctx, 2 * grown.table, sizeof *grown.gaps, err);
	if (!grown.gaps) {
		emi_free_array(s->ctx, grown.page, grown.table, sizeof *grown.page);
		return err->status;
	}
	for (i = 0; i < s->pages; i++) {
		grown.page[i] = s->page[i];
		grown.gaps[grown.table + i] = s->gaps[s->table + i];
	}
	free_table(s);
	*s = grown;
	renew_above(s, s->table, 2 * s->table - 1);
	return EM_OK;
}

em_status emi_space_extend(emi_space *s, uint64_t n, uint64_t *unit, em_errinfo *err)
{
	const uint64_t pages = (s->high + n + PAGE_UNITS - 1) / PAGE_UNITS;
	em_status status = reach(s, pages, err);

	if (status != EM_OK)
		return status;
	while (s->pages < pages) {
		emi_space_page *p = &s->page[s->pages];

		memset(p, 0, sizeof *p);
		p->bits = take_bits(s, err);
		if (!p->bits)
			return err->status;
		set_all(p->bits, 1, 0);
		s->pages++;
	}
	*unit = s->high;
	s->high += n;
	s->used += n;
	return EM_OK;
}

int emi_space_in_use(const emi_space *s, uint64_t unit, uint64_t n)
{
	if (unit > s->high || n > s->high - unit)
		return 0;
	while (n > 0) {
		uint64_t bits;
		const unsigned m = bits_from(unit, n, &bits);

		if (in_cut_page(s, unit) || (word_of(s, unit) & bits) != bits)
			return 0;
		unit += m;
		n -= m;
	}
	return 1;
}

int emi_space_write(emi_space *s, uint64_t unit, uint64_t n)
{
	if (!emi_space_in_use(s, unit, n))
		return 0;
	while (n > 0) {
		const uint64_t m = within_page(unit, n);
		emi_space_bits *b = s->page[unit / PAGE_UNITS].bits;

		if (b != NULL) {
			mark_written(b, unit % PAGE_UNITS, m, 1);
			if (b->units_written == PAGE_UNITS)
				make_alike(s, unit / PAGE_UNITS, EMI_SPACE_WRITTEN);
		}
		unit += m;
		n -= m;
	}
	return 1;
}

int emi_space_written(const emi_space *s, uint64_t unit, uint64_t n)
{
	while (n > 0) {
		uint64_t bits;
		const unsigned m = bits_from(unit, n, &bits);

		if ((written_word_of(s, unit) & bits) != 0)
			return 1;
		unit += m;
		n -= m;
	}
	return 0;
}

/* Where the last row of units ends before unit that are not free, or 0. */
static uint64_t end_of_use(const emi_space *s, uint64_t unit)
{
	while (unit > 0 && !in_cut_page(s, unit - 1)) {
		const unsigned last = (unsigned)((unit - 1) % WORD_BITS);
		const uint64_t rest = word_of(s, unit - 1) << (WORD_BITS - 1 - last);

		if (rest != 0)
			return unit - (unsigned)__builtin_clzll(rest);
		unit -= last + 1;
	}
	return unit;
}

/* Nothing is told of pages behind the end. */
static void trim(emi_space *s)
{
	while (s->pages > (s->high + PAGE_UNITS - 1) / PAGE_UNITS)
		make_alike(s, --s->pages, EMI_SPACE_CUT);
}

void emi_space_drop(emi_space *s, uint64_t unit, uint64_t n)
{
	const uint64_t high = s->high;

	s->used -= n;
	mark_free(s, unit, n);
	s->high = end_of_use(s, high);
	if (s->high == high)
		return;
	mark_used(s, s->high, high - s->high);
	trim(s);
}

/* The first unit within [from, high) that is not free, or high. */
static uint64_t next_taken(const emi_space *s, uint64_t from)
{
	while (from < s->high && !in_cut_page(s, from)) {
		const uint64_t rest = word_of(s, from) >> (from % WORD_BITS);

		if (rest != 0) {
			from += (unsigned)__builtin_ctzll(rest);
			break;
		}
		from += WORD_BITS - from % WORD_BITS;
	}
	return from < s->high ? from : s->high;
}

/* Count units as cut out, and release pages of which nothing is left. */
static void note_cut(emi_space *s, uint64_t unit, uint64_t n)
{
	while (n > 0) {
		emi_space_page *p = &s->page[unit / PAGE_UNITS];
		const uint64_t m = within_page(unit, n);

		p->cut += (uint32_t)m;
		if (p->cut == PAGE_UNITS)
			make_alike(s, unit / PAGE_UNITS, EMI_SPACE_CUT);
		unit += m;
		n -= m;
	}
}

uint64_t emi_space_cut(emi_space *s, uint64_t least, uint64_t *unit)
{
	const uint64_t at = first_gap(s, least);
	uint64_t n;

	if (at == s->high)
		return 0;
	n = next_taken(s, at) - at;
	mark_used(s, at, n);
	note_cut(s, at, n);
	s->cut += n;
	*unit = at;
	return n;
}

/* Units of a page that was released stay what they are: they are few, and bringing it back could fail. */
void emi_space_mend(emi_space *s, uint64_t unit, uint64_t n)
{
	while (n > 0) {
		const uint64_t m = within_page(unit, n);

		if (!in_cut_page(s, unit)) {
			s->page[unit / PAGE_UNITS].cut -= (uint32_t)m;
			s->cut -= m;
			s->used += m;
			emi_space_drop(s, unit, m);
		}
		unit += m;
		n -= m;
	}
}

uint64_t emi_space_memory_of(uint64_t units, uint64_t ends)
{
	const uint64_t pages = units / PAGE_UNITS + 1, with_bits = (ends < pages ? ends : pages) + (pages > 1);
	uint64_t table = FIRST_TABLE;

	while (table < pages)
		table *= 2;
	/* The old table is there until the new one is filled. */
	return with_bits * sizeof(emi_space_bits) +
	       (table + table / 2) * (sizeof(emi_space_page) + 2 * sizeof(emi_space_gaps));
}

uint64_t emi_space_memory(uint64_t units)
{
	return emi_space_memory_of(units, UINT64_MAX);
}
