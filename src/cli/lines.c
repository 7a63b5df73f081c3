/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines.c -- the lines of text that extmem generate --lines writes.
 *
 * Line i depends on the seed and on i alone.
 *
 *     text    10 random printing characters, two spaces, the number of the line in 32 hexadecimal digits, two
 *             spaces, and one letter again and again; cut where the line is full
 *     short   9 random printing characters
 *     urls    what a log of requests looks like to a sort: most lines begin as many others do.  Of 4095 hosts the r-th
 *             has about 1/r of the lines of the first, and paths are made of few words, the first ones of them most
 *             often
 *     csv     id,name,amount,date,city,state,count,reference; the amount has a sign and two digits behind its point
 *     csv-quoted   the same, and some names and cities stand between double quotes, with commas or doubled quotes in
 *                  them
 *
 * A word is copied with all the bytes of its array, a constant number, which is faster than to copy what it has; what
 * follows it overwrites the rest.
 */
#include <string.h>

#include "cli/lines.h"
#include "cli/random.h"

/* Random numbers that a line may use. */
#define WORDS_PER_LINE 4
/* Above what any line of a kind without a size has, with a word behind it. */
#define LONGEST 256
#define KEY_BYTES 10
#define NUMBER_DIGITS 32

#define WORD_BYTES 15
typedef struct word {
	char text[WORD_BYTES];
	unsigned char n;
} word;
#define W(s) { s, sizeof(s) - 1 }

const char *const lines_name[LINES_KINDS] = { "text", "short", "urls", "csv", "csv-quoted" };

static const word name_front[32] = {
	W("acme"),   W("alpha"),  W("atlas"), W("blue"),   W("bright"), W("cedar"), W("city"),    W("cloud"),
	W("daily"),  W("delta"),  W("east"),  W("echo"),   W("first"),  W("fresh"), W("global"),  W("golden"),
	W("harbor"), W("index"),  W("jet"),   W("key"),    W("lumen"),  W("metro"), W("nordic"),  W("open"),
	W("pixel"),  W("quick"),  W("river"), W("silver"), W("true"),   W("urban"), W("vector"),  W("west"),
};

static const word name_back[32] = {
	W("archive"), W("bank"),   W("base"),   W("books"),  W("cast"),  W("data"),   W("desk"),    W("farm"),
	W("forum"),   W("games"),  W("guide"),  W("house"),  W("labs"),  W("market"), W("media"),   W("music"),
	W("news"),    W("office"), W("photos"), W("planet"), W("press"), W("recipes"), W("school"), W("science"),
	W("shop"),    W("sports"), W("store"),  W("travel"), W("tube"),  W("video"),  W("weather"), W("wiki"),
};

static const word domain[8] = {
	W(".com/"), W(".org/"), W(".net/"), W(".example/"), W(".co.uk/"), W(".de/"), W(".io/"), W(".edu/"),
};

static const word scheme[8] = {
	W("https://www."), W("https://www."), W("https://"),     W("https://"),
	W("https://m."),   W("https://api."), W("http://www."),  W("http://"),
};

static const word level[32] = {
	W("en/"),       W("products/"), W("articles/"), W("category/"), W("images/"),  W("users/"),   W("archive/"),
	W("2024/"),     W("2025/"),     W("reviews/"),  W("search/"),   W("static/"),  W("download/"), W("questions/"),
	W("topics/"),   W("software/"), W("europe/"),   W("business/"), W("computers/"), W("history/"), W("science/"),
	W("comments/"), W("features/"), W("reference/"), W("library/"), W("gallery/"), W("projects/"), W("documents/"),
	W("events/"),   W("profiles/"), W("collections/"), W("v2/"),
};

static const word query[8] = {
	W("?page="), W("?sort=asc&p="), W("?lang=en&id="), W("?q="), W("?ref=home&n="), W("?utm=mail&c="),
	W("?view=all&s="), W("?t="),
};

static const word first_name[32] = {
	W("Ada"),   W("Alan"),  W("Anna"),  W("Bela"),  W("Carla"), W("Chen"),  W("David"), W("Dora"),
	W("Edith"), W("Emil"),  W("Fatima"), W("Felix"), W("Grace"), W("Hugo"), W("Ines"),  W("Ivan"),
	W("Jana"),  W("John"),  W("Karin"), W("Lena"),  W("Luis"),  W("Maria"), W("Nadia"), W("Niels"),
	W("Olga"),  W("Paul"),  W("Rosa"),  W("Samuel"), W("Tomas"), W("Ursula"), W("Wei"), W("Yusuf"),
};

