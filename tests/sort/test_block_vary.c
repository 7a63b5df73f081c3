/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_block_vary.c -- blocks of frames: what fits in one, its marks, damaged ones; and looking ahead in them and
 * cutting them, against a search that looks at every record.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sort/block_vary.h"
#include "sort/job.h"
#include "sort/lines_model.h"
#include "sort/merge_cut.h"
#include "sort/sort_model.h"

#define MOST 3000u

/* A job, and a block of sorted records with what is known about each. */
typedef struct bench {
	test_rng rng;
	em_ctx *ctx;
	em_order *order;
	emi_job job;
	lines l;
	unsigned char *frames;  /* one behind the other */
	size_t frames_bytes;
	unsigned char *block;
	size_t block_bytes;
	size_t n;
	size_t at[MOST];        /* offset in the block */
	size_t end[MOST];
	uint64_t out[MOST + 1]; /* output bytes before it */
	emi_fetched fetched;
} bench;

static void bench_open(bench *b, int which)
{
	em_ctx_opts opts = sort_ctx_opts();
	em_errinfo err;

	memset(b, 0, sizeof(*b));
	memset(&err, 0, sizeof(err));
	b->rng = test_rng_make(test_seed());
	b->ctx = sort_ctx(&opts);
	b->order = lines_order(b->ctx, which);
	assert_int_equal(emi_job_open(&b->job, b->ctx, b->order, NULL, &err), EM_OK);
	b->job.out_extra = 1;
}

static void bench_close(bench *b)
{
	lines_free(&b->l);
	free(b->frames);
	free(b->block);
	emi_job_close(&b->job);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
}

/* Make a block of all lines; it has just the memory it should need, but for what may be read behind it. */
static void make_block(bench *b)
{
	const emi_vary *v = emi_order_vary(b->order);
	emi_block_builder builder;
	size_t i, n, bytes, at = 0, all = 0;

	free(b->frames);
	free(b->block);
	for (i = 0; i < b->l.n; i++) {
		const unsigned char *record = lines_at(&b->l, i, &n);

		emi_frame_make(v, record, n, NULL, 0, &bytes);
		all += bytes;
	}
	b->frames = malloc(all + 8);
	b->block_bytes = (size_t)emi_block_bytes(all);
	b->block = malloc(b->block_bytes);
	assert_true(b->frames != NULL && b->block != NULL);
	test_fill(&b->rng, b->block, b->block_bytes);
	emi_block_begin(&builder, b->block, all);
	b->out[0] = 0;
	for (i = 0; i < b->l.n; i++) {
		const unsigned char *record = lines_at(&b->l, i, &n);

		bytes = emi_frame_make(v, record, n, b->frames + at, all - at, NULL);
		assert_true(bytes != 0);
		emi_block_add(&builder, b->frames + at, bytes, n + 1);
		b->at[i] = sizeof(emi_block_head) + at;
		b->end[i] = b->at[i] + bytes;
		b->out[i + 1] = b->out[i] + n + 1;
		at += bytes;
	}
	emi_block_end(&builder);
	b->frames_bytes = all;
	b->n = b->l.n;
	memset(&b->fetched, 0, sizeof(b->fetched));
	b->fetched.buf = (char *)b->block;
	b->fetched.hint.data = b->block_bytes;
}

static void fill_lines(bench *b, size_t n, int style, size_t longest)
{
	unsigned char *record = malloc(longest + 1);
	size_t i;

	assert_non_null(record);
	lines_free(&b->l);
	for (i = 0; i < n; i++) {
		const size_t bytes = (size_t)test_below(&b->rng, longest + 1);

		if (longest == 0 || test_below(&b->rng, 3) != 0) {
			lines_add_random(&b->l, &b->rng, style, 1);
		} else {
			memset(record, 'a' + (int)test_below(&b->rng, 3), bytes);
			lines_add(&b->l, record, bytes);
		}
	}
	free(record);
	lines_sort(b->order, &b->l, 0, 0);
}

/* Blocks that are filled up to their room are not longer than they may be. */
static void test_sizes(void **state)
{
	size_t bytes;

	(void)state;
	for (bytes = 0; bytes < 70000; bytes++) {
		const size_t room = emi_block_room(bytes);

		if (room != 0)
			assert_true(emi_block_bytes(room) <= bytes);
		assert_true(emi_block_room(bytes + 1) >= room);
		assert_true(emi_block_bytes(bytes) > bytes && emi_block_bytes(bytes) % 8 == 0);
		/* Little is wasted. */
		if (bytes >= 4096)
			assert_true(room > bytes - bytes / 64 - 64);
	}
	assert_true(emi_block_room(0) == 0);
	assert_true(emi_block_bytes(emi_block_room((size_t)1 << 30)) <= (uint64_t)1 << 30);
	assert_true(emi_block_bytes((uint64_t)5 << 30) > (uint64_t)5 << 30);
}

