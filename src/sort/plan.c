/* SPDX-License-Identifier: BSL-1.0 */
/*
 * plan.c -- choosing run size, block size, fan-in and buffers.
 *
 * Two phases share one budget, one after the other.  Run formation wants long runs: what is left after the
 * output buffers is divided by what a record costs (its place in the input areas and in the
 * element arrays).  Merging wants every run to have a block in memory: what is left after the output
 * buffers is divided by what a run costs (a block, a directory page, its share of the
 * conversion windows).  The block size couples both: small blocks let more runs be merged at once but
 * cost more requests.  So we try block sizes from large to small, and take the one with the least expected
 * time (plan_time.h).
 *
 * Several disks want more buffers, so that all of them have something to do, and runs want these blocks, too: so
 * several numbers of buffers for reading ahead and for the output compete by expected time as well.  Among them are
 * always the fewest that do, so nothing is impossible for want of others.
 */
#include "sort/plan_time.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "block/packer.h"
#include "block/prefetch.h"
#include "sort/form.h"
#include "sort/run.h"
#include "stream/source.h"

#define KIB ((uint64_t)1024)
#define MAX_BLOCK (1024 * KIB)
#define MAX_BLOCK_VARY (2048 * KIB)     /* records of any length: a task of a merge ends where one of its blocks does,
                                           and is a block that is cut short */
#define MIN_BLOCK (8 * KIB)
#define MAX_FAN_IN 8192u
#define RUN_ENDS 3u             /* of what is in use: where a run is freed, its directory is, and another begins; */
#define FEW_ENDS 4u             /* of what is being written */
#define MIN_WRITE 3u
#define MAX_WRITE 64u
#define WRITE_BYTES (32 * 1024 * KIB)   /* in flight at most; a disk behind a hypervisor wants many */
#define MAX_ROUNDS 100000          /* where the list of runs just fits, the square root of its length */
#define MIN_PREFETCH 2u
#define MAX_PREFETCH 32u
#define DISK_BUFFERS 8u                 /* with several disks: as many for each to read, and to write, are worth being
                                           weighed against others, ... */
#define STEP(n) ((n) / 8 + 1)           /* ... in such steps: by an eighth */
#define CLOSE 1.01                      /* an expected time that is not much more */
#define MAX_ORDERED 65536u              /* buffers that an order of fetching can be forced to be for */
#define ORDERED(read) ((read) * 3 / 10) /* of what is read ahead this part is for the order, after 2 for each disk
                                           (section 5 there, too) */
#define MAX_WINDOW 256u
#define MIN_WINDOW 8u
#define HOT_BYTES (512 * KIB)           /* about a bucket's size, well within a second-level cache */
#define LEAST_MIX 1024u                 /* records, with kernels of an order's own */
#define HOT_SHARE 32                    /* at most this part of the memory goes to it */
#define TASKS_AHEAD 3u                  /* merge tasks beside those that threads are at: the one who cuts them has
                                           transfers to begin, too, before it can cut more */
#define SEQ_BYTES 864u                  /* bookkeeping per run being merged, beside buffers; generous */
#define APART_BYTES (4 * KIB)           /* structs of a merge apart */
#define APART_AHEAD 3u                  /* block buffers for each of its runs, beside the one being merged */
#define FIXED_BYTES (84 * KIB)          /* structs, directory pages being written */

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
}

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bytes of memory per record while runs are formed. */
static uint64_t record_cost(const emi_plan *p, const emi_plan_input *in)
{
	return p->areas * (uint64_t)in->codec->record_bytes + p->elem_arrays * (uint64_t)in->codec->elem_bytes +
	       (in->codec->elem == EMI_ELEM_OWN ? sizeof(uint16_t) : 0);
}

static uint32_t disks(const emi_plan_input *in)
{
	return in->disks > 1 ? in->disks : 1;
}

/* Bytes for telling which space of the scratch disks is in use, while k runs are merged. */
static uint64_t bits_cost(const emi_plan *p, const emi_plan_input *in, uint64_t k)
{
	if (p->max_runs == 0)
		return 0;
	if (in->n == EMI_UNKNOWN)
		return p->memory / 64;
	return emi_scratch_bits(disks(in), in->n * (uint64_t)in->codec->record_bytes, FEW_ENDS + k * RUN_ENDS);
}

