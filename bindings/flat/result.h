/* SPDX-License-Identifier: BSL-1.0 */
/* Results of a call, in a form that a language turns into its own: a few items of four types. */
#ifndef EMB_RESULT_H
#define EMB_RESULT_H

#include "flat/options.h"
#include "keys.h"

enum { EMB_NUMBER, EMB_SIGNED, EMB_BYTES_COPY, EMB_JSON };

struct emb_item {
	int type;
	uint64_t number;  /**< Of a handle, too. */
	const void *data; /**< Until the call is over. */
	size_t bytes;
};

struct emb_result {
	em_status status; /**< Below 0: emb_call.detail has more. */
	int n;
	struct emb_item item[EMB_OUTS + 1];
};

struct emb_text {
	char *p;
	size_t n, room;
};

static void emb_print(struct emb_text *t, const char *what, size_t n)
{
	if (t->n + n + 1 > t->room) {
		char *more = (char *)emb_temp(2 * (t->n + n) + 500);

		if (!more)
			return;
		if (t->n)
			memcpy(more, t->p, t->n);
		t->p = more;
		t->room = 2 * (t->n + n) + 500;
	}
	memcpy(t->p + t->n, what, n);
	t->n += n;
}

/** A struct as an object of JSON, without the brace at its end. */
static void emb_tell(struct emb_text *t, const struct emb_struct *s, const void *from)
{
	const struct emb_field *f;
	char line[120];
	int n, first = 1;

	emb_print(t, "{", 1);
	for (f = s->fields; f->name; f++) {
		const char *at = (const char *)from + f->offset;

		n = snprintf(line, sizeof line, "%s\"%.60s\":", first ? "" : ",", f->name);
		if (f->kind == EMB_U32)
			n += snprintf(line + n, sizeof line - (size_t)n, "%lu", (unsigned long)*(const uint32_t *)at);
		else if (f->kind == EMB_I32)
			n += snprintf(line + n, sizeof line - (size_t)n, "%ld", (long)*(const int32_t *)at);
		else if (f->kind == EMB_U64)
			n += snprintf(line + n, sizeof line - (size_t)n, "%llu",
				      (unsigned long long)*(const uint64_t *)at);
		else if (f->kind == EMB_DOUBLE)
			n += snprintf(line + n, sizeof line - (size_t)n, "%.17g", *(const double *)at);
		else
			continue;
		emb_print(t, line, (size_t)n);
		first = 0;
	}
}

/** Statistics of a sort, with those of its phases. */
static void emb_tell_sort(struct emb_text *t, const em_sort_stats *stats)
{
	em_phase_stats phase = EM_PHASE_STATS_INIT;
	char line[60];
	uint32_t i;

	emb_tell(t, &emb_struct_em_sort_stats, stats);
	emb_print(t, ",\"phases\":{", 11);
	for (i = 0; em_sort_stats_phase(stats, i, &phase) == EM_OK; i++) {
		emb_print(t, line, (size_t)snprintf(line, sizeof line, "%s\"%s\":", i ? "," : "", em_phase_name(i)));
		emb_tell(t, &emb_struct_em_phase_stats, &phase);
		emb_print(t, "}", 1);
	}
	emb_print(t, "}", 1);
}

static struct emb_item *emb_item(struct emb_result *r, int type, uint64_t number, const void *data, size_t bytes)
{
	struct emb_item *i = &r->item[r->n++];

	i->type = type;
	i->number = number;
	i->data = data;
	i->bytes = bytes;
	return i;
}

static void emb_take(struct emb_result *r, const struct emb_out *o)
{
	struct emb_text t = { NULL, 0, 0 };
	const em_batch *batch;
	uint64_t id;

	switch (o->kind) {
	case EMB_OUT_NUMBER:
		emb_item(r, EMB_NUMBER, *(const uint64_t *)o->at, NULL, 0);
		break;
	case EMB_OUT_SIZE:
		emb_item(r, EMB_NUMBER, *(const size_t *)o->at, NULL, 0);
		break;
	case EMB_OUT_INT:
		emb_item(r, EMB_SIGNED, (uint64_t)(int64_t)*(const int *)o->at, NULL, 0);
		break;
	case EMB_OUT_HANDLE:
		id = emb_handle_new(*(void *const *)o->at, (const struct emb_kind *)o->of);
		if (!id)
			r->status = EM_ERR_NOMEM;
		emb_item(r, EMB_NUMBER, id, NULL, 0);
		break;
	case EMB_OUT_BYTES:
		emb_item(r, EMB_BYTES_COPY, 0, o->at, o->bytes);
		break;
	case EMB_OUT_BATCH:
		batch = *(const em_batch *const *)o->at;
		emb_item(r, EMB_BYTES_COPY, 0, batch->records, batch->bytes);
		if (batch->ends)
			emb_item(r, EMB_BYTES_COPY, 0, batch->ends, batch->n * sizeof(uint64_t));
		break;
	case EMB_OUT_SORT:
		emb_tell_sort(&t, (const em_sort_stats *)o->at);
		emb_print(&t, "}", 1);
		emb_item(r, EMB_JSON, 0, t.p, t.n);
		break;
	default:
		emb_tell(&t, (const struct emb_struct *)o->of, o->at);
		emb_print(&t, "}", 1);
		emb_item(r, EMB_JSON, 0, t.p, t.n);
	}
}

/** What a call has come to; results only if it was EM_OK. */
static void emb_complete(struct emb_result *r, em_status status)
{
	int i;

	memset(r, 0, sizeof *r);
	r->status = emb_now.refused ? emb_now.refused : status;
	for (i = 0; r->status == EM_OK && i < emb_now.n; i++)
		emb_take(r, &emb_now.out[i]);
	if (r->status == EM_OK && emb_now.refused)
		r->status = emb_now.refused;
	if (status == EM_OK && emb_now.inputs)
		emb_consume();
	/* Nobody would know of a handle that was made before something failed. */
	for (i = 0; r->status < 0 && i < r->n; i++) {
		if (emb_now.out[i].kind == EMB_OUT_HANDLE && r->item[i].number)
			(void)emb_close(r->item[i].number, 1);
	}
	if (r->status < 0)
		(void)emb_failed(r->status);
}

/* A copying read of records of one size. */
static em_status emb_read(em_sorter *s, void *records, uint64_t n, uint64_t *got)
{
	emb_call.lent->mark++;
	return em_cursor_read(em_sorter_cursor(s), records, (size_t)(n * emb_call.record_bytes), NULL, n, got);
}

#endif
