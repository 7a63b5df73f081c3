/* SPDX-License-Identifier: BSL-1.0 */
/*
 * events.c -- a simulation whose pending events are in a radix heap, which goes to disk when there are too many.
 *
 * Machines run until they fail, and wait until they are repaired.  Each has one event pending: when it fails, or when
 * it runs again.  The next event is always the earliest one, and what follows from it is later, but by no more than a
 * year.  That is all that a radix heap asks for.  Build it against an installed library with
 *
 *	cc -O2 events.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define MACHINES 1000000u
#define YEAR 31536000u                  /* seconds */
#define YEARS 2u
#define REPAIR_MOST 86400u              /* seconds that a repair takes at most */

typedef struct event {
	uint64_t time;                  /* in seconds from the beginning */
	uint32_t machine;
	uint32_t fails;                 /* 1: it fails then; 0: it runs again */
} event;

static void check(em_status status, const char *what, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "events: %s: %s\n", what, err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static void check_heap(em_status status, const char *what, const em_radix_heap *heap)
{
	em_errinfo err;

	if (status >= 0)
		return;
	em_radix_heap_error(heap, &err);
	check(status, what, &err);
}

/* A generator that is good enough for this: xorshift. */
static uint64_t draw(uint64_t *state, uint64_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % n;
}

int main(void)
{
	em_radix_heap_opts opts = EM_RADIX_HEAP_OPTS_INIT;
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	uint64_t state = 88172645463325252u, failures = 0, down = 0, now = 0, i;
	em_radix_heap *pending;
	em_errinfo err = EM_ERRINFO_INIT;
	em_status status;
	em_ctx *ctx;
	event e;

	ctx_opts.memory = (uint64_t)32 << 20;
	ctx_opts.errinfo = &err;
	check(em_ctx_open(&ctx, &ctx_opts), "context", &err);

	opts.record_bytes = sizeof(event);
	opts.key_offset = offsetof(event, time);
	opts.range = YEAR;              /* nothing is planned further ahead */
	opts.memory_bytes = (uint64_t)8 << 20; /* half of what a million events take */
	opts.errinfo = &err;
	check(em_radix_heap_open(&pending, ctx, &opts), "heap", &err);

	for (i = 0; i < MACHINES; i++) {
		e.time = draw(&state, YEAR);
		e.machine = (uint32_t)i;
		e.fails = 1;
		check_heap(em_radix_heap_push(pending, &e), "push", pending);
	}
	while ((status = em_radix_heap_pop(pending, &e)) == EM_OK) {
		if (e.time < now) {
			fprintf(stderr, "events: time goes back\n");
			return EXIT_FAILURE;
		}
		now = e.time;
		if (now >= (uint64_t)YEARS * YEAR)
			break;
		if (e.fails) {
			const uint64_t repair = 1 + draw(&state, REPAIR_MOST);

			failures++;
			down += repair;
			e.time = now + repair;
		} else {
			e.time = now + 1 + draw(&state, YEAR);
		}
		e.fails = !e.fails;
		check_heap(em_radix_heap_push(pending, &e), "push", pending);
	}
	check_heap(status, "pop", pending);
	if (em_radix_heap_size(pending) != MACHINES - 1) {
		fprintf(stderr, "events: events are missing\n");
		return EXIT_FAILURE;
	}
	printf("%" PRIu64 " failures of %u machines in %u years, %.0f seconds down for each of them\n", failures,
	       MACHINES, YEARS, (double)down / (double)failures);
	em_radix_heap_close(pending);
	em_ctx_close(ctx);
	return EXIT_SUCCESS;
}
