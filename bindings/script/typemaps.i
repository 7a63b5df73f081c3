/* SPDX-License-Identifier: BSL-1.0 */
/* How Lua, Perl, Ruby and Tcl have what handles.i, buffers.i and callbacks.i name: with the values of their port.h.
 * A call that succeeds returns its results, or its status where it has none; nil takes the place of results with a
 * status that is positive.  Records are byte strings, and records of any length lists of these. */

%{
#include "port.h"
%}
%{
#include "script/convert.h"

/** A result takes the place of the status, or stands beside the others. */
#define EMB_OUTPUT(result, value)                                      \
	do {                                                           \
		if (emb_tells())                                       \
			EMB_PUT(result, value);                        \
		else if (emb_call.outputs == 0)                        \
			EMB_PUT(result, emb_nil(EMB_ENV));             \
	} while (0)

/** The call is over. */
static void emb_over(void)
{
	emb_fns_free(emb_now.keep);
	emb_now.keep = NULL;
	emb_temps_free();
	emb_end();
}
%}

%exception {
	EMB_WORK($action)
}

/* Statuses and numbers. */

%typemap(out) em_status {
	if (emb_status(EMB_ENV, $1))
		EMB_FAIL;
	EMB_FIRST($result, emb_from_i64(EMB_ENV, $1));
}
%typemap(out) void {
	if (emb_status(EMB_ENV, EM_OK))
		EMB_FAIL;
}

%typemap(arginit) em_errinfo *err {
	(void)emb_begin(EMB_ENV);
}
%typemap(in, numinputs=0) em_errinfo *err {
	$1 = &emb_call.detail;
}
%typemap(freearg) em_errinfo *err {
	emb_over();
}