static int is_sound(const bench *b)
{
	return emi_block_sound(b->block, b->block_bytes, emi_order_vary(b->order));
}

static void check_marks(const bench *b)
{
	const emi_block_head *head = emi_block_get_head(b->block);
	const emi_block_mark *mark = emi_block_marks(b->block);
	uint64_t wanted = 0;
	size_t i;
	uint32_t m = 0;

	assert_true(is_sound(b));
	assert_true(head->records == b->n && head->out == b->out[b->n] && head->end == b->end[b->n - 1]);
	assert_true(emi_block_frames(b->block) == b->frames_bytes);
	assert_memory_equal(emi_block_first(b->block), b->frames, b->frames_bytes);
	/* The first, each that is a KiB behind the mark before, and the last. */
	for (i = 0; i < b->n; i++) {
		if (b->at[i] < wanted && i + 1 != b->n)
			continue;
		assert_true(m < head->marks);
		assert_true(mark[m].at == b->at[i] && mark[m].out == b->out[i]);
		m++;
		wanted = b->at[i] + EMI_MARK_EVERY;
	}
	assert_int_equal(m, head->marks);
	assert_true((const unsigned char *)(mark + m) <= b->block + b->block_bytes);
	for (i = (size_t)head->end; i < (size_t)((const unsigned char *)mark - b->block); i++)
		assert_int_equal(b->block[i], 0);
}

static void test_marks(void **state)
{
	static const size_t counts[] = { 1, 2, 3, 40, 1000, MOST };
	static const size_t longest[] = { 0, 5, 300, 1500, 5000 };
	size_t i, k;
	int which;

	(void)state;
	for (which = 0; which < 3; which++) {
		for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			for (k = 0; k < sizeof(longest) / sizeof(longest[0]); k++) {
				bench b;

				if (counts[i] * longest[k] > 1000000)
					continue;
				bench_open(&b, which);
				fill_lines(&b, counts[i], LINES_ANY, longest[k]);
				make_block(&b);
				check_marks(&b);
				bench_close(&b);
			}
		}
	}
}

/* The only record, empty or long. */
static void test_one(void **state)
{
	static const size_t sizes[] = { 0, 1, 253, 254, 1000, 1024, 70000 };
	unsigned char *record = calloc(1, 70000);
	size_t i;

	(void)state;
	assert_non_null(record);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		bench b;

		bench_open(&b, 0);
		lines_add(&b.l, record, sizes[i]);
		make_block(&b);
		check_marks(&b);
		assert_int_equal(emi_block_get_head(b.block)->marks, 1);
		bench_close(&b);
	}
	free(record);
}

/* What is said about a block that cannot be so is seen, and nothing outside of it is looked at. */
static void test_damaged(void **state)
{
	const uint64_t most = UINT64_MAX;
	emi_merge_input in;
	emi_block_head *head, good;
	emi_block_mark *mark, kept;
	size_t i;
	bench b;

	(void)state;
	bench_open(&b, 0);
	fill_lines(&b, 500, LINES_ANY, 0);
	make_block(&b);
	head = (emi_block_head *)(void *)b.block;
	mark = (emi_block_mark *)(void *)(b.block + (head->end + 7) / 8 * 8);
	good = *head;
	assert_true(is_sound(&b));
	for (i = 0; i < 9; i++) {
		const uint64_t ends[] = { 0, sizeof(*head), b.block_bytes, b.block_bytes + 1, most, most - 7, most / 2,
					  1, 23 };

		head->end = ends[i];
		assert_false(is_sound(&b));
	}
	*head = good;
	head->records = 0;
	assert_false(is_sound(&b));
	*head = good;
	for (i = 0; i < 4; i++) {
		const uint32_t marks[] = { 0, UINT32_MAX, 1u << 29, (uint32_t)(b.block_bytes / 8) };

		head->marks = marks[i];
		assert_false(is_sound(&b));
	}
	*head = good;
	kept = mark[0];
	mark[0].at++;
	assert_false(is_sound(&b));
	mark[0] = kept;
	kept = mark[head->marks - 1];
	mark[head->marks - 1].at = (uint32_t)head->end;
	assert_false(is_sound(&b));
	/* A merge asks. */
	memset(&in, 0, sizeof(in));
	in.block = &b.fetched;
	assert_false(emi_cut_vary.begin(&b.job.by, &in));
	mark[head->marks - 1] = kept;
	assert_true(emi_cut_vary.begin(&b.job.by, &in));
	assert_ptr_equal(in.at, b.block + sizeof(*head));
	assert_true(in.left == b.frames_bytes && in.out == 0);
	bench_close(&b);
}

