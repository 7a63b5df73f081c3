/* SPDX-License-Identifier: BSL-1.0 */
/* own_sink.c -- sinks that hand records to functions of the caller's, copy them to memory, or forget them. */
#include <string.h>

#include "base/error.h"
#include "base/structs.h"
#include "flow/flow_sink.h"
#include "flow/stream.h"

typedef struct own_sink {
	em_sink k;
	em_sink_ops ops;
	void *user;
	emi_user held;          /* it, to be freed */
} own_sink;

static em_status own_push(em_sink *k, const void *records, size_t n, size_t *taken, em_errinfo *err)
{
	own_sink *o = (own_sink *)(void *)k;
	const em_batch batch = { records, n, n * k->record, NULL };

	(void)taken;
	/* What he does not fill is not to be what was there. */
	emi_errinfo_clear(err);
	return emi_stream_user_status(o->ops.push(o->user, &batch, err), 0, "a sink's own function", err);
}

static em_status own_finish(em_sink *k, em_errinfo *err)
{
	own_sink *o = (own_sink *)(void *)k;

	if (o->ops.finish == NULL)
		return EM_OK;
	emi_errinfo_clear(err);
	return emi_stream_user_status(o->ops.finish(o->user, err), 0, "a sink's own function", err);
}

static void own_close(em_sink *k)
{
	own_sink *o = (own_sink *)(void *)k;

	if (o->ops.close != NULL)
		o->ops.close(o->user);
	emi_user_free(&o->held);
}

em_status em_sink_open(em_sink **out, em_ctx *ctx, uint64_t record_bytes, const em_sink_ops *ops, void *user,
		       em_errinfo *theirs)
{
	static const emi_sink_kind kind = { own_push, own_finish, own_close };
	em_sink_ops o;
	em_errinfo err;
	em_status st = emi_sink_begin(out, &err);

	/* Whatever is wrong, user is freed. */
	(void)EMI_STRUCT_TAKE(em_sink_ops, &o, ops, NULL);
	if (st == EM_OK)
		st = emi_given(ops, "ops", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_sink_ops, &o, ops, &err);
	if (st == EM_OK && o.push == NULL)
		st = emi_fail(&err, EM_ERR_INVAL, "ops->push is NULL");
	if (st == EM_OK) {
		own_sink *k = (own_sink *)(void *)emi_sink_new(ctx, sizeof *k, &kind, record_bytes, &err);

		st = k != NULL ? EM_OK : err.status;
		if (k != NULL) {
			k->ops = o;
			k->user = user;
			k->held.user = user;
			k->held.free = o.user_free;
			*out = &k->k;
		}
	}
	if (st != EM_OK && o.user_free != NULL)
		o.user_free(user);
	return emi_tell(theirs, st, &err);
}

static em_status forget(em_sink *k, const void *records, size_t n, size_t *taken, em_errinfo *err)
{
	(void)k;
	(void)records;
	(void)err;
	*taken = n;
	return EM_OK;
}

em_status em_sink_discard(em_sink **out, em_ctx *ctx, uint64_t record_bytes, em_errinfo *theirs)
{
	static const emi_sink_kind kind = { forget, NULL, NULL };
	em_errinfo err;
	em_status st = emi_sink_begin(out, &err);

	if (st == EM_OK) {
		*out = emi_sink_new(ctx, sizeof(em_sink), &kind, record_bytes, &err);
		st = *out != NULL ? EM_OK : err.status;
	}
	return emi_tell(theirs, st, &err);
}

typedef struct memory_sink {
	em_sink k;
	char *at;
	size_t room;            /* records, from there on */
} memory_sink;

static em_status copy(em_sink *k, const void *records, size_t n, size_t *taken, em_errinfo *err)
{
	memory_sink *m = (memory_sink *)(void *)k;
	const size_t fit = n < m->room ? n : m->room;

	if (fit != 0)
		memcpy(m->at, records, fit * k->record);
	m->at += fit * k->record;
	m->room -= fit;
	*taken = fit;
	return fit == n ? EM_OK : emi_fail(err, EM_ERR_NOSPACE, "the memory for records is full");
}

em_status em_sink_memory(em_sink **out, em_ctx *ctx, uint64_t record_bytes, void *records, uint64_t room,
			 em_errinfo *theirs)
{
	static const emi_sink_kind kind = { copy, NULL, NULL };
	em_errinfo err;
	em_status st = emi_sink_begin(out, &err);

	if (st == EM_OK)
		st = emi_stream_check_record(record_bytes, &err);
	if (st == EM_OK)
		st = emi_stream_check_records(records, room, (size_t)record_bytes, &err);
	if (st == EM_OK) {
		memory_sink *m = (memory_sink *)(void *)emi_sink_new(ctx, sizeof *m, &kind, record_bytes, &err);

		st = m != NULL ? EM_OK : err.status;
		if (m != NULL) {
			m->at = records;
			m->room = (size_t)room;
			*out = &m->k;
		}
	}
	return emi_tell(theirs, st, &err);
}