/* Bytes for partitions, one in another. */
static uint64_t partitions_cost(const emi_plan *p, const emi_plan_input *in)
{
	return emi_partition_room_bytes(p->threads) * (in->longest_record != 0 ? 1 : emi_former_levels(p->threads));
}

/* Bytes that both phases need whatever the number of runs. */
static uint64_t fixed_cost(const emi_plan *p, const emi_plan_input *in)
{
	return FIXED_BYTES + p->threads * (p->hot_bytes + (uint64_t)EMI_KERN_WORK) +
	       partitions_cost(p, in) + in->files_bytes +
	       ((uint64_t)p->write_buffers + in->spare_blocks) * (p->block_bytes + 2u * EMI_PAGE) +
	       p->packers * (p->block_bytes + EMI_PAGE) + emi_packer_memory(p->packers) +
	       (p->max_runs != 0 ? in->scratch_bytes : 0) + p->max_runs * sizeof(emi_run) +
	       p->areas * (uint64_t)EMI_SOURCE_SLACK;
}

/* Bytes of a block buffer of a merge. */
static uint64_t read_bytes(const emi_plan *p, const emi_plan_input *in)
{
	return in->longest > p->block_bytes ? page_up(in->longest) : p->block_bytes;
}

/* Bytes per run being merged. */
static uint64_t run_cost(const emi_plan *p, const emi_plan_input *in)
{
	return read_bytes(p, in) + EMI_DIR_BYTES + SEQ_BYTES +
	       p->tasks * (104u + p->window * (uint64_t)in->codec->elem_bytes);
}

/* The buffers that the order of fetching is computed for, of those that read ahead: the others are for a merge that
 * does not use blocks at one rate. */
static uint32_t ordered(const emi_plan_input *in, uint32_t read_buffers)
{
	const uint32_t least = 2 * in->disks;

	if (in->disks < 2 || in->naive)
		return 0;
	if (in->prefetch_buffers != 0)
		return in->prefetch_buffers;
	return read_buffers <= least ? read_buffers : least + ORDERED(read_buffers - least);
}

/* Bytes for reading k runs and for the tasks that merge them. */
static uint64_t input_cost(const emi_plan *p, const emi_plan_input *in, uint64_t k)
{
	return k * run_cost(p, in) + (uint64_t)(p->read_buffers + (p->packers != 0)) * read_bytes(p, in) +
	       emi_prefetch_window_memory(k, in->disks, p->prefetch_buffers) +
	       p->tasks * (MAX_WINDOW * (uint64_t)in->codec->elem_bytes + p->mix_bytes);
}

static uint64_t merge_cost(const emi_plan *p, const emi_plan_input *in, uint64_t k)
{
	return fixed_cost(p, in) + bits_cost(p, in, k) + input_cost(p, in, k);
}

/* Bytes that are not for records while runs are formed. */
static uint64_t form_fixed(const emi_plan *p, const emi_plan_input *in)
{
	return fixed_cost(p, in) + bits_cost(p, in, 0) + in->form_bytes +
	       in->form_blocks * (uint64_t)(p->block_bytes + 2u * EMI_PAGE);
}

static uint64_t form_cost(const emi_plan *p, const emi_plan_input *in, uint64_t records)
{
	uint64_t cost = record_cost(p, in), area = records * in->codec->record_bytes, fill = 0;

	if (records > (UINT64_MAX / 4) / cost || area > SIZE_MAX)
		return UINT64_MAX / 2;
	if (!in->pushed)
		fill = p->areas * (uint64_t)emi_fill_memory((size_t)area, p->block_bytes);
	return form_fixed(p, in) + records * cost + fill;
}