static const word last_name[32] = {
	W("Adams"),  W("Bauer"),   W("Becker"),  W("Brown"),  W("Costa"),    W("Dubois"),  W("Evans"),    W("Fischer"),
	W("Garcia"), W("Hansen"),  W("Ito"),     W("Jansen"), W("Kaya"),     W("Keller"),  W("Kowalski"), W("Lopez"),
	W("Meyer"),  W("Moreau"),  W("Nguyen"),  W("Novak"),  W("O'Neill"),  W("Olsen"),   W("Petrov"),   W("Quinn"),
	W("Rossi"),  W("Schmidt"), W("Silva"),   W("Smith"),  W("Svensson"), W("Tanaka"),  W("Weber"),    W("Zhang"),
};

static const word city[16] = {
	W("Amsterdam"), W("Berlin"), W("Boston"), W("Cairo"), W("Chicago"), W("Dublin"), W("Hamburg"), W("Lagos"),
	W("Lima"), W("Madrid"), W("New York"), W("Oslo"), W("Paris"), W("Prague"), W("Tokyo"), W("Zurich"),
};

static const word state[8] = {
	W("open"), W("paid"), W("paid"), W("paid"), W("shipped"), W("shipped"), W("returned"), W("cancelled"),
};

static unsigned char *put(unsigned char *p, const word *w)
{
	memcpy(p, w->text, WORD_BYTES);
	return p + w->n;
}

static unsigned char *put_text(unsigned char *p, const char *text, size_t n)
{
	memcpy(p, text, n);
	return p + n;
}

/* The last `digits' digits of a number. */
static unsigned char *put_digits(unsigned char *p, uint64_t v, unsigned digits)
{
	unsigned i;

	for (i = digits; i; i--, v /= 10)
		p[i - 1] = (unsigned char)('0' + v % 10);
	return p + digits;
}

static unsigned char *put_number(unsigned char *p, uint64_t v)
{
	uint64_t rest;
	unsigned digits = 1;

	for (rest = v; rest >= 10; rest /= 10)
		digits++;
	return put_digits(p, v, digits);
}

/* Take a number below 2^bits from random ones. */
static unsigned take(uint64_t *random, unsigned bits)
{
	const unsigned v = (unsigned)(*random & (((uint64_t)1 << bits) - 1));

	*random >>= bits;
	return v;
}

/*
 * From 1 to 2^exponents - 1, r about 1/r times as often as 1: any power of two is equally likely, and so are all
 * numbers from it to the next.  16 bits of what is random say which power, the next ones which number.
 */
static unsigned take_popular(uint64_t *random, unsigned exponents)
{
	const unsigned e = take(random, 16) * exponents >> 16;

	return 1u << e | take(random, e);
}

/* Half a key of 32 random bits: the next digits of a fraction to the base 94, which are printing characters but no
 * space. */
static void put_printing(unsigned char *p, uint32_t fraction)
{
	uint64_t v = fraction;
	int i;

	for (i = 0; i < KEY_BYTES / 2; i++) {
		v = (v & UINT32_MAX) * 94;
		p[i] = (unsigned char)('!' + (v >> 32));
	}
}

static void put_key(unsigned char *p, uint64_t start, uint64_t i)
{
	const uint64_t v = random_at(start, i * WORDS_PER_LINE);

	put_printing(p, (uint32_t)(v >> 32));
	put_printing(p + KEY_BYTES / 2, (uint32_t)v);
}

static size_t make_short(unsigned char *p, uint64_t start, uint64_t i)
{
	put_key(p, start, i);
	p[KEY_BYTES - 1] = '\n';
	return KEY_BYTES;
}

static size_t make_text(unsigned char *p, size_t size, uint64_t start, uint64_t i)
{
	static const unsigned char digit[] = "0123456789ABCDEF";
	unsigned char front[KEY_BYTES + 2 + NUMBER_DIGITS + 2];
	size_t n = size - 1;
	int j;

	put_key(front, start, i);
	memset(front + KEY_BYTES, ' ', 2);
	memset(front + KEY_BYTES + 2, '0', NUMBER_DIGITS / 2);
	for (j = 0; j < 16; j++)
		front[KEY_BYTES + 2 + NUMBER_DIGITS / 2 + j] = digit[i >> (60 - 4 * j) & 15];
	memset(front + KEY_BYTES + 2 + NUMBER_DIGITS, ' ', 2);
	if (n > sizeof(front)) {
		memcpy(p, front, sizeof(front));
		memset(p + sizeof(front), 'A' + (int)(i % 26), n - sizeof(front));
	} else {
		memcpy(p, front, n);
	}
	p[n] = '\n';
	return size;
}

