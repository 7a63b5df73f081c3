/* SPDX-License-Identifier: BSL-1.0 */
/*
 * phase_stats.h -- what em_sort_stats keeps of each phase, which only em_sort_stats_phase() can tell.
 *
 * Neither phases nor what is known of one are fields of em_sort_stats, so that there may be more of both.
 */
#ifndef EMI_PHASE_STATS_H
#define EMI_PHASE_STATS_H

#include <extmem/sort.h>

/* Keep those of so many phases. */
void emi_phases_put(em_sort_stats *stats, const em_phase_stats *phase, uint32_t n);

#endif
