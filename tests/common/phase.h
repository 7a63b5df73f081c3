/* SPDX-License-Identifier: BSL-1.0 */
/* phase.h -- the phases of a sort, in its statistics.  Behind cmocka.h. */
#ifndef EM_TEST_PHASE_H
#define EM_TEST_PHASE_H

#include <extmem/sort.h>

/* So many there are. */
#define TEST_PHASES (EM_PHASE_OUTPUT + 1)

/* That phase of statistics that were filled; else the test fails. */
static inline em_phase_stats test_phase(const em_sort_stats *stats, uint32_t phase)
{
	em_phase_stats p = EM_PHASE_STATS_INIT;

	assert_int_equal(em_sort_stats_phase(stats, phase, &p), EM_OK);
	return p;
}

#endif
