/* SPDX-License-Identifier: BSL-1.0 */
/* leftovers.c -- see leftovers.h. */
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "base/leftovers.h"

em_status emi_leftovers_lock(em_ctx *ctx, em_errinfo *err)
{
	em_status st = emi_ctx_check(ctx, err);

	if (st != EM_OK)
		return st;
	pthread_mutex_lock(&ctx->leftovers_lock);
	st = emi_ctx_check(ctx, err);
	if (st != EM_OK)
		pthread_mutex_unlock(&ctx->leftovers_lock);
	return st;
}

void emi_leftovers_unlock(em_ctx *ctx)
{
	pthread_mutex_unlock(&ctx->leftovers_lock);
}

void emi_leftover_add(em_ctx *ctx, emi_leftover *l, char *path)
{
	l->path = path;
	l->next = ctx->leftovers;
	ctx->leftovers = l;
}

void emi_leftover_remove(em_ctx *ctx, emi_leftover *l)
{
	emi_leftover **at = &ctx->leftovers;

	while (*at != NULL && *at != l)
		at = &(*at)->next;
	if (*at == l)
		*at = l->next;
	l->path = NULL;
}

void emi_leftover_unlink(em_ctx *ctx, emi_leftover *l)
{
	if (l->path == NULL || emi_ctx_forked(ctx)) {
		l->path = NULL;
		return;
	}
	pthread_mutex_lock(&ctx->leftovers_lock);
	(void)unlink(l->path);
	emi_leftover_remove(ctx, l);
	pthread_mutex_unlock(&ctx->leftovers_lock);
}

void em_ctx_abandon(em_ctx *ctx)
{
	const emi_leftover *l;

	if (ctx == NULL || emi_ctx_forked(ctx))
		return;
	pthread_mutex_lock(&ctx->leftovers_lock);
	em_ctx_cancel(ctx);
	for (l = ctx->leftovers; l != NULL; l = l->next)
		(void)unlink(l->path);
	pthread_mutex_unlock(&ctx->leftovers_lock);
}
