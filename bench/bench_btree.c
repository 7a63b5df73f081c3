/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_btree.c -- the B+-tree workload: loading, inserting, looking up, passing through, erasing.
 *
 *	bench_btree [--n 2^24] [--ops 100000] [--ins 1000000] [--scans 1000] [--cache 128M] [--many 1] [--unsorted 0]
 *		[--leaf 32K] [--node 4K] [--fill 0] [--batch 8192] [--budget 0] [--simdisks 0] [--ends 0]
 *		[--limit 600] [--only PHASES] [--depth 0] [--rounds 1] [--dir DIR]
 *
 * Keys are 8 characters a to z, and data 32 bytes.  The phases are those of other libraries' drivers: `bulk' loads n
 * sorted records that are made on the way; `insert', `locate' (the first key that is not less) and `erase' are ops
 * single calls with random keys; `scan' passes through `scans' ranges of n / scans records with a cursor, which copies
 * them, and `each' with em_btree_for_each(), which does not.  Changes are timed to the end of em_btree_flush().
 * `pointinsert' inserts --ins random records into an empty tree.
 *
 *   --many 1        also `locate_many' and `insert_many', one call for all ops; `fullscan' and `fulleach'; `each_many',
 *                   the ranges of `each' by one call, and `each_apart', such ones that do not overlap, in no order
 *   --unsorted 1    also `unsorted': n records in no order go through a sorter into a tree; 2: nothing before it
 *   --cache         of leaves and nodes together; nodes have a 16th
 *   --fill          percent of leaves and nodes that are filled by loading; 0: the default
 *   --batch         records that a call for many gets when ranges, or all, are passed through; 0: a range
 *   --budget        memory of the context: what a sorter may take; 0: four times the cache
 *   --simdisks N    on N simulated disks in memory
 *   --only PHASES   of insert, locate, locate_many, insert_many, fullscan, fulleach, scan, each, each_many, each_apart,
 *                   erase and verify only these, with commas between them
 *   --rounds        how often the passes are done, one after the other
 *   --depth         requests of a disk that are under way; 0: the default
 *   --ends 1        only `fill', n records in no order into an empty tree, one by one, and `drain', the least one is
 *                   taken out until it is empty (LEDA-SM's tables 3.1 and 3.2)
 *   --limit         seconds after which `fill' is stopped; then `drain' has fewer
 *
 * Making the records of `bulk' is timed alone before, as `generate'.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>

#include <extmem.h>
#include <extmem/sys/backend.h>

#include "peers/peer_common.h"

enum { KEY = 8, REC = 40, BATCH = 8192, DISKS_MOST = 8 };
#define SPACE UINT64_C(208827064576)            /* 26^8 */

typedef struct settings {
	uint64_t n, ops, ins, scans, rounds, cache, leaf, node, batch, limit;
	uint32_t fill;
	int many, unsorted, ends;
	const char *only;       /* NULL: all phases */
} settings;

static settings set;
static em_ctx *ctx;
static em_order *order;
static em_btree *tree;
static char batch[BATCH * REC];

static void must(em_status st, const char *what)
{
	em_errinfo err;

	if (st >= EM_OK)
		return;
	em_btree_error(tree, &err);
	fprintf(stderr, "FAILED: %s: %s: %s\n", what, em_status_text(st), err.text);
	exit(1);
}

static void make_key(uint64_t v, char *key)
{
	int i;

	for (i = KEY - 1; i >= 0; i--, v /= 26)
		key[i] = (char)('a' + v % 26);
}

static void make(uint64_t id, char *record)
{
	const uint64_t h = peer_mix(id);

	make_key(id, record);
	memcpy(record + 8, &h, 8);
	memcpy(record + 16, &id, 8);
	memset(record + 24, (int)('a' + id % 26), 16);
}

static uint64_t bulk_id(uint64_t i)
{
	const uint64_t gap = SPACE / set.n;

	return i * gap + peer_mix(i) % gap;
}

static uint64_t random_id(uint64_t i, uint64_t seed)
{
	return peer_mix(i ^ seed) % SPACE;
}

static void report(const peer_mark *m, uint64_t n, const char *phase, uint64_t count, uint64_t sum)
{
	em_btree_stats s = EM_BTREE_STATS_INIT;
	char extra[512];

	must(em_btree_stats_get(tree, &s), "stats");
	snprintf(extra, sizeof extra,
		 "ops=%" PRIu64 " sum=%" PRIu64 " height=%" PRIu32 " bytes=%" PRIu64
		 " reads=%" PRIu64 " writes=%" PRIu64
		 " node_reads=%" PRIu64,
		 count, sum, s.height, s.leaves * s.leaf_bytes + s.nodes * s.node_bytes, s.leaf_reads, s.leaf_writes,
		 s.node_reads);
	phase_end(m, "extmem", "map", n, REC, set.cache, phase, extra);
}

static void open_tree(void)
{
	em_btree_opts o = EM_BTREE_OPTS_INIT;

	o.cache_bytes = set.cache / 16 * 15;
	o.node_cache_bytes = set.cache / 16;
	o.leaf_bytes = set.leaf;
	o.node_bytes = set.node;
	must(em_btree_open(&tree, ctx, order, &o), "open");
}

/* n sorted records to a loader, or nowhere. */
static void generate(em_btree_loader *l)
{
	uint64_t i, k;

	for (i = 0; i < set.n; i += k) {
		for (k = 0; k < BATCH && i + k < set.n; k++)
			make(bulk_id(i + k), batch + k * REC);
		if (l != NULL)
			must(em_btree_loader_push(l, batch, k, NULL), "push");
	}
}

static void bulk(void)
{
	em_btree_load_opts o = EM_BTREE_LOAD_OPTS_INIT;
	em_btree_loader *l;
	peer_mark m;

	phase_begin(&m);
	generate(NULL);
	report(&m, set.n, "generate", set.n, 0);
	o.leaf_fill = o.node_fill = set.fill;
	phase_begin(&m);
	must(em_btree_loader_open(&l, tree, &o), "loader");
	generate(l);
	must(em_btree_loader_finish(l), "finish");
	em_btree_loader_close(l);
	must(em_btree_flush(tree), "flush");
	report(&m, set.n, "bulk", set.n, 0);
}

static void insert(uint64_t n, uint64_t count, uint64_t seed, const char *phase)
{
	char record[REC];
	peer_mark m;
	uint64_t i;

	phase_begin(&m);
	for (i = 0; i < count; i++) {
		make(random_id(i, seed), record);
		must(em_btree_insert(tree, record), "insert");
	}
	must(em_btree_flush(tree), "flush");
	report(&m, n, phase, count, 0);
}

static void locate(void)
{
	char key[KEY], record[REC];
	uint64_t i, h, sum = 0;
	peer_mark m;

	phase_begin(&m);
	for (i = 0; i < set.ops; i++) {
		make_key(random_id(i, 0x2222), key);
		if (em_btree_lower_bound(tree, key, record) != EM_OK)
			continue;
		if (memcmp(record, key, KEY) < 0)
			peer_die("lower bound");
		memcpy(&h, record + 8, 8);
		sum += h;
	}
	report(&m, set.n, "locate", set.ops, sum);
}

static void locate_many(void)
{
	char *keys = malloc((size_t)set.ops * KEY), *records = malloc((size_t)set.ops * REC);
	uint8_t *found = malloc((size_t)set.ops);
	uint64_t i, h, sum = 0;
	peer_mark m;

	if (keys == NULL || records == NULL || found == NULL)
		peer_die("memory");
	phase_begin(&m);
	for (i = 0; i < set.ops; i++)
		make_key(random_id(i, 0x6666), keys + i * KEY);
	must(em_btree_lower_bound_many(tree, keys, set.ops, records, found, NULL), "lower_bound_many");
	for (i = 0; i < set.ops; i++) {
		memcpy(&h, records + i * REC + 8, 8);
		sum += found[i] ? h : 0;
	}
	report(&m, set.n, "locate_many", set.ops, sum);
	free(found);
	free(records);
	free(keys);
}

static void insert_many(void)
{
	char *records = malloc((size_t)set.ops * REC);
	uint64_t i, entered;
	peer_mark m;

	if (records == NULL)
		peer_die("memory");
	phase_begin(&m);
	for (i = 0; i < set.ops; i++)
		make(random_id(i, 0x7777), records + i * REC);
	must(em_btree_insert_many(tree, records, set.ops, &entered), "insert_many");
	must(em_btree_flush(tree), "flush");
	report(&m, set.n, "insert_many", set.ops, entered);
	free(records);
}

static void scan(uint64_t ranges, const char *phase)
{
	const uint64_t each = ranges != 0 ? set.n / ranges : UINT64_MAX;
	const uint64_t most = set.batch != 0 ? set.batch : ranges != 0 ? each + 1 : BATCH;
	uint64_t i, k, got, left, count = 0, sum = 0, h;
	char *records = malloc((size_t)most * REC);
	em_btree_cursor *c;
	char key[KEY];
	em_status st;
	peer_mark m;

	if (records == NULL)
		peer_die("memory");
	phase_begin(&m);
	must(em_btree_cursor_open(&c, tree), "cursor");
	for (i = 0; i < ranges + (ranges == 0); i++) {
		make_key(random_id(i, 0x3333), key);
		st = em_btree_cursor_seek(c, ranges != 0 ? key : NULL, EM_BTREE_GE);
		if (st == EM_OK)
			st = em_btree_cursor_get(c, records);
		for (left = each, got = 1; st == EM_OK && left != 0;) {
			for (k = 0; k < got; k++) {
				memcpy(&h, records + k * REC + 8, 8);
				sum += h;
			}
			count += got;
			left -= got;
			st = em_btree_cursor_next_many(c, records, left < most ? left : most, &got);
		}
		if (st < EM_OK)
			must(st, "scan");
	}
	em_btree_cursor_close(c);
	report(&m, set.n, phase, count, sum);
	free(records);
}

/* What is passed through by a function that sees the records where they are. */
typedef struct pass {
	uint64_t count, sum;
} pass;

static int see(void *user, uint64_t i, const void *records, uint64_t n)
{
	const char *record = records;
	pass *p = user;
	uint64_t k, h;

	(void)i;
	for (k = 0; k < n; k++, record += REC) {
		memcpy(&h, record + 8, 8);
		p->sum += h;
	}
	p->count += n;
	return 0;
}

/* The i-th of ranges of about n / ranges records: at random places, or apart from each other, in no order. */
static void range_keys(uint64_t i, uint64_t ranges, int apart, char *from, char *to)
{
	const uint64_t id = apart ? i * 7919 % ranges * (SPACE / ranges) : random_id(i, 0x3333);
	const uint64_t end = id + SPACE / ranges;

	make_key(id, from);
	make_key(end < SPACE ? end : SPACE - 1, to);
}

/* Ranges one by one, or all. */
static void each(uint64_t ranges, const char *phase)
{
	pass p = { 0, 0 };
	uint64_t i;
	char from[KEY], to[KEY];
	peer_mark m;

	phase_begin(&m);
	for (i = 0; i < ranges; i++) {
		range_keys(i, ranges, 0, from, to);
		must(em_btree_for_each(tree, from, to, see, &p), "each");
	}
	if (ranges == 0)
		must(em_btree_for_each(tree, NULL, NULL, see, &p), "each");
	report(&m, set.n, phase, p.count, p.sum);
}

/* Ranges by one call. */
static void each_many(uint64_t ranges, int apart, const char *phase)
{
	char *from = malloc((size_t)ranges * KEY), *to = malloc((size_t)ranges * KEY);
	pass p = { 0, 0 };
	uint64_t i;
	peer_mark m;

	if (from == NULL || to == NULL)
		peer_die("memory");
	phase_begin(&m);
	for (i = 0; i < ranges; i++)
		range_keys(i, ranges, apart, from + i * KEY, to + i * KEY);
	must(em_btree_for_each_many(tree, from, to, ranges, see, &p), "each_many");
	report(&m, set.n, phase, p.count, p.sum);
	free(to);
	free(from);
}

static void erase(void)
{
	uint64_t i, erased = 0;
	char key[KEY];
	peer_mark m;

	phase_begin(&m);
	for (i = 0; i < set.ops; i++) {
		make_key(bulk_id(peer_mix(i ^ 0x4444) % set.n), key);
		erased += em_btree_erase(tree, key, NULL) == EM_OK;
	}
	must(em_btree_flush(tree), "flush");
	report(&m, set.n, "erase", set.ops, erased);
}

static void unsorted(void)
{
	em_btree_load_opts o = EM_BTREE_LOAD_OPTS_INIT;
	em_sorter *s;
	peer_mark m;
	uint64_t i, k;

	phase_begin(&m);
	if (em_sorter_open(&s, ctx, order, NULL) != EM_OK)
		peer_die("sorter");
	for (i = 0; i < set.n; i += k) {
		for (k = 0; k < BATCH && i + k < set.n; k++)
			make(random_id(i + k, 0x8888), batch + k * REC);
		if (em_sorter_push(s, batch, k) != EM_OK)
			peer_die("push");
	}
	if (em_sorter_finish(s) != EM_OK)
		peer_die("sort");
	o.flags = EM_BTREE_LOAD_SKIP;
	must(em_btree_load_sorted(tree, s, &o), "load");
	em_sorter_close(s);
	must(em_btree_flush(tree), "flush");
	report(&m, set.n, "unsorted", set.n, em_btree_size(tree));
}

static void ends(void)
{
	uint64_t sum = 0, count = 0, h;
	char record[REC];
	peer_mark m;

	open_tree();
	phase_begin(&m);
	for (count = 0; count < set.n && (count % 4096 != 0 || peer_now() - m.t < (double)set.limit); count++) {
		make(random_id(count, 0x9999), record);
		must(em_btree_insert(tree, record), "insert");
	}
	report(&m, set.n, "fill", em_btree_size(tree), 0);
	phase_begin(&m);
	for (count = 0; em_btree_pop_min(tree, record) == EM_OK; count++) {
		memcpy(&h, record, sizeof h);
		sum = sum * 31 + h;
	}
	report(&m, set.n, "drain", count, sum);
	em_btree_close(tree);
}

static void open_all(int argc, char **argv)
{
	static const em_key key = { 0, KEY, EM_KEY_BYTES, 0, { 0 } };
	const uint64_t disks = peer_size(peer_arg(argc, argv, "simdisks", "0"));
	const char *dir = peer_tmpdir(argc, argv), *dirs[DISKS_MOST];
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	uint64_t i;

	for (i = 0; i < DISKS_MOST; i++)
		dirs[i] = dir;
	o.memory = peer_size(peer_arg(argc, argv, "budget", "0"));
	if (o.memory == 0)
		o.memory = 4 * set.cache;
	o.dirs = dirs;
	o.queue_depth = (uint32_t)peer_size(peer_arg(argc, argv, "depth", "0"));
	o.ndirs = disks == 0 ? 1 : disks < DISKS_MOST ? (uint32_t)disks : DISKS_MOST;
	o.backend = disks != 0 ? "simdisk" : NULL;
	if (em_ctx_open(&ctx, &o) != EM_OK || em_order_keys(&order, ctx, REC, &key, 1, NULL) != EM_OK)
		peer_die("context");
}

static int wanted(const char *phase)
{
	const size_t n = strlen(phase);
	const char *at = set.only;

	if (at == NULL)
		return 1;
	while ((at = strstr(at, phase)) != NULL) {
		if ((at == set.only || at[-1] == ',') && (at[n] == ',' || at[n] == 0))
			return 1;
		at += n;
	}
	return 0;
}

static void verify(void)
{
	peer_mark m;

	phase_begin(&m);
	must(em_btree_verify(tree), "verify");
	report(&m, set.n, "verify", em_btree_size(tree), 0);
}

static void measure(void)
{
	uint64_t i;

	if (set.n != 0 && set.unsorted < 2) {
		open_tree();
		bulk();
		if (wanted("insert"))
			insert(set.n, set.ops, 0x1111, "insert");
		if (wanted("locate"))
			locate();
		if (set.many && wanted("locate_many"))
			locate_many();
		if (set.many && wanted("insert_many"))
			insert_many();
		if (set.many && wanted("fullscan"))
			for (i = 0; i < set.rounds; i++)
				scan(0, "fullscan");
		if (set.many && wanted("fulleach"))
			for (i = 0; i < set.rounds; i++)
				each(0, "fulleach");
		if (wanted("scan"))
			for (i = 0; i < set.rounds; i++)
				scan(set.scans, "scan");
		if (wanted("each"))
			for (i = 0; i < set.rounds; i++)
				each(set.scans, "each");
		if (set.many && wanted("each_many"))
			for (i = 0; i < set.rounds; i++)
				each_many(set.scans, 0, "each_many");
		if (set.many && wanted("each_apart"))
			for (i = 0; i < set.rounds; i++)
				each_many(set.scans, 1, "each_apart");
		if (wanted("erase"))
			erase();
		if (wanted("verify"))
			verify();
		em_btree_close(tree);
	}
	if (set.n != 0 && set.unsorted) {
		open_tree();
		unsorted();
		em_btree_close(tree);
	}
	if (set.ins != 0) {
		open_tree();
		insert(set.ins, set.ins, 0x5555, "pointinsert");
		em_btree_close(tree);
	}
}

int main(int argc, char **argv)
{
	set.n = peer_size(peer_arg(argc, argv, "n", "2^24"));
	set.ops = peer_size(peer_arg(argc, argv, "ops", "100000"));
	set.ins = peer_size(peer_arg(argc, argv, "ins", "1000000"));
	set.scans = peer_size(peer_arg(argc, argv, "scans", "1000"));
	set.rounds = peer_size(peer_arg(argc, argv, "rounds", "1"));
	set.cache = peer_size(peer_arg(argc, argv, "cache", "128M"));
	set.leaf = peer_size(peer_arg(argc, argv, "leaf", "0"));
	set.node = peer_size(peer_arg(argc, argv, "node", "0"));
	set.batch = peer_size(peer_arg(argc, argv, "batch", "8192"));
	set.limit = peer_size(peer_arg(argc, argv, "limit", "600"));
	set.fill = (uint32_t)peer_size(peer_arg(argc, argv, "fill", "0"));
	set.many = atoi(peer_arg(argc, argv, "many", "1"));
	set.unsorted = atoi(peer_arg(argc, argv, "unsorted", "0"));
	set.only = peer_arg(argc, argv, "only", NULL);
	set.ends = atoi(peer_arg(argc, argv, "ends", "0"));
	open_all(argc, argv);
	if (set.ends)
		ends();
	else
		measure();
	em_order_close(order);
	em_ctx_close(ctx);
	return 0;
}
