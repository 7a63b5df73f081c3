/* SPDX-License-Identifier: BSL-1.0 */
/*
 * progress.c -- the progress bar.
 *
 *     runs    [=========>                ]  37%  1.48 GiB  912 MiB/s  0:02
 *
 * A line on standard error that is drawn over itself at most ten times a second and cleared at the end.
 * What stands behind the bar is the phase's volume so far, its rate, and the time the phase still needs.
 * A phase of unknown length has no bar.  On a terminal nothing is shown before half a second
 * has passed: short work needs no bar.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/progress.h"
#include "cli/size.h"

#define LINE_MAX_WIDTH 160 /* a longer bar says no more */

double monotonic_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int terminal_width(void)
{
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) || ws.ws_col == 0)
		return 80;
	return ws.ws_col < LINE_MAX_WIDTH ? ws.ws_col : LINE_MAX_WIDTH;
}

void progress_open(progress *p, int mode)
{
	memset(p, 0, sizeof(*p));
	p->on = mode == PROGRESS_ALWAYS || (mode == PROGRESS_AUTO && isatty(STDERR_FILENO));
	p->next = monotonic_seconds() + (mode == PROGRESS_ALWAYS ? 0 : 0.5);
}

/* "0:07", "12:34", "3:00:00" */
static void format_time(double seconds, char out[SIZE_TEXT])
{
	uint64_t s = seconds < 3.6e9 ? (uint64_t)(seconds + 0.5) : UINT64_C(3600000000);

	if (s < 3600)
		snprintf(out, SIZE_TEXT, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
	else
		snprintf(out, SIZE_TEXT, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60, s % 60);
}

static void draw(progress *p, uint64_t done, uint64_t total, double elapsed)
{
	char line[LINE_MAX_WIDTH + 64], tail[4 * SIZE_TEXT], volume[SIZE_TEXT], speed[SIZE_TEXT], eta[SIZE_TEXT];
	const double rate = elapsed > 0 ? (double)done / elapsed : 0;
	const int width = terminal_width() - 1; /* the last column would wrap on some terminals */
	int n, bar, full, i;

	size_format((double)done, volume);
	size_format(rate, speed);
	if (total) {
		if (rate > 0)
			format_time((double)(total - done) / rate, eta);
		else
			snprintf(eta, sizeof(eta), "-:--");
		snprintf(tail, sizeof(tail), " %3d%%  %8s  %8s/s  %s", (int)((double)done / (double)total * 100),
			 volume, speed, eta);
	} else {
		snprintf(tail, sizeof(tail), "  %8s  %8s/s", volume, speed);
	}

	n = snprintf(line, sizeof(line), "\r%-8.20s", p->name);
	bar = width - (n - 1) - (int)strlen(tail) - 2;
	if (total && bar >= 5) {
		full = (int)((double)done / (double)total * bar);
		line[n++] = '[';
		for (i = 0; i < bar; i++)
			line[n++] = i < full ? '=' : i == full ? '>' : ' ';
		line[n++] = ']';
	}
	snprintf(line + n, sizeof(line) - (size_t)n, "%s", tail);
	n = (int)strlen(line);
	if (n > width + 1)
		n = width + 1;
	if (n < 1)
		return;
	memcpy(line + n, "\033[K", 4);
	fputs(line, stderr);
	p->drawn = 1;
}

void progress_update(progress *p, const char *name, uint64_t done, uint64_t total)
{
	double now;

	if (!p->on)
		return;
	now = monotonic_seconds();
	if (!p->name || strcmp(p->name, name)) {
		p->name = name;
		p->phase_start = now;
	}
	if (now < p->next)
		return;
	p->next = now + 0.1;
	draw(p, total && done > total ? total : done, total, now - p->phase_start);
}

void progress_clear(progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = 0;
}

void progress_close(progress *p)
{
	progress_clear(p);
	p->on = 0;
}
