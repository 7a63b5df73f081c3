/* SPDX-License-Identifier: BSL-1.0 */
/*
 * How languages whose facades hand over numbers and bytes have what handles.i, buffers.i and callbacks.i name.
 *
 * Every argument is a number (also a handle, or a function), or bytes (also texts with a zero behind each, and options:
 * options.h).  No argument ends a call by itself: what is wrong is kept, the call is not made, and what the other
 * arguments took is given back in the usual way.  A language has in its typemaps.i:
 *
 *   EM_AS_ID(...) EM_AS_BYTES(...)   its types of such arguments, where it has types
 *   EM_AS_TOLD(...)                  the same of a handle of which a call only tells something, if that is different
 *   EM_AS_OPTIONS(...)               the same of options, if they are no bytes there
 *   EMB_ID(x)                        the number of a handle
 *   EMB_WHOLE(x)                     a number
 *   EMB_VIEW(x, view, write)         bytes as memory: view.p, view.n, view.none
 *   EMB_TEXTS(x, view)               the same of texts and options, where these may be other values
 *   EMB_UNVIEW(view)                 their end
 */
%{
#include "flat/result.h"
#ifndef EMB_TEXTS
#define EMB_TEXTS(x, view) EMB_VIEW(x, view, 0)
#endif
%}

#ifndef EM_AS_TOLD
%define EM_AS_TOLD(pattern...)
EM_AS_ID(pattern)
%enddef
#endif
#ifndef EM_AS_OPTIONS
%define EM_AS_OPTIONS(pattern...)
EM_AS_BYTES(pattern)
%enddef
#endif

%define EM_CODE(code...)
code
%enddef

%exception {
	if (!emb_now.refused)
		$action
}

/* Handles. */