/* The most records that can be formed into a run. */
static uint64_t most_records(const emi_plan *p, const emi_plan_input *in)
{
	uint64_t fixed = form_fixed(p, in), cost = record_cost(p, in), records, over;

	records = fixed < p->memory ? (p->memory - fixed) / cost : 0;
	/* Their requests take memory, too, in proportion to them but much less. */
	while (records != 0 && form_cost(p, in, records) > p->memory) {
		over = form_cost(p, in, records) - p->memory;
		records -= min64(records, over / cost + 1);
	}
	return records;
}

/* As many output buffers as are worth having. */
static uint32_t wanted_write_buffers(const emi_plan *p, const emi_plan_input *in)
{
	const uint64_t few = 2 * (uint64_t)p->threads + 4, many = disks(in) * (WRITE_BYTES / p->block_bytes);
	const uint64_t most = disks(in) * (uint64_t)MAX_WRITE;
	uint64_t want = in->write_behind ? most : few > many ? few : min64(many, most);

	want = min64(want, p->memory / 8 / p->block_bytes);
	return want < MIN_WRITE ? MIN_WRITE : want < 2 * disks(in) ? 2 * disks(in) : (uint32_t)want;
}

/* The next number of output buffers to be tried after n, which are more than the least: for several disks, not all. */
static uint32_t fewer_write_buffers(const emi_plan_input *in, uint32_t n)
{
	const uint32_t many = DISK_BUFFERS * disks(in);

	if (disks(in) == 1)
		return n - 1;
	if (n > many)
		return many;
	return n > MIN_WRITE + STEP(n) ? n - STEP(n) : MIN_WRITE;
}

/* Everything but the fan-in for a given block size; 0 when it does not fit. */
static int plan_runs(emi_plan *p, const emi_plan_input *in)
{
	int round;

	p->areas = 1;
	p->max_runs = 0;
	if (in->n != EMI_UNKNOWN && in->run_records == 0 && form_cost(p, in, in->n) <= p->memory) {
		p->runs = 0;
		p->run_records = in->n;
		return 1;
	}
	p->areas = in->pushed ? 1 : 2;
	p->max_runs = in->n == EMI_UNKNOWN ? p->memory / 64 / sizeof(emi_run) + 16 : 16;
	/* The list of runs takes memory from the runs, which makes them more.  Going up from too short a list
	 * step by step ends at the shortest that does. */
	for (round = 0; round < MAX_ROUNDS; round++) {
		uint64_t need;

		if (in->run_records != 0) {
			p->run_records = in->run_records;
			if (in->n != EMI_UNKNOWN)
				p->run_records = min64(p->run_records, in->n + !in->n);
		} else {
			p->run_records = most_records(p, in);
		}
		if (p->run_records == 0 || p->run_records < in->min_records)
			return 0;
		if (in->n == EMI_UNKNOWN)
			break;
		need = in->n / p->run_records + 2;
		if (need <= p->max_runs)
			break;
		if (need > p->memory)
			return 0;
		p->max_runs = need;
	}
	if (round == MAX_ROUNDS)
		return 0;
	p->runs = in->n == EMI_UNKNOWN ? EMI_UNKNOWN : (in->n + p->run_records - 1) / p->run_records;
	return form_cost(p, in, p->run_records) <= p->memory;
}

/* Which order blocks are fetched in.  What that takes is a fraction of a buffer or two, which it may have if they are
 * not forced; it is no reason for another plan. */
static int plan_window(emi_plan *p, const emi_plan_input *in)
{
	for (;;) {
		p->prefetch_buffers = ordered(in, p->read_buffers);
		if (merge_cost(p, in, p->fan_in) <= p->memory)
			return 1;
		if (in->read_buffers != 0 || p->read_buffers <= MIN_PREFETCH)
			break;
		p->read_buffers--;
	}
	p->prefetch_buffers = 0;
	return in->prefetch_buffers == 0;
}

/* Runs are much alike, so that all of them want their next blocks at about the same time: there may be as many buffers
 * for that (Dementiev and Sanders 2003, section 2.3: k + 3D). */
static uint32_t most_ahead(const emi_plan *p, const emi_plan_input *in)
{
	const uint32_t all = p->fan_in + 3 * disks(in), usual = disks(in) * MAX_PREFETCH;

	return all > usual ? all : usual;
}

