/* SPDX-License-Identifier: BSL-1.0 */
/*
 * open_text.c -- making a context from a text.
 *
 * The text is copied, and parsed in the copy: names of files and backends point into it.  It lies in one piece of
 * memory with the disks that it tells of, and is freed when the context is open, which has copies.  Only simulated
 * disks have parameters that are used as long as the context lives: then it keeps the piece, which is counted.
 *
 * A disk has commas in it.  It ends where a part follows that is an option of the context, and none of a disk.
 */
#include <stddef.h>

#include <extmem/disk.h>
#include <extmem/sys/simdisk.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/structs.h"
#include "base/workers.h"
#include "ctx/open.h"
#include "io/queue.h"

#define AT(field) offsetof(em_ctx_opts, field)

/* Those that may be given several times are taken by functions of their own. */
enum { DIR, DISK, DIRECT, ONCE };

static const emi_option table[] = {
	{ "dir", EMI_OPTION_NAME, 0, 0, 0, 0, NULL },
	{ "disk", EMI_OPTION_NAME, 0, 0, 0, 0, NULL },
	{ "direct", EMI_OPTION_WORD, 0, AT(direct), 0, 0, "try|off|on" },
	{ "memory", EMI_OPTION_SIZE, 0, AT(memory), 0, UINT64_MAX, NULL },
	{ "threads", EMI_OPTION_NUMBER, 0, AT(threads), 0, EMI_MAX_THREADS, NULL },
	{ "fds", EMI_OPTION_NUMBER, 0, AT(fds), 0, UINT32_MAX, NULL },
	{ "queue-depth", EMI_OPTION_NUMBER, 0, AT(queue_depth), 0, EMI_IO_DEPTH_MAX, NULL },
	{ "backend", EMI_OPTION_NAME, 0, AT(backend), 0, 0, NULL },
	{ "isa", EMI_OPTION_NAME, 0, AT(isa), 0, 0, NULL },
	{ "scratch-max", EMI_OPTION_SIZE, 0, AT(scratch_max), 0, UINT64_MAX, NULL },
	{ "priority", EMI_OPTION_WORD, 0, AT(priority), 0, 0, "write|read|none" },
	{ "block-size", EMI_OPTION_SIZE, 0, AT(block_bytes), 0, UINT64_C(1) << 30, NULL },
	{ "checked", EMI_OPTION_FLAG, EM_CTX_CHECKED, AT(flags), 0, 0, NULL },
	{ "raise", EMI_OPTION_FLAG, EM_CTX_RAISE, AT(flags), 0, 0, NULL },
	{ "log-caller", EMI_OPTION_FLAG, EM_CTX_LOG_CALLER, AT(flags), 0, 0, NULL },
};

typedef struct context_text {
	emi_options options;
	em_ctx_opts ctx;
	size_t bytes;           /* of the piece of memory */
	char *text;             /* in it, as the rest is */
	const char **dir;
	const em_disk_opts **disk;
	em_disk_opts *disks;
	em_simdisk *sim;        /* one for each disk */
	uint32_t ndirs, ndisks;
	int simulated;          /* there is a simulated disk */
} context_text;

/* The comma or the end behind a disk. */
static char *end_of_disk(const emi_options *o, char *text)
{
	for (text = emi_option_end(text); *text == ','; text = emi_option_end(text + 1)) {
		const uint32_t i = emi_option_find(o, text + 1);

		if (i != o->n && i != DIRECT)
			return text;
	}
	return text;
}

static em_status take_disk(context_text *t, char *text, em_errinfo *err)
{
	static const em_disk_opts none = EM_DISK_OPTS_INIT;
	em_disk_opts *o = &t->disks[t->ndisks];
	em_errinfo own;
	em_status st;

	*o = none;
	st = em_disk_parse(o, &t->sim[t->ndisks], text, &own);
	if (st != EM_OK) {
		emi_fail(err, st, "disk%s %s", own.offset != 0 ? "" : ":", own.text);
		err->offset = own.offset;
		return st;
	}
	t->simulated |= o->custom != NULL;
	t->disk[t->ndisks++] = o;
	return EM_OK;
}

static em_status take_dir(context_text *t, char *text, em_errinfo *err)
{
	if (*text == '\0')
		return emi_fail(err, EM_ERR_INVAL, "dir: the name is empty");
	emi_option_unquote(text);
	t->dir[t->ndirs++] = text;
	return EM_OK;
}

/* Take the option that begins there.  What is behind it, or NULL with err filled. */
static char *take_part(context_text *t, char *text, em_errinfo *err)
{
	const uint32_t i = emi_option_find(&t->options, text);
	char *end = i == DISK ? end_of_disk(&t->options, text) : emi_option_end(text);
	const int more = *end == ',';
	uint64_t begin = (uint64_t)(text - t->text);
	em_status st;

	*end = '\0';
	if (i == t->options.n) {
		st = emi_fail(err, EM_ERR_INVAL, "'%s': there is no such option of a context", text);
	} else if (i == DISK) {
		st = take_disk(t, text + sizeof "disk=" - 1, err);
		begin += st != EM_OK ? sizeof "disk=" - 1 + err->offset : 0;
	} else if (i == DIR) {
		st = take_dir(t, text + sizeof "dir=" - 1, err);
	} else {
		st = emi_option_take(&t->options, i, &t->ctx, text, err);
	}
	if (st == EM_OK)
		return end + more;
	(void)emi_option_place(err, begin);
	return NULL;
}