%define EM_HANDLE(T)
EM_AS_ID(T *)
EM_AS_TOLD(const T *)
%typemap(in) T * (emb_handle *held = NULL) {
	$1 = (T *)emb_enter(EMB_ID($input), &emb_kind_ ## T, &held);
}
%typemap(in) const T * (emb_handle *held = NULL) {
	const uint64_t id = EMB_ID($input);

	/* 0: none is given. */
	$1 = id ? (T *)emb_enter(id, &emb_kind_ ## T, &held) : NULL;
}
%typemap(freearg) T *, const T * {
	emb_leave(held$argnum);
	emb_finish();
}
%typemap(in, numinputs=0) T ** (T *made = NULL) {
	$1 = &made;
	emb_out(EMB_OUT_HANDLE, &made, &emb_kind_ ## T, 0);
}
%enddef

/* Streams that become a part of what is made: one, or the numbers of several; and sinks that it will be on. */
%{
static void *emb_enter_one(uint64_t id, const struct emb_kind *kind, struct emb_input **list, emb_handle **held)
{
	void *object = emb_enter(id, kind, held);

	emb_input(*held, list);
	return object;
}
%}
EM_AS_ID(em_stream *EM_INPUT)
%typemap(in) em_stream *EM_INPUT (emb_handle *held = NULL) {
	$1 = (em_stream *)emb_enter_one(EMB_ID($input), &emb_kind_em_stream, &emb_now.inputs, &held);
}
%typemap(freearg) em_stream *EM_INPUT {
	emb_leave(held$argnum);
	emb_finish();
}
%define EM_HANDLES(T, list, pattern...)
EM_AS_BYTES(pattern)
%typemap(in) pattern (struct emb_view view, emb_handle **in = NULL, uint32_t entered = 0) {
	EMB_VIEW($input, view, 0);
	$2 = (uint32_t)(view.n / sizeof(uint64_t));
	$1 = (T **)calloc((size_t)$2 + 1, sizeof(T *));
	in = (emb_handle **)calloc((size_t)$2 + 1, sizeof *in);
	if (!$1 || !in)
		emb_refuse(EM_ERR_NOMEM, "out of memory");
	for (; entered < $2 && !emb_now.refused; entered++) {
		uint64_t id;

		memcpy(&id, (const char *)view.p + entered * sizeof id, sizeof id);
		((T **)(uintptr_t)$1)[entered] = (T *)emb_enter_one(id, &emb_kind_ ## T, list, &in[entered]);
	}
}
%typemap(freearg) pattern {
	while (in$argnum && entered$argnum > 0)
		emb_leave(in$argnum[--entered$argnum]);
	free(in$argnum);
	free((void *)$1);
	in$argnum = NULL;
	$1 = NULL;
	EMB_UNVIEW(view$argnum);
	emb_finish();
}
%enddef
EM_HANDLES(em_stream, &emb_now.inputs, (em_stream *const *EM_INPUTS, uint32_t EM_N))
EM_HANDLES(em_sink, &emb_now.sinks, (em_sink *const *EM_SINKS, uint32_t EM_N))

%typemap(in, numinputs=0) em_errinfo *err {
	$1 = &emb_call.detail;
}
%typemap(freearg) em_errinfo *err {
	emb_finish();
}

/* Options, and what is told. */

%define EM_OPTIONS(T)
EM_AS_OPTIONS(const T *opts)
%typemap(in) const T *opts (T value, struct emb_view view) {
	EMB_TEXTS($input, view);
	emb_fill(&emb_struct_ ## T, &value, view.p, view.n);
	$1 = &value;
}
%typemap(freearg) const T *opts {
	EMB_UNVIEW(view$argnum);
	emb_finish();
}
%enddef

%define EM_TOLD(T, name)
%typemap(in, numinputs=0) T *name (T value) {
	value = emb_init_ ## T;
	$1 = &value;
	emb_out(EMB_OUT_TOLD, &value, &emb_struct_ ## T, 0);
}
%enddef
%typemap(in, numinputs=0) em_sort_stats *EM_SORT_STATS (em_sort_stats value) {
	value = emb_init_em_sort_stats;
	$1 = &value;
	emb_out(EMB_OUT_SORT, &value, NULL, 0);
}

/* Bytes. */

%{
/** See bytes as so many units: their number. */
static uint64_t emb_units(const struct emb_view *view, uint64_t unit)
{
	char line[120];

	if (emb_now.refused)
		return 0;
	if (unit == 0) {
		emb_refuse(EM_ERR_INVAL, "records of any length are given with where they end");
		return 0;
	}
	if (view->n % unit) {
		snprintf(line, sizeof line, "%llu bytes are no whole number of records of %llu",
			 (unsigned long long)view->n, (unsigned long long)unit);
		emb_refuse(EM_ERR_INVAL, line);
	}
	return view->n / unit;
}

/** See bytes as one record or key. */
static const void *emb_one(const struct emb_view *view, uint64_t unit)
{
	char line[120];

	if (!emb_now.refused && view->n != unit) {
		snprintf(line, sizeof line, "%llu bytes are no record or key of %llu",
			 (unsigned long long)view->n, (unsigned long long)unit);
		emb_refuse(EM_ERR_INVAL, line);
	}
	return view->p;
}

/** See bytes as a text with a zero behind it. */
static const char *emb_text_of(const struct emb_view *view)
{
	if (!emb_now.refused && !view->none && (view->n == 0 || ((const char *)view->p)[view->n - 1]))
		emb_refuse(EM_ERR_INVAL, "a text has a zero behind it, and none in it");
	return view->none ? NULL : (const char *)view->p;
}

/** See bytes as several texts. */
static const char **emb_texts(const struct emb_view *view, uint32_t *n)
{
	const char *p = view->n ? emb_text_of(view) : "", *end = p + view->n;
	const char **list;

	*n = 0;
	list = (const char **)emb_temp((view->n + 1) * sizeof *list);
	while (list && !emb_now.refused && p < end) {
		list[(*n)++] = p;
		p += strlen(p) + 1;
	}
	return list;
}

/** See bytes as records and where they end: how many there are, the ends, the records.  Of a receiver whose records
 *  have one size they are these. */
static const void *emb_ended(const struct emb_view *view, const uint64_t **ends, uint64_t *n)
{
	uint64_t *copy;

	*n = 0;
	*ends = NULL;
	if (emb_call.record_bytes) {
		*n = emb_units(view, emb_call.record_bytes);
		return view->p;
	}
	if (!emb_now.refused && view->n >= 8)
		memcpy(n, view->p, 8);
	if (emb_now.refused || view->n < 8 || *n > (view->n - 8) / 8) {
		emb_refuse(EM_ERR_INVAL, "records of any length are: how many, where they end, and they");
		return "";
	}
	copy = (uint64_t *)emb_temp((size_t)(*n + 1) * 8);
	if (!copy)
		return "";
	memcpy(copy, (const char *)view->p + 8, (size_t)*n * 8);
	*ends = copy;
	if (*n && copy[*n - 1] > view->n - 8 - *n * 8)
		emb_refuse(EM_ERR_INVAL, "the last record ends behind the bytes that were given");
	return (const char *)view->p + 8 + *n * 8;
}
%}

%define EM_VIEWED(code, pattern...)
EM_SEEN(EM_CODE(EMB_VIEW($input, view, 0); code), pattern)
%enddef
%define EM_TEXTED(code, pattern...)
EM_SEEN(EM_CODE(EMB_TEXTS($input, view); code), pattern)
%enddef
%define EM_SEEN(code, pattern...)
EM_AS_BYTES(pattern)
%typemap(in) pattern (struct emb_view view) {
	code
}
%typemap(freearg) pattern {
	EMB_UNVIEW(view$argnum);
	emb_finish();
}
/* Otherwise those of results would do, as SWIG does not look at const. */
%typemap(argout) pattern "";
%typemap(check) pattern "";
%enddef

EM_VIEWED(EM_CODE($1 = (void *)(uintptr_t)view.p; $2 = emb_units(&view, emb_call.record_bytes);),
	  (const void *EM_RECORDS, uint64_t EM_N))
EM_VIEWED(EM_CODE($1 = (void *)(uintptr_t)view.p; $2 = emb_units(&view, emb_call.key_bytes);),
	  (const void *EM_KEYS, uint64_t EM_N))
EM_VIEWED(EM_CODE($1 = view.none ? NULL : (void *)(uintptr_t)view.p; $2 = emb_units(&view, emb_call.key_bytes);),
	  (const void *EM_KEYS_OR_NONE, uint64_t EM_N))
EM_VIEWED(EM_CODE($1 = (void *)(uintptr_t)view.p; $2 = (size_t)view.n;), (const void *EM_BYTES, size_t EM_NBYTES))
EM_VIEWED(EM_CODE($1 = (void *)(uintptr_t)emb_one(&view, emb_call.record_bytes);), const void *EM_RECORD)
EM_VIEWED(EM_CODE($1 = view.none ? NULL : (void *)(uintptr_t)emb_one(&view, emb_call.key_bytes);), const void *EM_KEY)
EM_TEXTED(EM_CODE($1 = (char *)(uintptr_t)emb_text_of(&view);), const char *)
EM_TEXTED(EM_CODE($1 = (char *)(uintptr_t)emb_text_of(&view);), const char *EM_PATH)
EM_TEXTED(EM_CODE($1 = (char **)(uintptr_t)emb_texts(&view, &$2);), (const char *const *EM_PATHS, uint32_t EM_N))
EM_VIEWED(EM_CODE(const uint64_t *ends; $1 = (void *)(uintptr_t)emb_ended(&view, &ends, &$3);
		  $2 = (uint64_t *)(uintptr_t)ends;),
	  (const void *EM_RECORDS, const uint64_t *EM_ENDS, uint64_t EM_N))

%define EM_WRITTEN(code, pattern...)
EM_AS_BYTES(pattern)
%typemap(in) pattern (struct emb_view view) {
	EMB_VIEW($input, view, 1);
	code
}
%typemap(freearg) pattern {
	EMB_UNVIEW(view$argnum);
	emb_finish();
}
%enddef
EM_WRITTEN(EM_CODE($1 = (void *)(uintptr_t)view.p; $2 = emb_units(&view, emb_call.record_bytes);),
	   (void *EM_ROOM, uint64_t EM_N))
EM_WRITTEN(EM_CODE($1 = (char *)(uintptr_t)view.p; $2 = (size_t)view.n;), (void *EM_BUF, size_t EM_NBYTES))

EM_AS_BYTES((const void *EM_KEYS, uint64_t EM_N, void *EM_FOUND, uint8_t *EM_IS))
%typemap(in) (const void *EM_KEYS, uint64_t EM_N, void *EM_FOUND, uint8_t *EM_IS) (struct emb_view view) {
	EMB_VIEW($input, view, 0);
	$1 = (void *)(uintptr_t)view.p;
	$2 = emb_units(&view, emb_call.key_bytes);
	$3 = emb_temp((size_t)($2 * emb_call.record_bytes));
	$4 = (uint8_t *)emb_temp((size_t)$2);
	emb_out(EMB_OUT_BYTES, $3, NULL, (size_t)($2 * emb_call.record_bytes));
	emb_out(EMB_OUT_BYTES, $4, NULL, (size_t)$2);
}
EM_AS_BYTES((const uint64_t *EM_POSITIONS, uint64_t EM_N, void *EM_FOUND))
%typemap(in) (const uint64_t *EM_POSITIONS, uint64_t EM_N, void *EM_FOUND) (struct emb_view view) {
	EMB_VIEW($input, view, 0);
	$2 = emb_units(&view, sizeof(uint64_t));
	$1 = (uint64_t *)emb_temp((size_t)view.n);
	if ($1)
		memcpy($1, view.p, (size_t)view.n);
	$3 = emb_temp((size_t)($2 * emb_call.record_bytes));
	emb_out(EMB_OUT_BYTES, $3, NULL, (size_t)($2 * emb_call.record_bytes));
}
%typemap(freearg) (const void *EM_KEYS, uint64_t EM_N, void *EM_FOUND, uint8_t *EM_IS),
	(const uint64_t *EM_POSITIONS, uint64_t EM_N, void *EM_FOUND) {
	EMB_UNVIEW(view$argnum);
	emb_finish();
}

/* Results. */

%typemap(in, numinputs=0) void *EM_RECORD_OUT {
	$1 = NULL;
}
%typemap(check) void *EM_RECORD_OUT {
	$1 = emb_temp((size_t)emb_call.record_bytes);
	emb_out(EMB_OUT_BYTES, $1, NULL, (size_t)emb_call.record_bytes);
}
%typemap(in, numinputs=0) const em_batch **EM_BATCH (const em_batch *got = NULL) {
	$1 = ($1_ltype)&got;
	emb_out(EMB_OUT_BATCH, &got, NULL, 0);
}
%typemap(in, numinputs=0) uint64_t *EM_NUMBER (uint64_t value = 0) {
	$1 = &value;
	emb_out(EMB_OUT_NUMBER, &value, NULL, 0);
}
%typemap(in, numinputs=0) uint64_t *EM_DONE (uint64_t value = 0) {
	$1 = &value;
	emb_call.done = &value;
	emb_out(EMB_OUT_NUMBER, &value, NULL, 0);
}
%typemap(in, numinputs=0) size_t *EM_SIZE (size_t value = 0) {
	$1 = &value;
	emb_out(EMB_OUT_SIZE, &value, NULL, 0);
}
%typemap(in, numinputs=0) int *EM_INT (int value = 0) {
	$1 = &value;
	emb_out(EMB_OUT_INT, &value, NULL, 0);
}

/* Keys, as names of orders and the command spell them. */

%define EM_SPELLED(T, parse, pattern...)
EM_AS_BYTES(pattern)
%typemap(in) pattern (struct emb_view view) {
	const char **list;
	uint32_t i;

	EMB_TEXTS($input, view);
	list = emb_texts(&view, &$2);
	$1 = (T *)emb_temp(((size_t)$2 + 1) * sizeof(T));
	for (i = 0; $1 && i < $2; i++) {
		const em_status st = parse;

		if (st)
			emb_refuse(st, "a key is not as it should be");
	}
}
%typemap(freearg) pattern {
	EMB_UNVIEW(view$argnum);
	emb_finish();
}
%enddef
EM_SPELLED(em_key, EM_CODE(em_key_parse(&$1[i], list[i], &emb_call.detail)), (const em_key *EM_KEY_LIST, uint32_t EM_N))
EM_SPELLED(em_text_key, EM_CODE(em_text_key_parse(&$1[i], NULL, list[i], &emb_call.detail)),
	   (const em_text_key *EM_TEXT_KEYS, uint32_t EM_N))

/* Functions of the caller's: those that live as long as an order are options "record_size", "name" and "fn". */

%{
static struct emb_fn *emb_order_fn(const struct emb_view *view, uint64_t *bytes, const char **name)
{
	struct emb_options o;
	const char *fn, *size;
	uint64_t id;

	o.p = (const char *)view->p;
	o.end = o.p + view->n;
	fn = emb_option(o, "", "fn", 0);
	size = emb_option(o, "", "record_size", 0);
	*name = emb_option(o, "", "name", 0);
	if (!fn || !size) {
		emb_refuse(EM_ERR_INVAL, "an order by a function has a function, and the size of records");
		return NULL;
	}
	id = emb_fn_of("fn", fn);
	*bytes = emb_call.order_bytes = emb_digits("record_size", size, UINT64_MAX);
	if (!emb_now.refused)
		return emb_fn_new(id, *bytes);
	emb_up_release(id);
	return NULL;
}
%}
%define EM_ORDER_FN(T, name, trampoline)
EM_AS_OPTIONS((uint64_t EM_OF, const char *EM_NAME, T name, uint32_t EM_FLAGS, void *EM_USER,
	       void (*EM_FREE)(void *user)))
%typemap(in) (uint64_t EM_OF, const char *EM_NAME, T name, uint32_t EM_FLAGS, void *EM_USER,
	      void (*EM_FREE)(void *user)) (struct emb_view view) {
	const char *called = NULL;

	EMB_TEXTS($input, view);
	$1 = 0;
	$5 = emb_order_fn(&view, &$1, &called);
	$2 = (char *)(uintptr_t)called;
	$3 = trampoline;
	$4 = 0;
	$6 = emb_fn_free;
}
%typemap(freearg) (uint64_t EM_OF, const char *EM_NAME, T name, uint32_t EM_FLAGS, void *EM_USER,
		   void (*EM_FREE)(void *user)) {
	EMB_UNVIEW(view$argnum);
	emb_finish();
}
%enddef
EM_ORDER_FN(em_cmp_fn, EM_CMP, emb_cmp)
EM_ORDER_FN(em_key_fn, EM_KEY, emb_key)

%define EM_FUNCTION(T, trampoline)
EM_AS_NUMBER((T EM_FN, void *EM_USER))
%typemap(in) (T EM_FN, void *EM_USER) {
	const uint64_t id = EMB_WHOLE($input);

	$1 = trampoline;
	$2 = emb_keep(emb_fn_new(id, emb_call.record_bytes));
}
%typemap(freearg) (T EM_FN, void *EM_USER) {
	emb_finish();
}
%enddef
EM_FUNCTION(em_vector_visit_fn, emb_visit)
EM_FUNCTION(em_vector_change_fn, emb_change)
EM_FUNCTION(em_vector_test_fn, emb_test)
EM_FUNCTION(em_disorder_fn, emb_disorder)

/* Of streams: 0 is none. */
EM_AS_NUMBER(emb_fn *EM_ASKED)
%typemap(in) emb_fn *EM_ASKED {
	const uint64_t id = EMB_WHOLE($input);

	$1 = id ? emb_keep(emb_fn_new(id, 0)) : NULL;
}
%typemap(freearg) emb_fn *EM_ASKED {
	emb_finish();
}
