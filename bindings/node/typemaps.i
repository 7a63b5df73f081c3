/* SPDX-License-Identifier: BSL-1.0 */
/*
 * How Node has what flat/typemaps.i asks for, by Node-API.
 *
 * Numbers are Number where that is exact, and otherwise BigInt, as arguments also where it is.  Bytes are Buffer, any
 * TypedArray, DataView or ArrayBuffer; what comes out is a Uint8Array of its own memory.  Texts and options are
 * strings.  Functions of the caller's are in a table of the facade, whose one function is called for all of them.
 */
#pragma SWIG nowarn=453

%{
#include <math.h>
#include <node_api.h>
#include <unordered_map>
#include <vector>

struct emb_view {
	const void *p;
	uint64_t n;
	int none;
};
%}

%define EM_AS_ID(pattern...)
%enddef
%define EM_AS_BYTES(pattern...)
%enddef
%define EM_AS_NUMBER(pattern...)
%enddef

%{
#define EMB_ID(x) emb_unsigned(env, x)
#define EMB_WHOLE(x) emb_unsigned(env, x)
#define EMB_VIEW(x, view, write) emb_view_get(env, x, &view)
#define EMB_TEXTS(x, view) emb_texts_get(env, x, &view)
#define EMB_UNVIEW(view) ((void)(view))

static uint64_t emb_unsigned(napi_env env, napi_value v);
static void emb_view_get(napi_env env, napi_value v, struct emb_view *view);
static void emb_texts_get(napi_env env, napi_value v, struct emb_view *view);
%}

%include "flat/typemaps.i"