static em_status take_all(context_text *t, em_errinfo *err)
{
	char *at = t->text, *end = at + strlen(at);

	while (at != NULL && at < end)
		at = take_part(t, at, err);
	if (at == NULL)
		return err->status;
	if (t->ndirs != 0) {
		t->ctx.dirs = t->dir;
		t->ctx.ndirs = t->ndirs;
	}
	if (t->ndisks != 0) {
		t->ctx.disks = t->disk;
		t->ctx.ndisks = t->ndisks;
	}
	return EM_OK;
}

/* How often a text has one. */
static uint64_t count(const char *text, const char *word)
{
	uint64_t n = 0;

	while ((text = strstr(text, word)) != NULL) {
		text += strlen(word);
		n++;
	}
	return n;
}

/* Lay out the piece for all that the text can have; `from' has the allocator. */
static em_status lay_out(context_text *t, em_ctx *from, const char *text, em_errinfo *err)
{
	const uint64_t dirs = count(text, "dir="), disks = count(text, "disk=");
	const uint64_t most = SIZE_MAX / 4;
	const size_t chars = strlen(text) + 1;
	char *piece;

	if (dirs + disks > EM_DISKS_MAX)
		return emi_fail(err, EM_ERR_INVAL, "more than %u directories and disks", EM_DISKS_MAX);
	if (chars > most)
		return emi_fail(err, EM_ERR_INVAL, "the text is too long");
	t->bytes = (size_t)disks * (sizeof *t->sim + sizeof *t->disks + sizeof *t->disk) +
		   (size_t)dirs * sizeof *t->dir + chars;
	piece = emi_alloc(from, t->bytes, err);
	if (piece == NULL)
		return err->status;
	t->sim = (em_simdisk *)(void *)piece;
	t->disks = (em_disk_opts *)(void *)(t->sim + disks);
	t->disk = (const em_disk_opts **)(void *)(t->disks + disks);
	t->dir = (const char **)(void *)(t->disk + disks);
	t->text = (char *)(void *)(t->dir + dirs);
	memcpy(t->text, text, chars);
	return EM_OK;
}

/* Have the context keep the piece. */
static em_status keep(context_text *t, em_ctx *ctx, em_errinfo *err)
{
	const em_status st = emi_memory_take(ctx, t->bytes, err);

	if (st == EM_OK) {
		ctx->kept = t->sim;
		ctx->kept_bytes = t->bytes;
	}
	return st;
}

static em_status open_parsed(em_ctx **out, context_text *t, em_ctx *from, em_errinfo *err)
{
	em_status st = take_all(t, err);
	em_ctx *ctx = NULL;

	t->ctx.errinfo = err;
	/* The piece goes back to the allocator before its user is no more: see em_ctx_open_text(). */
	t->ctx.log_free = t->ctx.allocator_free = NULL;
	if (st == EM_OK)
		st = em_ctx_open(&ctx, &t->ctx);
	if (st == EM_OK && t->simulated)
		st = keep(t, ctx, err);
	if (st != EM_OK || !t->simulated)
		emi_free(from, t->sim, t->bytes);
	if (st == EM_OK)
		*out = ctx;
	else
		em_ctx_close(ctx);
	return st;
}

static em_status open_text(em_ctx **out, const char *text, const em_ctx_opts *opts, em_errinfo *err)
{
	context_text t;
	em_status st;
	em_ctx from;

	memset(&t, 0, sizeof t);
	memset(&from, 0, sizeof from);
	t.options.table = table;
	t.options.n = sizeof table / sizeof table[0];
	st = EMI_STRUCT_TAKE(em_ctx_opts, &t.ctx, opts, err);
	if (st == EM_OK && t.ctx.allocator != NULL)
		st = EMI_STRUCT_TAKE(em_allocator, &from.allocator, t.ctx.allocator, err);
	from.memory = UINT64_MAX;
	if (st == EM_OK)
		st = lay_out(&t, &from, text, err);
	return st == EM_OK ? open_parsed(out, &t, &from, err) : st;
}

/* It calls what options have for the users of log and allocator. */
static void adopt(em_ctx *ctx, const em_ctx_opts *opts)
{
	em_ctx_opts o;

	if (opts == NULL || EMI_STRUCT_TAKE(em_ctx_opts, &o, opts, NULL) != EM_OK)
		return;
	ctx->log_free = o.log_free;
	ctx->allocator_free = o.allocator != NULL ? o.allocator_free : NULL;
}

em_status em_ctx_open_text(em_ctx **out, const char *text, const em_ctx_opts *opts)
{
	em_errinfo err;
	em_status st;

	emi_errinfo_clear(&err);
	if (out != NULL)
		*out = NULL;
	st = emi_given(out, "out", &err);
	if (st == EM_OK)
		st = emi_given(text, "text", &err);
	if (st == EM_OK)
		st = open_text(out, text, opts, &err);
	if (st == EM_OK)
		adopt(*out, opts);
	else
		emi_ctx_forget(opts);
	return emi_tell(EMI_ERRINFO_OF(em_ctx_opts, opts), st, &err);
}
