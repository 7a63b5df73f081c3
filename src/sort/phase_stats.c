/* SPDX-License-Identifier: BSL-1.0 */
/*
 * phase_stats.c -- see phase_stats.h.
 *
 * em_sort_stats.phases begins with the number of phases; behind it each has a row of figures.
 */
#include "sort/phase_stats.h"

#include <string.h>

#include "base/json.h"
#include "base/structs.h"
#include "sort/watch.h"

enum { SECONDS, CPU_SECONDS, IO_WAIT, BYTES_READ, BYTES_WRITTEN, IOS_READ, IOS_WRITTEN, FIGURES };

/* So many phases have room; what an older caller gives to em_sort_stats_phase() has no more. */
#define ROOM ((EMI_END(em_sort_stats, phases) - offsetof(em_sort_stats, phases)) / sizeof(uint64_t) - 1)
#define MOST (ROOM / FIGURES)

typedef char phases_have_room[EMI_PHASES <= MOST ? 1 : -1];

static uint64_t bits(double x)
{
	uint64_t u;

	memcpy(&u, &x, sizeof u);
	return u;
}

static double number(uint64_t u)
{
	double x;

	memcpy(&x, &u, sizeof x);
	return x;
}

void emi_phases_put(em_sort_stats *stats, const em_phase_stats *phase, uint32_t n)
{
	uint64_t *row = stats->phases + 1;
	uint32_t i;

	stats->phases[0] = n;
	for (i = 0; i < n; i++, row += FIGURES) {
		row[SECONDS] = bits(phase[i].seconds);
		row[CPU_SECONDS] = bits(phase[i].cpu_seconds);
		row[IO_WAIT] = bits(phase[i].io_wait);
		row[BYTES_READ] = phase[i].bytes_read;
		row[BYTES_WRITTEN] = phase[i].bytes_written;
		row[IOS_READ] = phase[i].ios_read;
		row[IOS_WRITTEN] = phase[i].ios_written;
	}
}

em_status em_sort_stats_phase(const em_sort_stats *stats, uint32_t phase, em_phase_stats *out)
{
	em_phase_stats p = EM_PHASE_STATS_INIT;
	em_status st = EMI_STRUCT_CHECK(em_sort_stats, stats, NULL);
	const uint64_t *row;

	if (st == EM_OK)
		st = EMI_STRUCT_CHECK(em_phase_stats, out, NULL);
	if (st != EM_OK)
		return st;
	if (phase >= stats->phases[0] || phase >= MOST)
		return EM_END;
	row = stats->phases + 1 + (size_t)phase * FIGURES;
	p.seconds = number(row[SECONDS]);
	p.cpu_seconds = number(row[CPU_SECONDS]);
	p.io_wait = number(row[IO_WAIT]);
	p.bytes_read = row[BYTES_READ];
	p.bytes_written = row[BYTES_WRITTEN];
	p.ios_read = row[IOS_READ];
	p.ios_written = row[IOS_WRITTEN];
	return EMI_STRUCT_GIVE(em_phase_stats, out, &p);
}

static void put_phase(emi_json *j, uint32_t phase, const em_phase_stats *p)
{
	emi_json_open(j, '{');
	emi_json_key(j, "name");
	emi_json_text(j, em_phase_name(phase));
	emi_json_fields(j, "em_phase_stats", p);
	emi_json_close(j, '}');
}

size_t em_sort_stats_json(const em_sort_stats *of, char *to, size_t bytes)
{
	const em_status st = EMI_STRUCT_CHECK(em_sort_stats, of, NULL);
	em_phase_stats p = EM_PHASE_STATS_INIT;
	emi_json j;
	uint32_t i;

	emi_json_begin(&j, to, bytes);
	if (st != EM_OK)
		return 0;
	emi_json_open(&j, '{');
	emi_json_fields(&j, "em_sort_stats", of);
	emi_json_key(&j, "phases");
	emi_json_open(&j, '[');
	for (i = 0; em_sort_stats_phase(of, i, &p) == EM_OK; i++)
		if (p.seconds > 0 || p.bytes_read != 0 || p.bytes_written != 0)
			put_phase(&j, i, &p);
	emi_json_close(&j, ']');
	emi_json_close(&j, '}');
	return emi_json_end(&j);
}
