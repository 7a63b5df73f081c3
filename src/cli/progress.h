/* SPDX-License-Identifier: BSL-1.0 */
/*
 * progress.h -- the progress bar.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

/* When to show it. */
enum { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

typedef struct progress {
	int on;                 /* shown at all */
	int drawn;              /* something stands on the line */
	const char *name;       /* of the phase, NULL before the first */
	double phase_start;
	double next;            /* no drawing before */
} progress;

/* mode PROGRESS_AUTO shows it when standard error is a terminal. */
void progress_open(progress *p, int mode);

/* done of total bytes of the phase called name; total may be 0: unknown.  Cheap when it is not time to draw. */
void progress_update(progress *p, const char *name, uint64_t done, uint64_t total);

/* Clear the line, for a message to be printed; the bar comes back. */
void progress_clear(progress *p);

/* Clear the line for good. */
void progress_close(progress *p);

/* Seconds on a clock that only goes forward. */
double monotonic_seconds(void);

#endif