/* The most runs that can be merged.  Space takes memory for each of them, or, where there is little, for all of it. */
static uint64_t most_runs(const emi_plan *p, const emi_plan_input *in)
{
	const uint64_t least = merge_cost(p, in, 0), left = least < p->memory ? p->memory - least : 0;
	const uint64_t bits = bits_cost(p, in, 0);
	const uint64_t each = bits_cost(p, in, 1) - bits, all = bits_cost(p, in, MAX_FAN_IN) - bits;
	const uint64_t a = left / (run_cost(p, in) + each), b = left > all ? (left - all) / run_cost(p, in) : 0;

	return min64(a > b ? a : b, MAX_FAN_IN);
}

/* The fan-in and the buffers around it for a given block size, at least so many of them to read ahead; 0 when fewer
 * than two runs fit. */
static int plan_merge_with(emi_plan *p, const emi_plan_input *in, uint32_t read_buffers)
{
	uint64_t k, wanted = p->runs == EMI_UNKNOWN ? MAX_FAN_IN : p->runs < 2 ? 2 : min64(p->runs, MAX_FAN_IN);

	p->read_buffers = read_buffers;
	p->prefetch_buffers = 0;
	if (in->fan_in != 0)
		wanted = min64(wanted, in->fan_in);
	p->window = in->codec->identity ? 0 : MAX_WINDOW;
	for (;;) {
		k = most_runs(p, in);
		if (k >= wanted || p->window <= MIN_WINDOW)
			break;
		p->window /= 2;
	}
	if (k < 2 || (in->fan_in != 0 && k < min64(in->fan_in, wanted)))
		return 0;
	p->fan_in = (uint32_t)min64(k, wanted);
	if (in->read_buffers == 0) {
		uint64_t more = (p->memory - merge_cost(p, in, p->fan_in)) / read_bytes(p, in);

		/* The number of runs is a guess when nobody knows n: then prefetching gets its share first. */
		if (p->runs == EMI_UNKNOWN && in->fan_in == 0 && k > 16) {
			more = p->fan_in / 4;
			p->fan_in -= (uint32_t)more;
		}
		p->read_buffers += (uint32_t)min64(more, most_ahead(p, in) - p->read_buffers);
	}
	return plan_window(p, in);
}

/* The same with as many to read ahead as make for the least expected time. */
static int plan_merge(emi_plan *p, const emi_plan_input *in)
{
	const uint32_t most = DISK_BUFFERS * disks(in);
	uint32_t read;
	emi_plan q;

	if (!plan_merge_with(p, in, in->read_buffers != 0 ? in->read_buffers : MIN_PREFETCH))
		return 0;
	/* There may be as many without asking for them, and one disk has no use for more than runs leave. */
	if (in->read_buffers != 0 || disks(in) == 1 || p->read_buffers >= most)
		return 1;
	for (read = MIN_PREFETCH + 1; read <= most; read += STEP(read)) {
		q = *p;
		if (!plan_merge_with(&q, in, read))
			break;
		if (emi_plan_time(&q, in) < emi_plan_time(p, in))
			*p = q;
	}
	return 1;
}

/* Kernels of an order's own can mix by smaller pieces, too. */
static size_t mix_bytes(const emi_plan *p, const emi_plan_input *in)
{
	const uint64_t most = p->memory / HOT_SHARE / p->tasks;
	size_t bytes = 2 * EMI_MIX * in->codec->elem_bytes;

	if (!in->mixes)
		return 0;
	while (in->codec->elem == EMI_ELEM_OWN && bytes > most && bytes > 2 * LEAST_MIX * in->codec->elem_bytes)
		bytes /= 2;
	return bytes <= most ? bytes : 0;
}

/* Merge tasks in flight that are worth having: each has about a block of what is read in hand, and memory to mix in,
 * which are to be a small part of all. */
static uint32_t wanted_tasks(const emi_plan *p, const emi_plan_input *in)
{
	const uint64_t block = p->block_bytes, mix = 2 * EMI_MIX * in->codec->elem_bytes;
	const uint32_t many = p->threads + TASKS_AHEAD;

	if (p->tasks == 1 || many * (block > mix ? block : mix) > p->memory / HOT_SHARE)
		return p->tasks;
	return many;
}

