/* SPDX-License-Identifier: BSL-1.0 */
/* preload_ways.h -- in which ways the calls of the system fail. */
#ifndef CLI_PRELOAD_WAYS_H
#define CLI_PRELOAD_WAYS_H

#include <stddef.h>

/* How the command may end: it may fail, leaving all as it was; or when the output is in its place already; or it must
 * not, and does its work none the less. */
enum { SWEEP_MAY, SWEEP_LATE, SWEEP_MUST_NOT };

typedef struct sweep_way {
	const char *call;       /* as preload.c names it */
	int how;                /* an errno, PRELOAD_SHORT or PRELOAD_ZERO */
	int for_good;           /* those behind it fail, too */
	int end;                /* SWEEP_... */
} sweep_way;

extern const sweep_way sweep_ways[];
extern const size_t sweep_ways_count;

#endif
