/* SPDX-License-Identifier: BSL-1.0 */
/*
 * progress.c -- names of phases.
 */
#include <extmem/progress.h>

const char *em_phase_name(uint32_t phase)
{
	switch (phase) {
	case EM_PHASE_RUNS:
		return "runs";
	case EM_PHASE_MERGE:
		return "merge";
	case EM_PHASE_OUTPUT:
		return "output";
	default:
		return "?";
	}
}