/* A plan with blocks of this size and so many output buffers, with memory that only saves time or without, if it
 * fits. */
static int fits_with(emi_plan *p, const emi_plan_input *in, uint64_t block_bytes, uint32_t write_buffers, int saves)
{
	uint64_t r = in->codec->record_bytes;

	memset(p, 0, sizeof *p);
	p->memory = in->memory;
	p->threads = in->threads;
	p->tasks = p->threads > 1 ? p->threads + 1 : 1;
	p->block_records = (size_t)(block_bytes / r);
	p->block_bytes = (size_t)page_up(p->block_records * r);
	if (in->block_bytes != 0)
		p->block_bytes = (size_t)in->block_bytes;
	p->elem_arrays = emi_codec_in_place(in->codec) ? 1 : 2;
	p->write_buffers = write_buffers;
	if (saves && p->threads * HOT_BYTES <= p->memory / HOT_SHARE)
		p->hot_bytes = HOT_BYTES;
	if (saves) {
		p->tasks = wanted_tasks(p, in);
		p->mix_bytes = mix_bytes(p, in);
	}
	if (in->packs == 2 || (in->packs == 1 && saves && p->threads * p->block_bytes <= p->memory / HOT_SHARE))
		p->packers = p->threads;
	if (!plan_runs(p, in))
		return 0;
	if (p->runs == 0)
		p->fan_in = 0;
	else if (!plan_merge(p, in))
		return 0;
	p->peak = form_cost(p, in, p->run_records);
	if (p->runs != 0 && merge_cost(p, in, p->fan_in) > p->peak)
		p->peak = merge_cost(p, in, p->fan_in);
	return 1;
}

/* What only saves time is not to be the reason why a plan does not fit, or why it needs another pass. */
static int fits(emi_plan *p, const emi_plan_input *in, uint64_t block_bytes, uint32_t write_buffers)
{
	emi_plan q;

	if (!fits_with(p, in, block_bytes, write_buffers, 0))
		return 0;
	if (fits_with(&q, in, block_bytes, write_buffers, 1) && emi_plan_time(&q, in) <= CLOSE * emi_plan_time(p, in))
		*p = q;
	return 1;
}

/* Tasks of a merge keep the blocks that they use up until they are done: if there are no buffers but for these, threads
 * wait for one another. */
static int is_crowded(const emi_plan *p)
{
	return p->tasks > 1 && p->runs != 0 && p->read_buffers < p->tasks + MIN_PREFETCH;
}

/* Is q the better one?  If they are as good, the one whose threads do not wait is, or that with more output buffers. */
static int better(const emi_plan *q, const emi_plan *p, const emi_plan_input *in)
{
	const double a = emi_plan_time(q, in), b = emi_plan_time(p, in);

	if (a <= b && a >= b && is_crowded(q) != is_crowded(p))
		return is_crowded(p);
	return a < b || (a <= b && q->write_buffers > p->write_buffers);
}

/* With blocks of this size, any plan, or the best one. */
static int try_block(emi_plan *p, const emi_plan_input *in, uint64_t block_bytes, int any)
{
	const uint32_t least = in->write_buffers != 0 ? in->write_buffers : MIN_WRITE;
	uint32_t more;
	emi_plan q;

	if (block_bytes < in->codec->record_bytes)
		return 0;
	if (any)
		return fits_with(p, in, block_bytes, least, 0);
	if (!fits(p, in, block_bytes, least))
		return 0;
	/* More output buffers are good, but not at the price of another pass: so more memory is never worse. */
	for (more = in->write_buffers != 0 ? 0 : wanted_write_buffers(p, in); more > MIN_WRITE;
	     more = fewer_write_buffers(in, more)) {
		if (!fits(&q, in, block_bytes, more) || !better(&q, p, in))
			continue;
		*p = q;
		/* One disk is no busier with others. */
		if (disks(in) == 1)
			break;
	}
	return 1;
}