/* Any mark that is out of line is seen, not only those at the ends; so a search among them stays in the block. */
static void test_damaged_marks(void **state)
{
	emi_block_head *head;
	emi_block_mark *mark;
	uint32_t i, k;
	bench b;

	(void)state;
	bench_open(&b, 0);
	fill_lines(&b, 500, LINES_ANY, 60);
	make_block(&b);
	head = (emi_block_head *)(void *)b.block;
	mark = (emi_block_mark *)(void *)(b.block + (head->end + 7) / 8 * 8);
	assert_true(head->marks >= 6);
	for (i = 0; i < head->marks; i++) {
		const emi_block_mark good = mark[i];
		/* Before the first frame, at the neighbours, nearer to the one before than marks are set, behind the
		 * last frame. */
		const uint32_t ats[] = {
			0, i == 0 || i + 1 == head->marks ? 1 : mark[i - 1].at + EMI_MARK_EVERY - 1,
			mark[i != 0 ? i - 1 : 1].at, mark[i + 1 != head->marks ? i + 1 : i - 1].at, (uint32_t)head->end,
			(uint32_t)b.block_bytes, UINT32_MAX
		};
		/* Fewer than before the one before, more than before the next or in all. */
		const uint32_t outs[] = { i != 0 ? mark[i - 1].out - 1 : 1,
					  i + 1 != head->marks ? mark[i + 1].out + 1 : (uint32_t)head->out + 1,
					  UINT32_MAX };

		for (k = 0; k < sizeof(ats) / sizeof(ats[0]); k++) {
			mark[i].at = ats[k];
			assert_false(is_sound(&b));
		}
		mark[i] = good;
		for (k = 0; k < sizeof(outs) / sizeof(outs[0]); k++) {
			mark[i].out = outs[k];
			assert_false(is_sound(&b));
		}
		mark[i] = good;
		assert_true(is_sound(&b));
	}
	/* There cannot be more marks than records. */
	head->records = head->marks - 1;
	assert_false(is_sound(&b));
	head->records = head->marks;
	assert_true(is_sound(&b));
	bench_close(&b);
}

/* Whoever goes from frame to frame comes to the end of the block, or to one that leads elsewhere. */
static int is_walked(const bench *b)
{
	const emi_block_head *head = emi_block_get_head(b->block);
	const unsigned char *p = emi_block_first(b->block), *end = b->block + head->end;
	size_t n = 0;

	for (; p < end; n++) {
		emi_frame f;

		if (!emi_frame_get_within(emi_order_vary(b->order), p, end, &f))
			return 0;
		p = emi_frame_end(&f);
	}
	return p == end && n == b->n;
}

/* Lengths that lead elsewhere are seen, whichever frame has them, and nobody follows them; at both ends by who looks
 * at the block. */
static void test_damaged_frames(void **state)
{
	static const unsigned char lengths[] = { 0, 1, 253, 254, 255 };
	int order;

	(void)state;
	for (order = 0; order < 2; order++) {
		unsigned char record[90];
		size_t i, k;
		bench b;

		/* What stands in a record is no length that leads to another one. */
		memset(record, 255, sizeof record);
		bench_open(&b, order);
		for (i = 0; i < 300; i++)
			lines_add(&b.l, record, 2 + i * 7 % 88);
		make_block(&b);
		for (i = 0; i < b.n; i++) {
			unsigned char *frame = (unsigned char *)b.block + b.at[i];
			const unsigned char good = *frame;

			for (k = 0; k < sizeof lengths; k++) {
				*frame = lengths[k];
				assert_int_equal(is_walked(&b), *frame == good);
				if (i == 0 || i + 1 == b.n)
					assert_true(is_sound(&b) <= (*frame == good || i == 0));
			}
			*frame = (unsigned char)(good + 1);
			assert_false(is_walked(&b));
			*frame = good;
		}
		/* Its own end is where the block's is, or it is not the last one. */
		memset((char *)b.block + b.at[b.n - 1], 255, (size_t)(b.end[b.n - 1] - b.at[b.n - 1]));
		assert_false(is_sound(&b));
		bench_close(&b);
	}
}

