/* SPDX-License-Identifier: BSL-1.0 */
/*
 * records.h -- the kinds of records that are sorted: making them, and checking that they come in order.
 *
 * Records and checksums are those of the peers (peers/sort_records.hpp).  Like there, the loops over records are
 * compiled for each kind, so that what is measured is not calls.
 */
#ifndef BENCH_RECORDS_H
#define BENCH_RECORDS_H

#include "patterns.h"

typedef void put_fn(uint64_t x, uint64_t i, unsigned char *r);
typedef uint64_t sum_fn(const unsigned char *r);
typedef int less_fn(const unsigned char *a, const unsigned char *b);

static uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static uint32_t get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static void put64(unsigned char *p, uint64_t v)
{
	memcpy(p, &v, sizeof v);
}

static void put_u32(uint64_t x, uint64_t i, unsigned char *r)
{
	const uint32_t v = (uint32_t)(x >> 33) + 1u;

	(void)i;
	memcpy(r, &v, sizeof v);
}

static void put_u64(uint64_t x, uint64_t i, unsigned char *r)
{
	(void)i;
	put64(r, x >> 1 | 1);
}

static void put_kv16(uint64_t x, uint64_t i, unsigned char *r)
{
	put64(r, x >> 1 | 1);
	put64(r + 8, i);
}

/* The only one whose keys do not ascend with x. */
static void put_dup16(uint64_t x, uint64_t i, unsigned char *r)
{
	put64(r, x % 1024 + 1);
	put64(r + 8, i);
}

static void put_rec100(uint64_t x, uint64_t i, unsigned char *r)
{
	put64(r, __builtin_bswap64(x >> 1 | 1));
	put64(r + 8, peer_mix(x ^ i));
	put64(r + 16, i);
	memset(r + 24, (int)('A' + i % 26), 76);
}

static uint64_t sum_u32(const unsigned char *r)
{
	return get32(r);
}

static uint64_t sum_u64(const unsigned char *r)
{
	return get64(r);
}

static uint64_t sum_kv16(const unsigned char *r)
{
	return get64(r) * 3 + (get64(r + 8) ^ get64(r));
}

static uint64_t sum_dup16(const unsigned char *r)
{
	return peer_mix(get64(r) * 3 ^ get64(r + 8) << 20);
}

static uint64_t sum_rec100(const unsigned char *r)
{
	return get64(r) * 3 + (get64(r + 8) ^ get64(r + 16)) * 5 + get64(r + 92);
}

static int less_u32(const unsigned char *a, const unsigned char *b)
{
	return get32(a) < get32(b);
}

static int less_u64(const unsigned char *a, const unsigned char *b)
{
	return get64(a) < get64(b);
}

static int less_bytes10(const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, 10) < 0;
}

/* Make elements [i, i + n) at out; returns the sum of them. */
static inline __attribute__((always_inline)) uint64_t make(put_fn *put, sum_fn *sum, size_t bytes, const pattern *p,
							     uint64_t i, size_t n, unsigned char *out)
{
	uint64_t x[512], total = 0;
	size_t k, part;

	for (; n != 0; n -= part) {
		part = n < 512 ? n : 512;
		p->values(p, i, part, x);
		for (k = 0; k < part; k++, i++, out += bytes) {
			put(x[k], i, out);
			total += sum(out);
		}
	}
	return total;
}

/* Look at n records, the first of which follows prev, unless that is NULL.  Returns the sum of them. */
static inline __attribute__((always_inline)) uint64_t look(less_fn *less, sum_fn *sum, size_t bytes,
							   const unsigned char *prev, const unsigned char *r, size_t n)
{
	uint64_t total = 0;
	int bad = 0;
	size_t k;

	if (prev == NULL)
		prev = r;
	for (k = 0; k < n; k++, prev = r, r += bytes) {
		bad |= less(r, prev);
		total += sum(r);
	}
	if (bad)
		peer_die("order");
	return total;
}

static uint64_t make_u32(const pattern *p, uint64_t i, size_t n, unsigned char *out)
{
	return make(put_u32, sum_u32, 4, p, i, n, out);
}

static uint64_t make_u64(const pattern *p, uint64_t i, size_t n, unsigned char *out)
{
	return make(put_u64, sum_u64, 8, p, i, n, out);
}

static uint64_t make_kv16(const pattern *p, uint64_t i, size_t n, unsigned char *out)
{
	return make(put_kv16, sum_kv16, 16, p, i, n, out);
}

static uint64_t make_dup16(const pattern *p, uint64_t i, size_t n, unsigned char *out)
{
	return make(put_dup16, sum_dup16, 16, p, i, n, out);
}

static uint64_t make_rec100(const pattern *p, uint64_t i, size_t n, unsigned char *out)
{
	return make(put_rec100, sum_rec100, 100, p, i, n, out);
}

static uint64_t look_u32(const unsigned char *prev, const unsigned char *r, size_t n)
{
	return look(less_u32, sum_u32, 4, prev, r, n);
}

static uint64_t look_u64(const unsigned char *prev, const unsigned char *r, size_t n)
{
	return look(less_u64, sum_u64, 8, prev, r, n);
}

static uint64_t look_kv16(const unsigned char *prev, const unsigned char *r, size_t n)
{
	return look(less_u64, sum_kv16, 16, prev, r, n);
}

static uint64_t look_dup16(const unsigned char *prev, const unsigned char *r, size_t n)
{
	return look(less_u64, sum_dup16, 16, prev, r, n);
}

static uint64_t look_rec100(const unsigned char *prev, const unsigned char *r, size_t n)
{
	return look(less_bytes10, sum_rec100, 100, prev, r, n);
}

typedef struct kind {
	const char *name;
	uint32_t bytes;
	const char *key;
	uint64_t (*make)(const pattern *p, uint64_t i, size_t n, unsigned char *out);
	uint64_t (*look)(const unsigned char *prev, const unsigned char *r, size_t n);
} kind;

static const kind kinds[] = {
	{ "u32", 4, "0:u32", make_u32, look_u32 },
	{ "u64", 8, "0:u64", make_u64, look_u64 },
	{ "kv16", 16, "0:u64", make_kv16, look_kv16 },
	{ "dup16", 16, "0:u64", make_dup16, look_dup16 },
	{ "rec100", 100, "0:bytes10", make_rec100, look_rec100 },
};

static const kind *kind_named(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	peer_die("--rec");
	return NULL;
}

#endif
