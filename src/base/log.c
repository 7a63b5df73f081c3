/* SPDX-License-Identifier: BSL-1.0 */
/*
 * log.c -- see log.h.
 *
 * Lines are pushed to a list without a lock, as those who log may hold any, and taken from it all at once.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"

#define LINE_ROOM 512
#define KEPT_MOST 256u          /* lines; more are lost, and that is told */

struct emi_log_line {
	struct emi_log_line *next; /* an older one */
	int32_t level;
	char text[LINE_ROOM];
};

/* One for which there is no memory is lost. */
static void keep(em_ctx *ctx, int32_t level, const char *text)
{
	struct emi_log_line *line = NULL;

	if (__atomic_add_fetch(&ctx->lines_kept, 1, __ATOMIC_RELAXED) <= KEPT_MOST)
		line = emi_alloc(ctx, sizeof *line, NULL);
	if (line == NULL) {
		__atomic_sub_fetch(&ctx->lines_kept, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&ctx->lines_lost, 1, __ATOMIC_RELAXED);
		return;
	}
	line->level = level;
	memcpy(line->text, text, strlen(text) + 1);
	line->next = __atomic_load_n(&ctx->lines, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&ctx->lines, &line->next, line, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Take all lines, the oldest first. */
static struct emi_log_line *take(em_ctx *ctx)
{
	struct emi_log_line *newest = __atomic_exchange_n(&ctx->lines, NULL, __ATOMIC_ACQUIRE), *oldest = NULL;

	while (newest != NULL) {
		struct emi_log_line *next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	return oldest;
}

static void tell(em_ctx *ctx, int aloud)
{
	struct emi_log_line *line = take(ctx), *next;
	char text[64];
	uint32_t lost;

	for (; line != NULL; line = next) {
		next = line->next;
		if (aloud)
			ctx->log(ctx->log_user, line->level, line->text);
		emi_free(ctx, line, sizeof *line);
		__atomic_sub_fetch(&ctx->lines_kept, 1, __ATOMIC_RELAXED);
	}
	lost = __atomic_exchange_n(&ctx->lines_lost, 0, __ATOMIC_RELAXED);
	if (lost == 0 || !aloud)
		return;
	snprintf(text, sizeof text, "%lu lines of the log were lost", (unsigned long)lost);
	ctx->log(ctx->log_user, EM_LOG_WARN, text);
}

void emi_log_tell_all(em_ctx *ctx)
{
	if (!emi_thread_is_ours() && !emi_ctx_forked(ctx))
		tell(ctx, 1);
}

void emi_log_end(em_ctx *ctx)
{
	if (ctx->log != NULL)
		tell(ctx, !emi_ctx_forked(ctx));
}

void emi_log(const em_ctx *ctx, int32_t level, const char *fmt, ...)
{
	char line[LINE_ROOM];
	em_ctx *own = (em_ctx *)(uintptr_t)ctx;
	va_list ap;

	if (ctx->log == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if ((ctx->flags & EM_CTX_LOG_CALLER) != 0 && emi_thread_is_ours()) {
		keep(own, level, line);
		return;
	}
	emi_log_tell(own);
	ctx->log(ctx->log_user, level, line);
}