%{
enum { EMB_UP_ERROR, EMB_UP_RELEASE, EMB_UP_CALL };

/* Of the thread: its environment, the function of the facade, and what a function of the caller's has thrown, in an
 * array, until the library returns. */
static thread_local napi_env emb_env;
static thread_local napi_ref emb_up, emb_thrown;

/* Objects of the facade by their handles: references that hold nothing, and are empty as soon as it was collected. */
static thread_local std::unordered_map<uint64_t, napi_ref> emb_objects;

struct emb_scope {
	napi_env env;
	napi_handle_scope scope;
	explicit emb_scope(napi_env of) : env(of) { napi_open_handle_scope(env, &scope); }
	~emb_scope() { napi_close_handle_scope(env, scope); }
};

static void emb_forget(uint64_t id)
{
	const auto at = emb_objects.find(id);

	if (at == emb_objects.end())
		return;
	napi_delete_reference(emb_env, at->second);
	emb_objects.erase(at);
}

/** A registry of finalizers is called when the job is over: who cannot wait for that looks what was collected. */
static int emb_up_collect(void)
{
	const int64_t more_than_it_may = INT64_C(1) << 50;
	std::vector<uint64_t> gone;
	int64_t all;
	int closed = 0;

	if (!emb_env)
		return 0;
	napi_adjust_external_memory(emb_env, more_than_it_may, &all);
	napi_adjust_external_memory(emb_env, -more_than_it_may, &all);
	for (const auto &one : emb_objects) {
		emb_scope scope(emb_env);
		napi_value object = NULL;

		if (napi_get_reference_value(emb_env, one.second, &object) == napi_ok && !object)
			gone.push_back(one.first);
	}
	/* What closes one may call the caller, who may make others. */
	for (const uint64_t id : gone) {
		emb_forget(id);
		closed |= emb_close(id, 1);
	}
	return closed;
}

/* Arguments. */

static uint64_t emb_unsigned(napi_env env, napi_value v)
{
	napi_valuetype type = napi_undefined;
	bool exact = false;
	uint64_t n = 0;
	double d = 0;

	napi_typeof(env, v, &type);
	if (type == napi_bigint)
		napi_get_value_bigint_uint64(env, v, &n, &exact);
	else if (type == napi_number && napi_get_value_double(env, v, &d) == napi_ok && d >= 0 &&
		 d <= 9007199254740991.0 && floor(d) == d)
		exact = true, n = (uint64_t)d;
	if (!exact)
		emb_refuse(EM_ERR_INVAL, "a BigInt of 64 bits, or a whole Number that is exact, is wanted here");
	return n;
}

static int32_t emb_signed(napi_env env, napi_value v)
{
	int32_t n = 0;

	if (napi_get_value_int32(env, v, &n) != napi_ok)
		emb_refuse(EM_ERR_INVAL, "a Number is wanted here");
	return n;
}

static size_t emb_element(napi_typedarray_type type)
{
	switch (type) {
	case napi_int8_array:
	case napi_uint8_array:
	case napi_uint8_clamped_array:
		return 1;
	case napi_int16_array:
	case napi_uint16_array:
		return 2;
	case napi_float64_array:
	case napi_bigint64_array:
	case napi_biguint64_array:
		return 8;
	default:
		return 4;
	}
}

static void emb_view_get(napi_env env, napi_value v, struct emb_view *view)
{
	napi_typedarray_type type;
	napi_valuetype kind = napi_undefined;
	napi_value whole;
	size_t n = 0, offset;
	void *p = NULL;
	bool is = false;

	memset(view, 0, sizeof *view);
	napi_typeof(env, v, &kind);
	view->none = kind == napi_undefined || kind == napi_null;
	if (!view->none && napi_is_typedarray(env, v, &is) == napi_ok && is) {
		napi_get_typedarray_info(env, v, &type, &n, &p, &whole, &offset);
		n *= emb_element(type);
	} else if (!view->none && napi_is_dataview(env, v, &is) == napi_ok && is) {
		napi_get_dataview_info(env, v, &n, &p, &whole, &offset);
	} else if (!view->none && napi_is_arraybuffer(env, v, &is) == napi_ok && is) {
		napi_get_arraybuffer_info(env, v, &p, &n);
	} else if (!view->none) {
		emb_refuse(EM_ERR_INVAL, "a Buffer, TypedArray, DataView or ArrayBuffer is wanted here");
	}
	view->p = p ? p : "";
	view->n = n;
}

/** The bytes of a string, or a Buffer that is one, and a zero; written if there is room. */
static size_t emb_string_get(napi_env env, napi_value v, char *to, size_t room)
{
	bool is = false;
	void *p = NULL;
	size_t n = 0;

	if (napi_is_buffer(env, v, &is) == napi_ok && is) {
		napi_get_buffer_info(env, v, &p, &n);
		if (n && memchr(p, 0, n))
			emb_refuse(EM_ERR_INVAL, "a string has a zero in it");
		else if (to && n < room)
			memcpy(to, p, n);
		return n + 1;
	}
	if (napi_get_value_string_utf8(env, v, to, room, &n) != napi_ok)
		emb_refuse(EM_ERR_INVAL, "a string, or an array of strings, is wanted here");
	else if (to && memchr(to, 0, n))
		emb_refuse(EM_ERR_INVAL, "a string has a zero in it");
	return n + 1;
}

/** Several strings, one behind the other: the bytes of all. */
static size_t emb_strings_get(napi_env env, napi_value list, uint32_t count, char *to, size_t room)
{
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < count && !emb_now.refused; i++) {
		emb_scope scope(env);
		napi_value v = NULL;

		napi_get_element(env, list, i, &v);
		at += emb_string_get(env, v, to ? to + at : NULL, to ? room - at : 0);
	}
	return at;
}

/** Texts are a string or an array of strings. */
static void emb_texts_get(napi_env env, napi_value v, struct emb_view *view)
{
	napi_valuetype kind = napi_undefined;
	bool many = false;
	uint32_t count = 0;
	char *to = NULL;
	int pass;

	memset(view, 0, sizeof *view);
	napi_typeof(env, v, &kind);
	view->none = kind == napi_undefined || kind == napi_null;
	if (!view->none && napi_is_array(env, v, &many) == napi_ok && many)
		napi_get_array_length(env, v, &count);
	/* How many bytes there are, and then these. */
	for (pass = 0; pass < 2 && !view->none && !emb_now.refused; pass++) {
		const size_t n = many ? emb_strings_get(env, v, count, to, (size_t)view->n)
			: emb_string_get(env, v, to, (size_t)view->n);

		if (to && n != view->n)
			emb_refuse(EM_ERR_INVAL, "an array changes while it is looked at");
		if (!to && (to = (char *)emb_temp(n)))
			view->n = n;
	}
	view->p = to ? to : "";
}

/* Results. */

/** A Number, or, where that is not exact, a BigInt. */
static napi_value emb_whole(napi_env env, uint64_t n)
{
	napi_value v = NULL;

	if (n <= 9007199254740991)
		napi_create_double(env, (double)n, &v);
	else
		napi_create_bigint_uint64(env, n, &v);
	return v;
}

