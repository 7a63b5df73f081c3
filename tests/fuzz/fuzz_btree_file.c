/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fuzz_btree_file.c -- files of B+-trees that somebody has changed: reading them stays within them, and ends.
 *
 * The input chooses a tree, is written into its file, and says whether all checksums are made right again then, as
 * hardly any change would get past them:
 *
 *	byte 0     the tree; whether checksums are made right; whether the order is given
 *	then       steps of five bytes: a page, a place in it (two), what to do, a byte
 *
 * If they are not, a file that can be read as a whole is the one that was saved.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "container/btree_file.h"
#include "key/normalise.h"

#define TREES 4u
#define PAGE 4096u
#define STEP 5u
#define RECORD_MOST 64u
#define RECORDS 1500u
#define MEMORY ((uint64_t)8 << 20)

#define CHECK(what) check((what) != 0, #what, __LINE__)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(int fine, const char *what, int line)
{
	if (fine)
		return;
	fprintf(stderr, "fuzz_btree_file.c:%d: %s\n", line, what);
	abort();
}

/* Trees that were saved, and the orders to open them with. */
static struct tree {
	size_t record;
	size_t n;
	uint32_t flags;
	em_order *order;
	unsigned char *file;
	size_t bytes;
} trees[TREES] = { { 16, RECORDS, 0, NULL, NULL, 0 }, { 4, RECORDS, EM_BTREE_DUPLICATES, NULL, NULL, 0 },
		   { RECORD_MOST, RECORDS, EM_BTREE_DUPLICATES, NULL, NULL, 0 }, { 12, 30, 0, NULL, NULL, 0 } };

static em_ctx *ctx;
static int memory_file = -1;

static int compare(const void *a, const void *b, void *user)
{
	(void)user;
	return memcmp(a, b, RECORD_MOST - 4);
}

static void make_order(unsigned which)
{
	em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	struct tree *t = &trees[which];

	if (which == 2) {
		CHECK(em_order_cmp(&t->order, ctx, t->record, "bytes", compare, 0, NULL, NULL, NULL) == EM_OK);
		return;
	}
	if (which == 1)
		key.type = EM_KEY_U32;
	if (which == 3) {
		key.type = EM_KEY_BYTES;
		key.width = 11;
	}
	CHECK(em_order_keys(&t->order, ctx, t->record, &key, 1, NULL) == EM_OK);
}

static void read_file(struct tree *t, const char *path)
{
	FILE *f = fopen(path, "rb");

	CHECK(f != NULL && fseek(f, 0, SEEK_END) == 0);
	t->bytes = (size_t)ftell(f);
	rewind(f);
	t->file = malloc(t->bytes);
	CHECK(t->file != NULL && fread(t->file, 1, t->bytes, f) == t->bytes);
	fclose(f);
}

static em_btree_opts small_options(void)
{
	em_btree_opts o = EM_BTREE_OPTS_INIT;

	o.leaf_bytes = o.node_bytes = PAGE;
	o.cache_bytes = o.node_cache_bytes = EM_BTREE_FRAMES_MIN * PAGE;
	return o;
}

static void make_tree(unsigned which, const char *path)
{
	struct tree *t = &trees[which];
	em_btree_opts o = small_options();
	unsigned char record[RECORD_MOST];
	em_btree *tree;
	uint32_t i;

	make_order(which);
	o.flags = t->flags;
	CHECK(em_btree_open(&tree, ctx, t->order, &o) == EM_OK);
	for (i = 0; i < t->n; i++) {
		const uint32_t number = which == 1 ? i / 7 : i * 7919u;

		memset(record, (int)(i % 5), sizeof record);
		memcpy(record, &number, sizeof number);
		CHECK(em_btree_insert(tree, record) == EM_OK);
	}
	CHECK(em_btree_save(tree, path) == EM_OK);
	em_btree_close(tree);
	read_file(t, path);
	unlink(path);
}

static void begin(void)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	char dir[4096], path[4200];
	unsigned i;

	opts.memory = MEMORY;
	opts.threads = 1;
	opts.direct = EM_DIRECT_OFF;
	opts.custom = em_backend_find("memory");
	CHECK(em_ctx_open(&ctx, &opts) == EM_OK);
	snprintf(dir, sizeof dir, "%s/extmem-fuzz-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/var/tmp");
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof path, "%s/tree", dir);
	for (i = 0; i < TREES; i++)
		make_tree(i, path);
	rmdir(dir);
	memory_file = memfd_create("fuzz", 0);
	CHECK(memory_file >= 0);
}

static void edit(unsigned char *file, size_t bytes, const uint8_t *step)
{
	const size_t page = step[0] % (bytes / PAGE), far = (size_t)step[2] << 8 | step[1];
	/* What blocks begin with matters most. */
	unsigned char *at = file + page * PAGE + (far & 0x8000 ? far % (PAGE - 8) : far % 160);

	switch (step[3] % 4) {
	case 0:
		*at = step[4];
		break;
	case 1:
		*at = (unsigned char)(*at + step[4]);
		break;
	case 2:
		*at ^= (unsigned char)(1u << step[4] % 8);
		break;
	default:
		memset(at, step[4], 8);
	}
}