%define EM_NUMBER_OF(T, C, N)
%typemap(arginit) T {
	(void)emb_begin(EMB_ENV);
}
%typemap(in) T (N number = 0) {
	if (emb_ ## C ## _of(EMB_ENV, $input, &number))
		EMB_FAIL;
	$1 = ($1_ltype)number;
	if ((N)$1 != number) {
		emb_wrong(EMB_ENV, "argument $argnum is too large or too small");
		EMB_FAIL;
	}
}
%typemap(out) T {
	if (emb_status(EMB_ENV, EM_OK))
		EMB_FAIL;
	EMB_FIRST($result, emb_from_ ## C(EMB_ENV, $1));
}
%enddef
EM_NUMBER_OF(uint32_t, u64, uint64_t)
EM_NUMBER_OF(uint64_t, u64, uint64_t)
EM_NUMBER_OF(size_t, u64, uint64_t)
EM_NUMBER_OF(int, i64, int64_t)
EM_NUMBER_OF(int32_t, i64, int64_t)
EM_NUMBER_OF(long, i64, int64_t)

%typemap(arginit) const char * {
	(void)emb_begin(EMB_ENV);
}
%typemap(in) const char * {
	$1 = NULL;
	if (!emb_is_nil(EMB_ENV, $input)) {
		$1 = ($1_ltype)emb_text_of(EMB_ENV, $input);
		if (!$1)
			EMB_FAIL;
	}
}
%typemap(freearg) const char * {
	emb_temps_free();
}
%typemap(out) const char * {
	if (emb_status(EMB_ENV, EM_OK))
		EMB_FAIL;
	EMB_FIRST($result, $1 ? emb_from_text(EMB_ENV, $1) : emb_nil(EMB_ENV));
}
%apply const char * { const char *EM_PATH };

%typemap(in, numinputs=0) (char *text, size_t bytes) (char room[4096]) {
	$1 = room;
	$2 = sizeof room;
	room[0] = 0;
}
%typemap(argout) (char *text, size_t bytes) {
	EMB_OUTPUT($result, emb_from_text(EMB_ENV, $1));
}

/* Handles. */

%define EM_HANDLE(T)
%typemap(arginit) T * (unsigned serial = 0), const T * (unsigned serial = 0) {
	serial = emb_begin(EMB_ENV);
}
%typemap(in) T * (emb_handle *taken = NULL) {
	taken = emb_take(EMB_ENV, $input, &emb_kind_ ## T);
	if (!taken)
		EMB_FAIL;
	$1 = (T *)taken->object;
}
%typemap(in) const T * (emb_handle *taken = NULL) {
	$1 = NULL;
	emb_now.brief = emb_now.brief || $argnum == 1;
	if (!emb_is_nil(EMB_ENV, $input)) {
		taken = emb_take(EMB_ENV, $input, &emb_kind_ ## T);
		if (!taken)
			EMB_FAIL;
		$1 = (T *)taken->object;
	}
}
%typemap(check) T *, const T * {
	if (emb_unmoved(EMB_ENV, serial$argnum))
		EMB_FAIL;
}
%typemap(freearg) T *, const T * {
	emb_over();
}
%typemap(arginit) T ** {
	(void)emb_begin(EMB_ENV);
}
%typemap(in, numinputs=0) T ** (T *made = NULL) {
	$1 = &made;
}
%typemap(check) T ** "";
%typemap(argout) T ** {
	emb_handle *h = emb_tells() ? emb_handle_new(EMB_ENV, made$argnum, &emb_kind_ ## T) : NULL;

	if (emb_tells() && !h)
		EMB_FAIL;
	EMB_OUTPUT($result, emb_from_handle(EMB_ENV, h));
}
%typemap(freearg) T ** {
	emb_over();
}
%enddef

/* Streams that become a part of what is made, and functions of streams. */
%typemap(arginit) em_stream *EM_INPUT (unsigned serial = 0),
	(em_stream *const *EM_INPUTS, uint32_t EM_N) (unsigned serial = 0) {
	serial = emb_begin(EMB_ENV);
}
%typemap(in) em_stream *EM_INPUT {
	$1 = emb_take_input(EMB_ENV, $input);
	if (!$1)
		EMB_FAIL;
}
%typemap(in) (em_stream *const *EM_INPUTS, uint32_t EM_N) {
	$1 = ($1_ltype)emb_handles(EMB_ENV, $input, NULL, &$2);
	if (!$1)
		EMB_FAIL;
}
%typemap(check) em_stream *EM_INPUT, (em_stream *const *EM_INPUTS, uint32_t EM_N) {
	if (emb_unmoved(EMB_ENV, serial$argnum))
		EMB_FAIL;
}
%typemap(argout) em_stream *EM_INPUT, (em_stream *const *EM_INPUTS, uint32_t EM_N) "";
%typemap(freearg) em_stream *EM_INPUT, (em_stream *const *EM_INPUTS, uint32_t EM_N), emb_fn *EM_ASKED {
	emb_over();
}
%typemap(arginit) emb_fn *EM_ASKED {
	(void)emb_begin(EMB_ENV);
}
%typemap(in) emb_fn *EM_ASKED {
	if (emb_asked(EMB_ENV, $input, &$1))
		EMB_FAIL;
}

/* Sinks, which stay the caller's. */
%typemap(arginit) (em_sink *const *EM_SINKS, uint32_t EM_N) (unsigned serial = 0) {
	serial = emb_begin(EMB_ENV);
}
%typemap(in) (em_sink *const *EM_SINKS, uint32_t EM_N) {
	$1 = ($1_ltype)emb_handles(EMB_ENV, $input, &emb_kind_em_sink, &$2);
	if (!$1)
		EMB_FAIL;
}
%typemap(check) (em_sink *const *EM_SINKS, uint32_t EM_N) {
	if (emb_unmoved(EMB_ENV, serial$argnum))
		EMB_FAIL;
}
%typemap(argout) (em_sink *const *EM_SINKS, uint32_t EM_N) "";
%typemap(freearg) (em_sink *const *EM_SINKS, uint32_t EM_N) {
	emb_over();
}

/* Options, and what is told. */

%define EM_OPTIONS(T)
%typemap(arginit) const T *opts (unsigned serial = 0) {
	serial = emb_begin(EMB_ENV);
}
%typemap(in) const T *opts (T value) {
	if (emb_fill(EMB_ENV, &emb_struct_ ## T, &value, $input))
		EMB_FAIL;
	$1 = &value;
}
%typemap(check) const T *opts {
	if (emb_unmoved(EMB_ENV, serial$argnum))
		EMB_FAIL;
}
%typemap(freearg) const T *opts {
	emb_over();
}
%enddef

%define EM_TOLD(T, name)
%typemap(in, numinputs=0) T *name (T value) {
	value = emb_init_ ## T;
	$1 = &value;
}
%typemap(argout) T *name {
	char json[8192];

	(void)T ## _json(&value$argnum, json, sizeof json);
	EMB_OUTPUT($result, emb_tell(EMB_ENV, &emb_struct_ ## T, &value$argnum, json));
}
%enddef

%typemap(in, numinputs=0) em_sort_stats *EM_SORT_STATS (em_sort_stats value) {
	value = emb_init_em_sort_stats;
	$1 = &value;
}
%typemap(argout) em_sort_stats *EM_SORT_STATS {
	char json[8192];

	(void)em_sort_stats_json(&value$argnum, json, sizeof json);
	EMB_OUTPUT($result, emb_tell_sort(EMB_ENV, &value$argnum, json));
}

/* Records. */

%typemap(in) (const void *EM_RECORDS, uint64_t EM_N) (emb_anchor anchor) {
	$1 = ($1_ltype)(uintptr_t)emb_records(EMB_ENV, $input, &anchor, 0, &$2);
	if (!$1)
		EMB_FAIL;
}
%typemap(in) (const void *EM_KEYS, uint64_t EM_N) (emb_anchor anchor) {
	$1 = ($1_ltype)(uintptr_t)emb_records(EMB_ENV, $input, &anchor, 1, &$2);
	if (!$1)
		EMB_FAIL;
}
%typemap(in) (const void *EM_KEYS_OR_NONE, uint64_t EM_N) (emb_anchor anchor) {
	$1 = NULL;
	$2 = 0;
	if (!emb_is_nil(EMB_ENV, $input)) {
		$1 = ($1_ltype)(uintptr_t)emb_records(EMB_ENV, $input, &anchor, 1, &$2);
		if (!$1)
			EMB_FAIL;
	}
}
/* Room for so many. */
%typemap(in) (void *EM_ROOM, uint64_t EM_N) (emb_anchor room, char *to = NULL) {
	if (emb_u64_of(EMB_ENV, $input, &$2))
		EMB_FAIL;
	room = emb_room(EMB_ENV, $2, emb_call.record_bytes, &to);
	if (!to)
		EMB_FAIL;
	$1 = to;
}
%typemap(argout) (void *EM_ROOM, uint64_t EM_N) {
	EMB_OUTPUT($result, emb_from_room(EMB_ENV, room$argnum, to$argnum, (size_t)($2 * emb_call.record_bytes)));
}
%typemap(in) (const void *EM_KEYS, uint64_t EM_N, void *EM_FOUND, uint8_t *EM_IS)
	(emb_anchor anchor, emb_anchor room, emb_anchor is, char *to = NULL, char *marks = NULL) {
	$1 = ($1_ltype)(uintptr_t)emb_records(EMB_ENV, $input, &anchor, 1, &$2);
	if (!$1)
		EMB_FAIL;
	room = emb_room(EMB_ENV, $2, emb_call.record_bytes, &to);
	if (!to)
		EMB_FAIL;
	is = emb_room(EMB_ENV, $2, 1, &marks);
	if (!marks)
		EMB_FAIL;
	memset(to, 0, (size_t)($2 * emb_call.record_bytes));
	$3 = to;
	$4 = (uint8_t *)marks;
}
%typemap(argout) (const void *EM_KEYS, uint64_t EM_N, void *EM_FOUND, uint8_t *EM_IS) {
	EMB_OUTPUT($result, emb_from_room(EMB_ENV, room$argnum, to$argnum, (size_t)($2 * emb_call.record_bytes)));
	EMB_OUTPUT($result, emb_from_room(EMB_ENV, is$argnum, marks$argnum, (size_t)$2));
}
%typemap(in) (const uint64_t *EM_POSITIONS, uint64_t EM_N, void *EM_FOUND) (emb_anchor room, char *to = NULL) {
	$1 = emb_numbers(EMB_ENV, $input, &$2);
	if (!$1)
		EMB_FAIL;
	room = emb_room(EMB_ENV, $2, emb_call.record_bytes, &to);
	if (!to)
		EMB_FAIL;
	$3 = to;
}
%typemap(argout) (const uint64_t *EM_POSITIONS, uint64_t EM_N, void *EM_FOUND) {
	EMB_OUTPUT($result, emb_from_room(EMB_ENV, room$argnum, to$argnum, (size_t)($2 * emb_call.record_bytes)));
}
%typemap(in) (const void *EM_RECORDS, const uint64_t *EM_ENDS, uint64_t EM_N)
	(const void *side = NULL, emb_anchor anchor) {
	/* Of a receiver whose records have one size they are these. */
	if (emb_call.record_bytes) {
		$2 = NULL;
		side = emb_records(EMB_ENV, $input, &anchor, 0, &$3);
	}
	if (emb_call.record_bytes ? !side : emb_list(EMB_ENV, $input, &side, &$2, &$3))
		EMB_FAIL;
	$1 = ($1_ltype)(uintptr_t)side;
}
%typemap(in) const void *EM_RECORD (emb_anchor anchor) {
	$1 = ($1_ltype)(uintptr_t)emb_record(EMB_ENV, $input, &anchor, 0);
	if (!$1)
		EMB_FAIL;
}
%typemap(in) const void *EM_KEY (emb_anchor anchor) {
	$1 = NULL;
	if (!emb_is_nil(EMB_ENV, $input)) {
		$1 = ($1_ltype)(uintptr_t)emb_record(EMB_ENV, $input, &anchor, 1);
		if (!$1)
			EMB_FAIL;
	}
}
/* The receiver comes first, and says how large it is. */
%typemap(in, numinputs=0) void *EM_RECORD_OUT (emb_anchor room, char *to = NULL) {
	$1 = NULL;
}
%typemap(check) void *EM_RECORD_OUT {
	room$argnum = emb_room(EMB_ENV, 1, emb_call.record_bytes, &to$argnum);
	if (!to$argnum)
		EMB_FAIL;
	$1 = to$argnum;
	emb_now.brief = 1;
}
%typemap(argout) void *EM_RECORD_OUT {
	EMB_OUTPUT($result, emb_record_out(EMB_ENV, room$argnum, to$argnum));
}
%typemap(in, numinputs=0) const em_batch **EM_BATCH (const em_batch *got = NULL) {
	$1 = ($1_ltype)&got;
}
%typemap(argout) const em_batch **EM_BATCH {
	EMB_OUTPUT($result, emb_batch_out(EMB_ENV, got$argnum));
}
%typemap(in) (const void *EM_BYTES, size_t EM_NBYTES) (emb_anchor anchor) {
	$1 = ($1_ltype)(uintptr_t)emb_bytes(EMB_ENV, $input, &anchor, &$2);
	if (!$1)
		EMB_FAIL;
}
/* Otherwise those of results would do, as SWIG does not look at const, and takes one argument for the first of two. */
%typemap(check) const void *EM_RECORD, const void *EM_KEY, (const void *EM_BYTES, size_t EM_NBYTES),
	(const void *EM_RECORDS, uint64_t EM_N), (const void *EM_KEYS, uint64_t EM_N) "";
%typemap(argout) const void *EM_RECORD, const void *EM_KEY, (const void *EM_BYTES, size_t EM_NBYTES),
	(const void *EM_RECORDS, uint64_t EM_N), (const void *EM_KEYS, uint64_t EM_N) "";

/* Numbers that are results. */

%typemap(in, numinputs=0) uint64_t *EM_NUMBER (uint64_t value = 0) {
	$1 = &value;
}
%typemap(in, numinputs=0) uint64_t *EM_DONE (uint64_t value = 0) {
	$1 = &value;
	emb_call.done = &value;
}
%typemap(argout) uint64_t *EM_NUMBER, uint64_t *EM_DONE {
	EMB_OUTPUT($result, emb_from_u64(EMB_ENV, value$argnum));
}
%typemap(in, numinputs=0) size_t *EM_SIZE (size_t value = 0) {
	$1 = &value;
}
%typemap(argout) size_t *EM_SIZE {
	EMB_OUTPUT($result, emb_from_u64(EMB_ENV, value$argnum));
}
%typemap(in, numinputs=0) int *EM_INT (int value = 0) {
	$1 = &value;
}
%typemap(argout) int *EM_INT {
	EMB_OUTPUT($result, emb_from_i64(EMB_ENV, value$argnum));
}

/* Lists. */

%typemap(in) (const char *const *EM_PATHS, uint32_t EM_N) {
	$1 = ($1_ltype)emb_texts(EMB_ENV, $input, &$2);
	if (!$1)
		EMB_FAIL;
}
%typemap(in) (const em_key *EM_KEY_LIST, uint32_t EM_N) {
	$1 = emb_keys(EMB_ENV, $input, &$2);
	if (!$1)
		EMB_FAIL;
}
%typemap(in) (const em_text_key *EM_TEXT_KEYS, uint32_t EM_N) {
	$1 = emb_text_keys(EMB_ENV, $input, &$2);
	if (!$1)
		EMB_FAIL;
}

/* Functions of the caller's. */

%typemap(in) (uint64_t EM_OF, const char *EM_NAME, em_cmp_fn EM_CMP, uint32_t EM_FLAGS, void *EM_USER,
	      void (*EM_FREE)(void *user)) (const char *name = NULL) {
	$5 = emb_order_fn(EMB_ENV, $input, &$1, &name);
	if (!$5)
		EMB_FAIL;
	$2 = ($2_ltype)(uintptr_t)name;
	$3 = emb_cmp;
	$4 = 0;
	$6 = emb_fn_free;
}
%typemap(in) (uint64_t EM_OF, const char *EM_NAME, em_key_fn EM_KEY, uint32_t EM_FLAGS, void *EM_USER,
	      void (*EM_FREE)(void *user)) (const char *name = NULL) {
	$5 = emb_order_fn(EMB_ENV, $input, &$1, &name);
	if (!$5)
		EMB_FAIL;
	$2 = ($2_ltype)(uintptr_t)name;
	$3 = emb_key;
	$4 = 0;
	$6 = emb_fn_free;
}

%define EM_FUNCTION(T, trampoline)
%typemap(in) (T EM_FN, void *EM_USER) {
	$1 = NULL;
	$2 = NULL;
	if (!emb_is_nil(EMB_ENV, $input)) {
		if (!emb_fn_keep(emb_fn_new(EMB_ENV, $input, emb_call.record_bytes)))
			EMB_FAIL;
		emb_now.keep->shape = emb_now.first->shape;
		if (emb_now.keep->shape)
			emb_now.keep->shape->refs++;
		$1 = trampoline;
		$2 = emb_now.keep;
	}
}
%enddef
EM_FUNCTION(em_vector_visit_fn, emb_vector_visit)
EM_FUNCTION(em_vector_change_fn, emb_vector_change)
EM_FUNCTION(em_vector_test_fn, emb_vector_test)
%typemap(in) (em_disorder_fn EM_FN, void *EM_USER) (struct emb_fn *told = NULL) {
	/* Beside its progress, which is kept. */
	$1 = NULL;
	$2 = NULL;
	if (!emb_is_nil(EMB_ENV, $input)) {
		told = emb_fn_new(EMB_ENV, $input, 0);
		if (!told)
			EMB_FAIL;
		$1 = emb_disorder;
		$2 = told;
	}
}
%typemap(freearg) (em_disorder_fn EM_FN, void *EM_USER) {
	emb_fn_free(told$argnum);
	told$argnum = NULL;
}

/* Formats of records, orders by text, items. */

%typemap(in) const emb_spec * (struct emb_spec spec = { NULL, NULL, 0 }) {
	if (emb_spec_of(EMB_ENV, $input, &spec))
		EMB_FAIL;
	$1 = &spec;
}
%typemap(arginit) const emb_spec * {
	(void)emb_begin(EMB_ENV);
}
%typemap(freearg) const emb_spec * {
	emb_over();
}
/** Many records of a handle, side by side. */
%typemap(arginit) emb_items * (unsigned serial = 0) {
	serial = emb_begin(EMB_ENV);
}
%typemap(in) emb_items * (emb_items value = { NULL }) {
	value.h = emb_handle_of(EMB_ENV, $input);
	if (!value.h || emb_closed(value.h)) {
		emb_wrong(EMB_ENV, "a handle that is open is wanted here");
		EMB_FAIL;
	}
	emb_now.first = value.h;
	emb_call.record_bytes = value.h->record_bytes;
	emb_call.key_bytes = value.h->key_bytes ? value.h->key_bytes : value.h->record_bytes;
	emb_now.brief = 1;
	$1 = &value;
}
%typemap(freearg) emb_items * {
	emb_over();
}
%typemap(out) emb_many {
	if (emb_status(EMB_ENV, EM_OK))
		EMB_FAIL;
	EMB_FIRST($result, $1.list ? emb_many_out(EMB_ENV, arg1->h->shape, $1.from, $1.n, emb_call.record_bytes)
		  : emb_from_bytes(EMB_ENV, $1.from, (size_t)($1.n * emb_call.record_bytes)));
}
%{
typedef struct emb_spec emb_spec;

typedef struct emb_items {
	emb_handle *h;
} emb_items;

typedef struct emb_many {
	const char *from;
	uint64_t n;
	int list;
} emb_many;

static emb_many emb_side(const void *records, uint64_t n, int list)
{
	emb_many m;

	m.from = (const char *)records;
	m.n = n;
	m.list = list;
	return m;
}

/** Bytes of a handle's records as a list of items; and items, or bytes, as bytes. */
static emb_many emb_unpack(emb_items *of, const void *records, uint64_t n)
{
	(void)of;
	return emb_side(records, n, 1);
}

static emb_many emb_pack(emb_items *of, const void *records, uint64_t n)
{
	(void)of;
	return emb_side(records, n, 0);
}

/** Say what records of a handle look like. */
static em_status emb_retype(emb_items *of, const struct emb_spec *spec, em_errinfo *err)
{
	if (!spec->shape && of->h->record_bytes == 0)
		return EM_OK;
	if (!spec->shape || spec->shape->bytes != of->h->record_bytes) {
		snprintf(err->text, sizeof err->text, "%s", "records of that format have another size");
		return err->status = EM_ERR_INVAL;
	}
	emb_shape_unref(of->h->shape);
	of->h->shape = spec->shape;
	spec->shape->refs++;
	return EM_OK;
}
%}

/* What belongs to a language alone. */
#ifdef SWIGLUA
%native(error_class) int emb_lua_error_class(lua_State *L);
%native(number_of) int emb_lua_unsigned(lua_State *L);
%native(text_of) int emb_lua_text(lua_State *L);
%init %{
	emb_lua_init(L);
%}
#endif
#ifdef SWIGPERL
%init %{
	emb_perl_init();
%}
#endif
#ifdef SWIGRUBY
%init %{
	emb_ruby_init();
%}
#endif
#ifdef SWIGTCL
%init %{
	emb_tcl_init(interp);
%}
#endif