static napi_value emb_bigint(napi_env env, uint64_t n)
{
	napi_value v = NULL;

	napi_create_bigint_uint64(env, n, &v);
	return v;
}

static napi_value emb_int(napi_env env, double n)
{
	napi_value v = NULL;

	napi_create_double(env, n, &v);
	return v;
}

static napi_value emb_string(napi_env env, const char *s)
{
	napi_value v = NULL;

	if (!s)
		napi_get_null(env, &v);
	else
		napi_create_string_utf8(env, s, NAPI_AUTO_LENGTH, &v);
	return v;
}

static napi_value emb_bytes(napi_env env, const void *data, size_t bytes)
{
	napi_value buffer, v = NULL;
	void *p = NULL;

	if (napi_create_arraybuffer(env, bytes, &p, &buffer) != napi_ok)
		return NULL;
	if (bytes)
		memcpy(p, data, bytes);
	napi_create_typedarray(env, napi_uint8_array, bytes, buffer, 0, &v);
	return v;
}

static napi_value emb_call_up(napi_env env, size_t n, const napi_value *argument)
{
	napi_value fn, self, result = NULL;

	if (!emb_up || napi_get_reference_value(env, emb_up, &fn) != napi_ok)
		return NULL;
	napi_get_undefined(env, &self);
	return napi_call_function(env, self, fn, n, argument, &result) == napi_ok ? result : NULL;
}

/** The call fails with what a function has thrown, or an exception that the facade makes of the detail. */
static void emb_throw(napi_env env, em_status status)
{
	const em_errinfo *e = &emb_call.detail;
	napi_value a[11], x = NULL;

	if (emb_thrown) {
		if (napi_get_reference_value(env, emb_thrown, &x) == napi_ok)
			napi_get_element(env, x, 0, &x);
		napi_delete_reference(env, emb_thrown);
		emb_thrown = NULL;
	} else {
		a[0] = emb_int(env, EMB_UP_ERROR);
		a[1] = emb_int(env, status);
		a[2] = emb_int(env, e->sys_errno);
		a[3] = emb_string(env, e->op);
		a[4] = emb_string(env, e->path);
		a[5] = emb_bigint(env, e->offset);
		a[6] = emb_bigint(env, e->bytes);
		a[7] = emb_bigint(env, e->record);
		a[8] = emb_string(env, e->text);
		a[9] = emb_string(env, em_status_name(status));
		napi_get_undefined(env, &a[10]);
		if (emb_call.done)
			a[10] = emb_bigint(env, *emb_call.done);
		x = emb_call_up(env, 11, a);
	}
	if (x)
		napi_throw(env, x);
}

static napi_value emb_return(napi_env env, em_status status)
{
	struct emb_result r;
	napi_value v = NULL, all = NULL;
	int i;

	emb_complete(&r, status);
	if (r.status < 0 || emb_thrown) {
		emb_throw(env, r.status);
		return NULL;
	}
	if (r.n == 0 && emb_now.n == 0)
		return emb_int(env, r.status);
	napi_get_null(env, &v);
	if (r.n > 1)
		napi_create_array(env, &all);
	for (i = 0; i < r.n; i++) {
		const struct emb_item *t = &r.item[i];

		if (t->type == EMB_NUMBER)
			v = emb_whole(env, t->number);
		else if (t->type == EMB_SIGNED)
			v = emb_int(env, (double)(int64_t)t->number);
		else if (t->type == EMB_BYTES_COPY)
			v = emb_bytes(env, t->data, t->bytes);
		else
			napi_create_string_utf8(env, (const char *)t->data, t->bytes, &v);
		if (all && v)
			napi_set_element(env, all, (uint32_t)i, v);
	}
	return all ? all : v;
}

/** What is no status: true if the call was not made, and throws. */
static bool emb_failing(napi_env env)
{
	if (emb_now.refused)
		emb_throw(env, emb_now.refused);
	return emb_now.refused != 0;
}

/* Functions of the caller's. */

static void emb_keep_thrown(napi_env env)
{
	napi_value x = NULL, list;

	if (napi_get_and_clear_last_exception(env, &x) != napi_ok || !x || emb_thrown)
		return;
	napi_create_array(env, &list);
	napi_set_element(env, list, 0, x);
	napi_create_reference(env, list, 1, &emb_thrown);
}