/* Checksums of all children of a block that could be a node, if they are in the file. */
static void seal_node(const emi_btree_header *h, unsigned char *file, uint64_t nodes_at, uint64_t id, uint32_t level,
		      size_t bytes)
{
	const size_t each = level != 1 ? h->node_bytes : h->leaf_bytes;
	const uint64_t from = level != 1 ? nodes_at : h->header_bytes;
	emi_btree_node *node = (emi_btree_node *)(void *)(file + nodes_at + id * h->node_bytes);
	uint32_t i;

	for (i = 0; i < node->n && i < h->children && sizeof *node + (i + 1) * 8u <= PAGE; i++) {
		const uint64_t child = node->first + i;

		if (child < bytes / PAGE && from + (child + 1) * each <= bytes)
			emi_node_children(node)[i] = emi_btree_block_sum(file + from + child * each, each);
	}
}

static void seal(unsigned char *file, size_t bytes)
{
	emi_btree_header *h = (emi_btree_header *)(void *)file;
	uint64_t nodes_at, id = 0, i;
	uint32_t level;

	if (h->header_bytes != PAGE || h->node_bytes != PAGE || h->leaf_bytes != PAGE ||
	    !emi_btree_header_lay_out(h, &nodes_at) || h->height > EMI_BTREE_HEIGHT_MOST)
		return;
	for (level = 1; level <= h->height; level++)
		for (i = 0; i < h->blocks[level] && nodes_at + (id + 1) * h->node_bytes <= bytes; i++, id++)
			seal_node(h, file, nodes_at, id, level, bytes);
	h->root_sum = emi_btree_block_sum(file + bytes - PAGE, PAGE);
	h->sum = emi_btree_header_sum(h, PAGE);
}

/* No way through it is longer than what there is room for in its blocks. */
static void walk(em_btree *tree, size_t bytes)
{
	const uint64_t most = bytes / (size_t)em_btree_record_bytes(tree) + 1;
	unsigned char record[RECORD_MOST];
	em_btree_cursor *c;
	uint64_t i;

	CHECK(em_btree_cursor_open(&c, tree) == EM_OK);
	for (i = 0; em_btree_cursor_next(c, record) == EM_OK; i++)
		CHECK(i < most);
	for (i = 0; em_btree_cursor_prev(c, record) == EM_OK; i++)
		CHECK(i < most);
	for (i = 0; i < 5; i++) {
		memset(record, (int)(i * 60), sizeof record);
		(void)!em_btree_cursor_seek(c, record, (uint32_t)i);
		(void)!em_btree_cursor_prev(c, record);
	}
	em_btree_cursor_close(c);
}

/* Records that may be visited yet, and something of each. */
typedef struct visit {
	uint64_t left;
	size_t record;
	unsigned seen;
} visit;

static int see(void *visits, uint64_t i, const void *records, uint64_t n)
{
	visit *v = visits;

	(void)i;
	CHECK(n <= v->left);
	v->left -= n;
	for (; n != 0; n--)
		v->seen += ((const unsigned char *)records)[n * v->record - 1];
	return 0;
}

static em_status read_tree(em_btree *tree, size_t bytes)
{
	enum { KEYS = 40, RANGES = 6 };
	static unsigned char records[KEYS * RECORD_MOST], keys[KEYS * RECORD_MOST];
	const size_t record = (size_t)em_btree_record_bytes(tree), key = (size_t)em_btree_key_bytes(tree);
	visit v = { RANGES * (bytes / record + 1), record, 0 };
	uint64_t n;
	unsigned i;

	for (i = 0; i < KEYS; i++)
		memset(keys + i * key, (int)(i * 6), key);
	(void)!em_btree_get_many(tree, keys, KEYS, records, NULL, &n);
	(void)!em_btree_lower_bound_many(tree, keys, KEYS, records, NULL, &n);
	for (i = 0; i < KEYS; i += 5) {
		(void)!em_btree_get(tree, keys + i * key, records);
		(void)!em_btree_upper_bound(tree, keys + i * key, records);
	}
	(void)!em_btree_min(tree, records);
	(void)!em_btree_max(tree, records);
	(void)!em_btree_count(tree, NULL, keys + 10, &n);
	(void)!em_btree_for_each_many(tree, keys, keys + 20 * key, RANGES, see, &v);
	walk(tree, bytes);
	return em_btree_verify(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const em_btree_opts small = small_options();
	em_btree_opts o = small;
	char path[64];
	const struct tree *t;
	unsigned char *file;
	em_btree *tree;
	int sealed;

	if (ctx == NULL)
		begin();
	if (bytes == 0 || EMI_BIG_ENDIAN)
		return 0;
	t = &trees[data[0] % TREES];
	sealed = (data[0] & 64) != 0;
	file = malloc(t->bytes);
	CHECK(file != NULL);
	memcpy(file, t->file, t->bytes);
	for (data++, bytes--; bytes >= STEP; data += STEP, bytes -= STEP)
		edit(file, t->bytes, data);
	if (sealed)
		seal(file, t->bytes);
	CHECK(pwrite(memory_file, file, t->bytes, 0) == (ssize_t)t->bytes &&
	      ftruncate(memory_file, (off_t)t->bytes) == 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", memory_file);
	o.leaf_bytes = o.node_bytes = 0;
	if (em_btree_open_file(&tree, ctx, path, t == &trees[2] || bytes % 2 != 0 ? t->order : NULL, &o) == EM_OK) {
		em_status st = EM_ERR_CORRUPT;

		/* Records may be of another size then. */
		if (em_btree_record_bytes(tree) == t->record)
			st = read_tree(tree, t->bytes);
		CHECK(sealed || st != EM_OK || memcmp(file, t->file, t->bytes) == 0);
		em_btree_close(tree);
	} else {
		CHECK(tree == NULL && memcmp(file, t->file, t->bytes) != 0);
	}
	free(file);
	return 0;
}