int emi_plan_merging(emi_plan *plan, const emi_plan_input *in, uint64_t runs, uint64_t kept)
{
	emi_plan p = *plan, was;

	/* What held for any number of runs holds for this one; were it not so, the first plan stands. */
	p.runs = runs;
	p.memory = kept < plan->memory ? plan->memory - kept : 0;
	was = p;
	if (!plan_merge(&p, in))
		return 0;
	/* Fewer runs have larger windows, which may leave less for several disks. */
	if (merge_cost(&was, in, was.fan_in) <= was.memory && emi_plan_time(&was, in) < emi_plan_time(&p, in))
		p = was;
	p.memory = plan->memory;
	*plan = p;
	return 1;
}

/* Bytes of a merge apart from its sort, which has output buffers of its own. */
static uint64_t apart_cost(const emi_plan *p, const emi_plan_input *in, uint64_t k)
{
	return APART_BYTES + input_cost(p, in, k) + p->write_buffers * ((uint64_t)p->block_bytes + 2u * EMI_PAGE);
}

/* The fewest buffers and tasks with which runs can be merged. */
static emi_plan apart_least(const emi_plan *plan, const emi_plan_input *in)
{
	emi_plan p = *plan;

	p.tasks = 1;
	p.window = in->codec->identity ? 0 : MIN_WINDOW;
	p.mix_bytes = 0;
	p.read_buffers = MIN_PREFETCH;
	p.prefetch_buffers = 0;
	p.write_buffers = MIN_WRITE;
	return p;
}

uint64_t emi_plan_apart_least(const emi_plan *plan, const emi_plan_input *in, uint64_t k)
{
	const emi_plan p = apart_least(plan, in);

	return apart_cost(&p, in, k);
}

/* Have q in place of p, if there is memory for it. */
static int take_if_fits(emi_plan *p, const emi_plan *q, const emi_plan_input *in, uint32_t k, uint64_t memory)
{
	if (apart_cost(q, in, k) > memory)
		return 0;
	*p = *q;
	return 1;
}

/* Buffers beyond the fewest: so that no task waits for another one, and runs are read ahead. */
static void more_buffers(emi_plan *p, const emi_plan_input *in, uint32_t k, uint64_t memory)
{
	const uint64_t ahead = APART_AHEAD * (uint64_t)k + DISK_BUFFERS * disks(in) + p->tasks;
	const uint64_t out = (uint64_t)p->block_bytes + 2u * EMI_PAGE;
	uint64_t more;

	p->fan_in = k;
	more = (memory - apart_cost(p, in, k)) / 4 / out;
	p->write_buffers += (uint32_t)min64(more, 2 * (uint64_t)p->threads + 1);
	more = (memory - apart_cost(p, in, k)) / read_bytes(p, in);
	p->read_buffers += (uint32_t)min64(more, ahead - p->read_buffers);
	for (; p->read_buffers > MIN_PREFETCH; p->read_buffers--) {
		p->prefetch_buffers = ordered(in, p->read_buffers);
		if (apart_cost(p, in, k) <= memory)
			return;
	}
	p->prefetch_buffers = 0;
}

int emi_plan_apart(emi_plan *plan, const emi_plan_input *in, uint32_t k, uint64_t memory)
{
	emi_plan p = apart_least(plan, in), q = p;

	if (apart_cost(&p, in, k) > memory)
		return 0;
	/* First the threads, and what keeps each of them busy. */
	if (plan->tasks > 1) {
		q.tasks = plan->threads + 1;
		q.read_buffers = q.tasks + MIN_PREFETCH;
		(void)take_if_fits(&p, &q, in, k, memory);
	}
	for (q = p; p.window != 0 && p.window < MAX_WINDOW; q = p) {
		q.window *= 2;
		if (!take_if_fits(&p, &q, in, k, memory))
			break;
	}
	q = p;
	q.mix_bytes = plan->mix_bytes;
	(void)take_if_fits(&p, &q, in, k, memory);
	q = p;
	q.tasks = p.tasks > 1 ? plan->tasks : 1;
	(void)take_if_fits(&p, &q, in, k, memory / 2);
	more_buffers(&p, in, k, memory);
	*plan = p;
	return 1;
}