/** Call it: its result, or NULL. */
static napi_value emb_call_fn(uint64_t id, napi_value a, napi_value b, napi_value c)
{
	napi_value all[5], r;

	if (emb_thrown)
		return NULL;
	all[0] = emb_int(emb_env, EMB_UP_CALL);
	all[1] = emb_int(emb_env, (double)id);
	all[2] = a;
	all[3] = b;
	all[4] = c;
	r = emb_call_up(emb_env, c ? 5 : b ? 4 : 3, all);
	if (!r)
		emb_keep_thrown(emb_env);
	return r;
}

static bool emb_truth(napi_value v)
{
	bool is = false;

	return v && napi_coerce_to_bool(emb_env, v, &v) == napi_ok &&
	       napi_get_value_bool(emb_env, v, &is) == napi_ok && is;
}

static void emb_up_release(uint64_t id)
{
	napi_value a[2], x = NULL;
	bool pending = false;

	if (!emb_env)
		return;
	emb_scope scope(emb_env);
	if (napi_is_exception_pending(emb_env, &pending) == napi_ok && pending)
		napi_get_and_clear_last_exception(emb_env, &x);
	a[0] = emb_int(emb_env, EMB_UP_RELEASE);
	a[1] = emb_int(emb_env, (double)id);
	emb_call_up(emb_env, 2, a);
	if (x)
		napi_throw(emb_env, x);
}

static int emb_up_progress(uint64_t id, uint32_t phase, uint64_t done, uint64_t total)
{
	emb_scope scope(emb_env);
	napi_value r = emb_call_fn(id, emb_int(emb_env, phase), emb_whole(emb_env, done), emb_whole(emb_env, total));

	return !r || emb_truth(r);
}

static int emb_up_cmp(uint64_t id, const void *a, const void *b, size_t bytes, int *result)
{
	emb_scope scope(emb_env);
	napi_value r = emb_call_fn(id, emb_bytes(emb_env, a, bytes), emb_bytes(emb_env, b, bytes), NULL);
	double d = 0;

	if (!r)
		return -1;
	if (napi_get_value_double(emb_env, r, &d) != napi_ok || d != d)
		return -1;
	*result = d < 0 ? -1 : d > 0;
	return 0;
}

static int emb_up_keys(uint64_t id, const void *records, size_t bytes, uint64_t *keys, size_t n)
{
	emb_scope scope(emb_env);
	napi_value r = emb_call_fn(id, emb_bytes(emb_env, records, bytes), emb_int(emb_env, (double)n), NULL);
	struct emb_view view;

	if (!r)
		return -1;
	emb_view_get(emb_env, r, &view);
	if (emb_now.refused || view.n != n * sizeof *keys)
		return -1;
	memcpy(keys, view.p, n * sizeof *keys);
	return 0;
}

static int emb_up_visit(uint64_t id, uint64_t i, void *records, size_t bytes, int change)
{
	emb_scope scope(emb_env);
	napi_value copy = emb_bytes(emb_env, records, bytes);
	struct emb_view view;

	if (!copy || !emb_call_fn(id, emb_whole(emb_env, i), copy, NULL))
		return -1;
	emb_view_get(emb_env, copy, &view);
	if (change && view.n != bytes)
		return -1;
	if (change)
		memcpy(records, view.p, bytes);
	return 0;
}

static int emb_up_test(uint64_t id, const void *record, size_t bytes, int *result)
{
	emb_scope scope(emb_env);
	napi_value r = emb_call_fn(id, emb_bytes(emb_env, record, bytes), NULL, NULL);

	*result = emb_truth(r);
	return r ? 0 : -1;
}

static int emb_up_disorder(uint64_t id, uint64_t number, const void *record, size_t bytes)
{
	emb_scope scope(emb_env);

	return emb_call_fn(id, emb_whole(emb_env, number), emb_bytes(emb_env, record, bytes), NULL) ? 0 : -1;
}