static unsigned char *put_host(unsigned char *p, uint64_t start, unsigned host)
{
	uint64_t r = random_at(~start, host);

	p = put(p, &scheme[take(&r, 3)]);
	p = put(p, &name_front[take(&r, 5)]);
	p = put(p, &name_back[take(&r, 5)]);
	if (host >= 64)
		p = put_number(p, host);
	return put(p, &domain[take(&r, 3)]);
}

static size_t make_url(unsigned char *p, uint64_t start, uint64_t i)
{
	uint64_t r = random_at(start, i * WORDS_PER_LINE), s = random_at(start, i * WORDS_PER_LINE + 1);
	unsigned char *q = put_host(p, start, take_popular(&r, 12));
	unsigned levels = 3 + take(&r, 2);

	for (; levels; levels--)
		q = put(q, &level[take_popular(&s, 5)]);
	/* Up to 12 digits, of which the first are shared by many. */
	q = put_digits(q, (uint64_t)take(&r, 10) * 977, 6);
	r = random_at(start, i * WORDS_PER_LINE + 2);
	q = put_digits(q, take(&r, 20), 6);
	if (!take(&r, 2)) {
		q = put(q, &query[take(&r, 3)]);
		q = put_number(q, take(&r, 16));
	}
	*q++ = '\n';
	return (size_t)(q - p);
}

static unsigned char *put_name(unsigned char *p, uint64_t *r, int quoted)
{
	const word *first = &first_name[take(r, 5)], *last = &last_name[take(r, 5)];
	const unsigned how = take(r, 4);

	if (quoted && how < 3) {
		*p++ = '"';
		p = put_text(put(p, last), ", ", 2);
		p = put(p, first);
		*p++ = '"';
	} else if (quoted && how == 3) {
		*p++ = '"';
		p = put_text(put(p, first), " \"\"", 3);
		p = put_text(put(p, &name_front[take(r, 5)]), "\"\" ", 3);
		p = put(p, last);
		*p++ = '"';
	} else {
		p = put(p, first);
		*p++ = ' ';
		p = put(p, last);
	}
	return p;
}

/* From one digit in front of the point to seven, so that lengths say something. */
static unsigned char *put_amount(unsigned char *p, uint64_t *r)
{
	const unsigned bits = 7 + take(r, 4) * 22 / 15, sign = take(r, 2);
	const unsigned cents = take(r, bits);

	if (!sign)
		*p++ = '-';
	p = put_number(p, cents / 100);
	*p++ = '.';
	return put_digits(p, cents % 100, 2);
}

static unsigned char *put_date(unsigned char *p, uint64_t *r)
{
	p = put_digits(p, 1998 + take(r, 5), 4);
	*p++ = '-';
	p = put_digits(p, 1 + take(r, 10) * 12 / 1024, 2);
	*p++ = '-';
	return put_digits(p, 1 + take(r, 10) * 28 / 1024, 2);
}

static size_t make_csv(unsigned char *p, uint64_t start, uint64_t i, int quoted)
{
	uint64_t r = random_at(start, i * WORDS_PER_LINE), s = random_at(start, i * WORDS_PER_LINE + 1);
	const word *where = &city[take(&s, 4)];
	unsigned char *q = p;

	q = put_number(q, i);
	*q++ = ',';
	q = put_name(q, &r, quoted);
	*q++ = ',';
	q = put_amount(q, &r);
	*q++ = ',';
	q = put_date(q, &s);
	*q++ = ',';
	if (quoted && !take(&s, 4)) {
		*q++ = '"';
		q = put_text(put(q, where), ", Old Town\"", 11);
	} else {
		q = put(q, where);
	}
	*q++ = ',';
	q = put(q, &state[take(&s, 3)]);
	*q++ = ',';
	q = put_number(q, take_popular(&s, 4));
	q = put_text(q, ",R", 2);
	q = put_digits(q, random_at(start, i * WORDS_PER_LINE + 2) >> 24, 12);
	*q++ = '\n';
	return (size_t)(q - p);
}

void lines_init(lines *l, int kind, uint64_t seed, size_t size)
{
	l->kind = kind;
	l->start = random_start(seed);
	l->size = kind == LINES_TEXT ? size : kind == LINES_SHORT ? KEY_BYTES : 0;
	l->room = l->size ? l->size : LONGEST;
}

size_t lines_make(const lines *l, unsigned char *p, uint64_t i)
{
	switch (l->kind) {
	case LINES_TEXT:
		return make_text(p, l->size, l->start, i);
	case LINES_SHORT:
		return make_short(p, l->start, i);
	case LINES_URLS:
		return make_url(p, l->start, i);
	default:
		return make_csv(p, l->start, i, l->kind == LINES_CSV_QUOTED);
	}
}