static int choose_block(emi_plan *plan, const emi_plan_input *in, int any)
{
	uint64_t r = in->codec->record_bytes, block;
	emi_plan p;
	int found = 0;

	for (block = in->longest_record != 0 ? MAX_BLOCK_VARY : MAX_BLOCK; block >= MIN_BLOCK && !(found && any);
	     block /= 2) {
		if (!try_block(&p, in, block, any))
			continue;
		if (!found || emi_plan_time(&p, in) < emi_plan_time(plan, in))
			*plan = p;
		found = 1;
	}
	/* Records larger than any of these get blocks of their own size. */
	return found || (r > MIN_BLOCK && try_block(plan, in, page_up(r), any));
}

/* Any plan there is, or the best one. */
static int choose(emi_plan *plan, const emi_plan_input *in, int any)
{
	emi_plan_input usual = *in;
	emi_plan p;
	int found;

	if (in->block_bytes != 0)
		return try_block(plan, in, in->block_bytes, any);
	found = choose_block(plan, in, any);
	if (in->usual_block == 0 || (found && any))
		return found;
	usual.block_bytes = in->usual_block;
	if (!try_block(&p, &usual, in->usual_block, any) ||
	    (found && emi_plan_rounds(&p, in) > CLOSE * emi_plan_rounds(plan, in)))
		return found;
	*plan = p;
	return 1;
}

int emi_plan_fits(const emi_plan_input *in)
{
	emi_plan p;

	return choose(&p, in, 1);
}

uint64_t emi_plan_least(const emi_plan_input *in)
{
	emi_plan_input t = *in;
	uint64_t lo = 0, hi = 64 * KIB;
	emi_plan p;

	for (t.memory = hi; !choose(&p, &t, 1); t.memory = hi) {
		lo = hi;
		if (hi > UINT64_MAX / 4)
			return UINT64_MAX;
		hi *= 2;
	}
	while (hi - lo > 4 * KIB) {
		t.memory = lo + (hi - lo) / 2;
		if (choose(&p, &t, 1))
			hi = t.memory;
		else
			lo = t.memory;
	}
	return page_up(hi);
}

em_status emi_plan_check(const emi_plan_input *in, em_errinfo *err)
{
	uint64_t r = in->codec->record_bytes;

	if (in->block_bytes != 0 && in->block_bytes % EMI_PAGE != 0)
		return emi_fail(err, EM_ERR_INVAL, "block size %llu is not a multiple of %u",
				(unsigned long long)in->block_bytes, EMI_PAGE);
	if (in->block_bytes != 0 && in->block_bytes < r)
		return emi_fail(err, EM_ERR_INVAL, "block size %llu does not hold a record of %llu bytes",
				(unsigned long long)in->block_bytes, (unsigned long long)r);
	if (in->block_bytes > (uint64_t)1 << 30)
		return emi_fail(err, EM_ERR_INVAL, "block size %llu is above 1 GiB",
				(unsigned long long)in->block_bytes);
	if (in->fan_in == 1 || in->fan_in > MAX_FAN_IN)
		return emi_fail(err, EM_ERR_INVAL, "fan-in %u is not between 2 and %u", (unsigned)in->fan_in,
				MAX_FAN_IN);
	if (in->prefetch_buffers > MAX_ORDERED)
		return emi_fail(err, EM_ERR_INVAL, "%u buffers for prefetching are more than %u",
				(unsigned)in->prefetch_buffers, MAX_ORDERED);
	if (in->write_buffers == 1)
		return emi_fail(err, EM_ERR_INVAL, "one output buffer is too few");
	return EM_OK;
}

em_status emi_plan_make(emi_plan *plan, const emi_plan_input *in, em_errinfo *err)
{
	em_status st = emi_plan_check(in, err);
	uint64_t least;

	if (st != EM_OK)
		return st;
	if (choose(plan, in, 0))
		return EM_OK;
	least = emi_plan_least(in);
	return emi_fail_memory(err, least, "%llu bytes of memory are too few for this sort",
			       (unsigned long long)in->memory);
}