static int emb_up_ask(struct emb_fn *f, const void *a, size_t na, const void *b, size_t nb)
{
	emb_scope scope(emb_env);
	napi_value none, r;
	struct emb_view view;
	char *to;

	napi_get_null(emb_env, &none);
	r = emb_call_fn(f->id, a ? emb_bytes(emb_env, a, na) : none, b ? emb_bytes(emb_env, b, nb) : none, NULL);
	if (!r)
		return -1;
	emb_view_get(emb_env, r, &view);
	if (view.none)
		return 0;
	to = emb_now.refused ? NULL : emb_answer(f, (size_t)view.n);
	if (to)
		memcpy(to, view.p, (size_t)view.n);
	return to ? 0 : -1;
}

/** With nobody to throw to. */
static int emb_up_log(uint64_t id, int32_t level, const char *line)
{
	napi_value x, a[4];
	bool pending = true;

	if (!emb_env || napi_is_exception_pending(emb_env, &pending) != napi_ok || pending)
		return -1;
	emb_scope scope(emb_env);
	a[0] = emb_int(emb_env, EMB_UP_CALL);
	a[1] = emb_int(emb_env, (double)id);
	a[2] = emb_int(emb_env, level);
	a[3] = emb_string(emb_env, line);
	if (!emb_call_up(emb_env, 4, a))
		napi_get_and_clear_last_exception(emb_env, &x);
	return 0;
}

static void emb_env_ends(void *unused)
{
	(void)unused;
	emb_env = NULL;
	emb_up = emb_thrown = NULL;
	emb_objects.clear();
}

/** The facade has the function that is called for those of the caller's. */
static napi_value emb_js_set_up(napi_env env, napi_callback_info info)
{
	napi_value a, v = NULL;
	size_t n = 1;

	napi_get_cb_info(env, info, &n, &a, NULL, NULL);
	if (!emb_env)
		napi_add_env_cleanup_hook(env, emb_env_ends, NULL);
	emb_env = env;
	napi_create_reference(env, a, 1, &emb_up);
	napi_get_undefined(env, &v);
	return v;
}

/** An object of the facade has this handle. */
static napi_value emb_js_made(napi_env env, napi_callback_info info)
{
	napi_value a[2], v = NULL;
	napi_ref ref;
	size_t n = 2;

	napi_get_cb_info(env, info, &n, a, NULL, NULL);
	if (napi_create_reference(env, a[0], 0, &ref) == napi_ok)
		emb_objects[emb_unsigned(env, a[1])] = ref;
	napi_get_undefined(env, &v);
	return v;
}

static em_status emb_js_close(uint64_t id, int collected)
{
	if (emb_close(id, collected)) {
		emb_forget(id);
		return EM_OK;
	}
	emb_refuse(EM_ERR_BUSY, "a call is in progress on what it is a part of");
	return EM_ERR_BUSY;
}
%}

%init %{
	napi_value fn;

	napi_create_function(env, "set_up", NAPI_AUTO_LENGTH, emb_js_set_up, NULL, &fn);
	napi_set_named_property(env, exports, "set_up", fn);
	napi_create_function(env, "made", NAPI_AUTO_LENGTH, emb_js_made, NULL, &fn);
	napi_set_named_property(env, exports, "made", fn);
%}

%typemap(in) uint64_t, unsigned long long, size_t, unsigned long, uint32_t, unsigned int {
	$1 = ($1_ltype)emb_unsigned(env, $input);
}
%typemap(in) int, int32_t, em_status {
	$1 = ($1_ltype)emb_signed(env, $input);
}
%typemap(freearg) uint64_t, unsigned long long, size_t, unsigned long, uint32_t, unsigned int, int, int32_t, em_status {
	emb_finish();
}
%typemap(out) em_status {
	$result = Napi::Value(env, emb_return(env, emb_now.refused ? emb_now.refused : $1));
}
%typemap(out) uint64_t, unsigned long long {
	if (!emb_failing(env))
		$result = Napi::Value(env, emb_whole(env, $1));
}
%typemap(out) uint32_t, unsigned int, int, int32_t, size_t, unsigned long {
	if (!emb_failing(env))
		$result = Napi::Value(env, emb_int(env, (double)$1));
}
%typemap(out) const char * {
	if (!emb_failing(env))
		$result = Napi::Value(env, emb_string(env, $1));
}
%typemap(out) void {
	if (!emb_failing(env))
		$result = env.Undefined();
}

/* What the facade calls beside the library. */
%rename(emb_close) emb_js_close;
em_status emb_js_close(uint64_t id, int collected);
void emb_cancel(uint64_t id);
int emb_is_open(uint64_t id);