static size_t index_of(const bench *b, const char *at)
{
	size_t lo = 0, hi = b->n;

	while (hi - lo > 1) {
		const size_t mid = lo + (hi - lo) / 2;

		if ((const char *)b->block + b->at[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	assert_ptr_equal(b->block + b->at[lo], at);
	return lo;
}

/* Make a cut from record i on, with a reach of s bytes, at a bound that is record k of this run or one like it of
 * another. */
static void check_cut(bench *b, size_t i, size_t s, size_t k, uint32_t run, uint32_t bound_run)
{
	emi_merge_input in;
	emi_bound bound;
	em_errinfo err;
	emi_slice got;
	const char *last;
	size_t li, end;

	memset(&in, 0, sizeof(in));
	memset(&err, 0, sizeof(err));
	in.block = &b->fetched;
	in.out_extra = (uint32_t)b->job.out_extra;
	assert_true(emi_cut_vary.begin(&b->job.by, &in));
	in.at = (const char *)b->block + b->at[i];
	in.left = b->end[b->n - 1] - b->at[i];
	in.out = b->out[i];
	got = emi_cut_vary.rest(&b->job.by, &in);
	assert_ptr_equal(got.first, in.at);
	assert_true(got.bytes == in.left && got.out == b->out[b->n] - b->out[i]);

	last = emi_cut_vary.ahead(&b->job.by, &in, s);
	li = index_of(b, last);
	assert_true(li >= i && (li == i || b->at[li] - b->at[i] <= s));
	/* It is the last of the block when that is near enough, and not much nearer than it might be. */
	if (b->at[b->n - 1] - b->at[i] <= s)
		assert_true(li == b->n - 1);
	else if (li + 1 < b->n)
		for (end = li + 1; end < b->n && b->at[end] - b->at[i] <= s; end++)
			assert_true(b->at[end] < b->at[li] + EMI_MARK_EVERY || b->at[end] < b->at[i] + EMI_MARK_EVERY);

	bound.record = (const char *)b->block + b->at[k];
	bound.key = emi_collation_key(&b->job.by, bound.record);
	bound.val = emi_collation_val(&b->job.by, bound.record);
	bound.run = bound_run;
	got = emi_cut_vary.cut(&b->job.by, &in, run, &bound, run == bound_run ? (k < li ? bound.record : last) : last);
	if (run == bound_run) {
		end = (k < li ? k : li) + 1;
	} else {
		const int before = run < bound_run;

		for (end = i + 1; end <= li; end++) {
			const int c = lines_compare(b->order, &b->l, end, k);

			if (before ? c > 0 : c >= 0)
				break;
		}
	}
	assert_ptr_equal(got.first, in.at);
	assert_true(got.bytes == (end < b->n ? b->at[end] : b->end[b->n - 1]) - b->at[i]);
	assert_true(got.out == b->out[end] - b->out[i]);
}

/* Bounds and reaches of all kinds; the front record is always before the bound, as it is in a merge. */
static void test_cuts(void **state)
{
	static const size_t counts[] = { 1, 2, 30, 800 };
	static const size_t reaches[] = { 0, 1, 40, 1023, 1024, 1025, 3000, 20000, 1000000 };
	static const size_t longest[] = { 0, 400, 2500 };
	static const int styles[] = { LINES_ANY, LINES_FEW, LINES_WORDS };
	size_t c, k, s, round;
	int which;

	(void)state;
	for (which = 0; which < LINES_ORDERS; which++) {
		for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			for (k = 0; k < 3; k++) {
				bench b;

				bench_open(&b, which);
				fill_lines(&b, counts[c], styles[(k + (size_t)which) % 3], longest[k]);
				make_block(&b);
				for (s = 0; s < sizeof(reaches) / sizeof(reaches[0]); s++) {
					for (round = 0; round < 6; round++) {
						const size_t i = (size_t)test_below(&b.rng, b.n);
						const size_t at = i + (size_t)test_below(&b.rng, b.n - i);

						check_cut(&b, i, reaches[s], at, 3, 3);
						check_cut(&b, i, reaches[s], at, 3, 4);
						if (lines_compare(b.order, &b.l, i, at) < 0)
							check_cut(&b, i, reaches[s], at, 3, 2);
					}
				}
				bench_close(&b);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_damaged_marks),
		cmocka_unit_test(test_damaged_frames),
		cmocka_unit_test(test_cuts),
	};

	return cmocka_run_group_tests_name("block_vary", tests, NULL, NULL);
}
