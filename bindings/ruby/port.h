/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Values of Ruby for script/typemaps.i: script/values.h tells what each function does.  This is C++, for one reason:
 * what a wrapper does becomes a function that runs without the interpreter's lock (EMB_WORK).
 *
 * Calls that are about one record, or only tell something, keep the lock.  The others release it, and take it back
 * for functions of the caller's.  Signals are looked at when progress is told.
 */
#ifndef EMB_RUBY_PORT_H
#define EMB_RUBY_PORT_H

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include <ruby/thread.h>

#include "call.h"
#include "kinds.h"

typedef void emb_env;
typedef VALUE emb_value;
typedef volatile VALUE emb_anchor;
typedef VALUE emb_kept;

#define EMB_COLLECTOR

#include "script/values.h"
#include "script/temps.h"

static const char emb_ruby = 0;

#define EMB_ENV ((emb_env *)(uintptr_t)&emb_ruby)
#define EMB_FIRST(result, value) (result = (value))
#define EMB_PUT(result, value) emb_put(&result, (value))
#define EMB_FAIL emb_jump()
#define EMB_WORK(action)                                                      \
	auto emb_work = [&]() { action };                                     \
	for (bool emb_done = false; !emb_done;) {                             \
		if (emb_enter(EMB_ENV))                                       \
			EMB_FAIL;                                             \
		if (emb_now.brief)                                            \
			emb_work();                                           \
		emb_done = emb_now.brief || emb_unlocked(emb_work);           \
		if (emb_done) {                                               \
			emb_leave(EMB_ENV);                                   \
		} else {                                                      \
			emb_pause(EMB_ENV);                                   \
			rb_thread_check_ints();                               \
		}                                                             \
	}

static __thread VALUE emb_pending; /* It is raised before anything else is made. */
static __thread VALUE emb_raised;  /* Registered as long as it is there. */
static __thread int emb_tag;       /* What is no exception, as throw and break: how it goes on; 0: there is none. */
static __thread int emb_unlocked_now;
static VALUE emb_make_error, emb_handle_class;

/** Several results are an array. */
static void emb_put(VALUE *result, VALUE v)
{
	if (emb_call.outputs++ == 0)
		*result = v;
	else if (emb_call.outputs == 2)
		*result = rb_ary_new_from_args(2, *result, v);
	else
		rb_ary_push(*result, v);
}

/** Leave with what is pending. */
static void emb_jump(void)
{
	const int tag = emb_tag;

	emb_tag = 0;
	emb_temps_free();
	if (tag)
		rb_jump_tag(tag);
	rb_exc_raise(emb_pending);
}

template <class work_type> static bool emb_unlocked(work_type &work)
{
	struct run {
		work_type *work;
		bool done;
	} r = { &work, false };

	/* Where a signal is waiting it does nothing. */
	rb_thread_call_without_gvl2(
		[](void *p) -> void * {
			struct run *of = (struct run *)p;

			emb_unlocked_now = 1;
			(*of->work)();
			emb_unlocked_now = 0;
			of->done = true;
			return NULL;
		},
		&r, NULL, NULL);
	return r.done;
}

static int emb_wrong(emb_env *env, const char *format, ...)
{
	char text[256];
	va_list args;

	(void)env;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	emb_pending = rb_exc_new_cstr(rb_eArgError, text);
	return -1;
}

/* Values that are given. */

static int emb_is_nil(emb_env *env, emb_value v)
{
	(void)env;
	return NIL_P(v);
}

static int emb_is_true(emb_env *env, emb_value v)
{
	(void)env;
	return RTEST(v) ? 1 : 0;
}

static int emb_is_boolean(emb_env *env, emb_value v)
{
	(void)env;
	return v == Qtrue || v == Qfalse;
}

static int emb_is_bytes(emb_env *env, emb_value v)
{
	(void)env;
	return RB_TYPE_P(v, T_STRING);
}

static int emb_is_function(emb_env *env, emb_value v)
{
	(void)env;
	return rb_respond_to(v, rb_intern("call"));
}

static const char *emb_bytes_of(emb_env *env, emb_value v, size_t *n)
{
	(void)env;
	*n = (size_t)RSTRING_LEN(v);
	return RSTRING_PTR(v);
}

/** What is frozen shares the bytes, until the string changes. */
static const char *emb_hold(emb_env *env, emb_value v, emb_anchor *anchor, size_t *n)
{
	*anchor = rb_str_new_frozen(v);
	return emb_bytes_of(env, *anchor, n);
}

/** A string, a symbol, or what has a path. */
static const char *emb_text_of(emb_env *env, emb_value v)
{
	char *copy;
	size_t n;

	if (RB_TYPE_P(v, T_SYMBOL))
		v = rb_sym2str(v);
	else if (!RB_TYPE_P(v, T_STRING))
		v = rb_check_funcall(v, rb_intern("to_path"), 0, NULL);
	if (v == Qundef || !RB_TYPE_P(v, T_STRING)) {
		emb_wrong(env, "a text or a path is wanted here");
		return NULL;
	}
	n = (size_t)RSTRING_LEN(v);
	if (memchr(RSTRING_PTR(v), 0, n)) {
		emb_wrong(env, "a text may have no byte 0");
		return NULL;
	}
	copy = (char *)emb_temp(env, n + 1);
	if (copy)
		memcpy(copy, RSTRING_PTR(v), n);
	return copy;
}

static int emb_u64_like(emb_env *env, emb_value v)
{
	(void)env;
	return RB_INTEGER_TYPE_P(v) || RB_FLOAT_TYPE_P(v);
}

/** The amount of an integer, if it has 64 bits: its sign; otherwise 2 with an exception. */
static int emb_amount(emb_env *env, emb_value v, uint64_t *to)
{
	int sign;

	*to = v == Qtrue;
	if (v == Qtrue || v == Qfalse)
		return 1;
	if (!RB_INTEGER_TYPE_P(v)) {
		emb_wrong(env, "an Integer is wanted here");
		return 2;
	}
	sign = rb_integer_pack(v, to, 1, sizeof *to, 0, INTEGER_PACK_LSWORD_FIRST | INTEGER_PACK_NATIVE_BYTE_ORDER);
	if (sign >= -1 && sign <= 1)
		return sign;
	emb_wrong(env, "an Integer of 64 bits is wanted here");
	return 2;
}

static int emb_u64_of(emb_env *env, emb_value v, uint64_t *to)
{
	const int sign = emb_amount(env, v, to);

	return sign == 2 ? -1 : sign < 0 ? emb_wrong(env, "an Integer that is not below 0 is wanted here") : 0;
}

static int emb_i64_of(emb_env *env, emb_value v, int64_t *to)
{
	uint64_t amount = 0;
	const int sign = emb_amount(env, v, &amount);

	if (sign == 2)
		return -1;
	if (amount > (uint64_t)INT64_MAX + (sign < 0))
		return emb_wrong(env, "an Integer of 64 bits with its sign is wanted here");
	*to = (int64_t)(sign < 0 ? 0 - amount : amount);
	return 0;
}

static int emb_double_of(emb_env *env, emb_value v, double *to)
{
	if (!RB_INTEGER_TYPE_P(v) && !RB_FLOAT_TYPE_P(v))
		return emb_wrong(env, "a Float is wanted here");
	*to = rb_num2dbl(v);
	return 0;
}

static int64_t emb_list_size(emb_env *env, emb_value v)
{
	(void)env;
	return RB_TYPE_P(v, T_ARRAY) ? (int64_t)RARRAY_LEN(v) : -1;
}

static emb_value emb_list_get(emb_env *env, emb_value v, uint64_t i)
{
	(void)env;
	return rb_ary_entry(v, (long)i);
}

static int emb_is_dict(emb_env *env, emb_value v)
{
	(void)env;
	return RB_TYPE_P(v, T_HASH);
}

static emb_value emb_dict_get(emb_env *env, emb_value v, const char *name, int *there)
{
	const VALUE found = rb_hash_lookup2(v, ID2SYM(rb_intern(name)), Qundef);

	(void)env;
	*there = found != Qundef;
	return *there ? found : Qnil;
}

static uint64_t emb_dict_size(emb_env *env, emb_value v)
{
	(void)env;
	return (uint64_t)RHASH_SIZE(v);
}

static int emb_mark(emb_env *env)
{
	(void)env;
	return 0;
}

static void emb_reset(emb_env *env, int mark)
{
	(void)env;
	(void)mark;
}

/* Values that are made. */

static emb_value emb_nil(emb_env *env)
{
	(void)env;
	return Qnil;
}

static emb_value emb_from_bytes(emb_env *env, const void *bytes, size_t n)
{
	(void)env;
	return rb_str_new((const char *)bytes, (long)n);
}

static emb_value emb_from_text(emb_env *env, const char *text)
{
	(void)env;
	return rb_utf8_str_new_cstr(text);
}

static emb_value emb_from_i64(emb_env *env, int64_t n)
{
	(void)env;
	return LL2NUM(n);
}

static emb_value emb_from_u64(emb_env *env, uint64_t n)
{
	(void)env;
	return ULL2NUM(n);
}

static emb_value emb_from_double(emb_env *env, double x)
{
	(void)env;
	return DBL2NUM(x);
}

static emb_value emb_list_new(emb_env *env, uint64_t n)
{
	(void)env;
	return rb_ary_new_capa((long)n);
}

static void emb_list_put(emb_env *env, emb_value list, uint64_t i, emb_value v)
{
	(void)env;
	rb_ary_store(list, (long)i, v);
}

static emb_value emb_dict_new(emb_env *env)
{
	(void)env;
	return rb_hash_new();
}

static void emb_dict_put(emb_env *env, emb_value dict, const char *name, emb_value v)
{
	(void)env;
	rb_hash_aset(dict, ID2SYM(rb_intern(name)), v);
}

static emb_value emb_room(emb_env *env, uint64_t n, uint64_t unit, char **to)
{
	VALUE room;

	*to = NULL;
	if (unit == 0 || n > (LONG_MAX >> 1) / unit) {
		emb_refuse(env, EM_ERR_INVAL, unit == 0 ? "its records have no size" : "so many records fit nowhere");
		return Qnil;
	}
	room = rb_str_new(NULL, (long)(n * unit));
	*to = RSTRING_PTR(room);
	return room;
}

static emb_value emb_from_room(emb_env *env, emb_value room, const char *from, size_t n)
{
	(void)env;
	(void)from;
	rb_str_set_len(room, (long)n);
	return room;
}

/* Errors. */

static void emb_throw(emb_env *env, const em_errinfo *e, const uint64_t *done)
{
	VALUE d = emb_dict_new(env);

	emb_dict_put(env, d, "status", emb_from_i64(env, e->status));
	emb_dict_put(env, d, "name", emb_from_text(env, em_status_name(e->status)));
	emb_dict_put(env, d, "errno", emb_from_i64(env, e->sys_errno));
	emb_dict_put(env, d, "op", emb_from_text(env, e->op));
	emb_dict_put(env, d, "message", emb_from_text(env, e->text));
	if (e->path[0])
		emb_dict_put(env, d, "path", emb_from_text(env, e->path));
	if (e->offset != UINT64_MAX)
		emb_dict_put(env, d, "offset", emb_from_u64(env, e->offset));
	if (e->bytes)
		emb_dict_put(env, d, "bytes", emb_from_u64(env, e->bytes));
	if (e->record)
		emb_dict_put(env, d, "record", emb_from_u64(env, e->record));
	if (done)
		emb_dict_put(env, d, "done", emb_from_u64(env, *done));
	emb_pending = rb_funcall(emb_make_error, rb_intern("call"), 1, d);
}

static int emb_reraise(emb_env *env)
{
	(void)env;
	if (emb_tag)
		return 1;
	if (!emb_raised)
		return 0;
	emb_pending = emb_raised;
	rb_gc_unregister_address(&emb_raised);
	emb_raised = 0;
	return 1;
}

struct emb_ran {
	int (*body)(emb_env *, struct emb_job *);
	struct emb_job *job;
	int failed;
};

static VALUE emb_protected(VALUE p)
{
	struct emb_ran *ran = (struct emb_ran *)p;

	if (ran->body(EMB_ENV, ran->job))
		rb_exc_raise(emb_pending);
	return Qnil;
}

static void *emb_locked(void *p)
{
	struct emb_ran *ran = (struct emb_ran *)p;
	int tag = 0;

	rb_protect(emb_protected, (VALUE)p, &tag);
	ran->failed = tag != 0;
	if (tag && RTEST(rb_obj_is_kind_of(rb_errinfo(), rb_eException))) {
		emb_raised = rb_errinfo();
		rb_gc_register_address(&emb_raised);
		rb_set_errinfo(Qnil);
	} else {
		emb_tag = tag;
	}
	return NULL;
}

static int emb_run(emb_env *env, int (*body)(emb_env *, struct emb_job *), struct emb_job *job)
{
	struct emb_ran ran = { body, job, 0 };

	(void)env;
	if (emb_raised || emb_tag)
		return -1;
	if (emb_unlocked_now) {
		emb_unlocked_now = 0;
		rb_thread_call_with_gvl(emb_locked, &ran);
		emb_unlocked_now = 1;
	} else {
		emb_locked(&ran);
	}
	return ran.failed ? -1 : 0;
}

static int emb_interrupted(emb_env *env)
{
	(void)env;
	rb_thread_check_ints();
	return 0;
}

/** What a collection frees is closed when interrupts are looked at.  GC.start collects also behind GC.disable, and
 *  rb_gc_start() does nothing there. */
static int emb_collect_body(emb_env *env, struct emb_job *j)
{
	(void)env;
	(void)j;
	rb_funcall(rb_mGC, rb_intern("start"), 0);
	rb_thread_check_ints();
	return 0;
}

#include "script/objects.h"

/** The collector finds it there, or, of a handle, by that. */
static void emb_keep(emb_env *env, struct emb_fn *f, emb_value v)
{
	(void)env;
	f->callable = v;
	rb_gc_register_address(&f->callable);
}

static void *emb_unregister(void *address)
{
	rb_gc_unregister_address((VALUE *)address);
	return NULL;
}

/** The library frees functions at the end of a stream, too, which is when the lock is not held. */
static void emb_unkeep(emb_env *env, struct emb_fn *f)
{
	(void)env;
	if (!emb_unlocked_now) {
		emb_unregister(&f->callable);
		return;
	}
	emb_unlocked_now = 0;
	rb_thread_call_with_gvl(emb_unregister, &f->callable);
	emb_unlocked_now = 1;
}

static void emb_pin(emb_env *env, struct emb_fn *f)
{
	(void)env;
	(void)f;
}

static int emb_call_fn(emb_env *env, struct emb_fn *f, int n, const emb_value *argv, emb_value *result)
{
	(void)env;
	*result = rb_funcallv(f->callable, rb_intern("call"), n, argv);
	return 0;
}

/* Handles. */

static void emb_mark_orders(const struct emb_orders *o)
{
	for (; o; o = o->next) {
		if (o->order->fn)
			rb_gc_mark(o->order->fn->callable);
	}
}

/** Values of handles keep functions, those of a group all of its, and what was made with an order that of this: a block
 *  often shows the variable that has the object. */
static void emb_handle_mark(void *p)
{
	emb_handle *h = (emb_handle *)p;
	const struct emb_fn *f;

	if (h->fn)
		rb_gc_mark(h->fn->callable);
	emb_mark_orders(h->orders);
	emb_mark_orders(emb_root(h)->orders);
	for (f = h->keep; f; f = f->next)
		rb_gc_mark(f->callable);
	for (f = emb_root(h)->nodes; f; f = f->next)
		rb_gc_mark(f->callable);
}

static void emb_handle_free(void *p)
{
	const int before = emb_collecting;

	emb_collecting = 1;
	emb_drop(EMB_ENV, (emb_handle *)p);
	emb_collecting = before;
}

static const rb_data_type_t emb_handle_type = {
	"Extmem::Handle", { emb_handle_mark, emb_handle_free, NULL, NULL, { NULL } }, NULL, NULL, 0
};

static emb_handle *emb_handle_of(emb_env *env, emb_value v)
{
	(void)env;
	return rb_typeddata_is_kind_of(v, &emb_handle_type) ? (emb_handle *)RTYPEDDATA_DATA(v) : NULL;
}

static void emb_has(struct emb_fn *f)
{
	for (; f; f = f->next) {
		if (!f->slot)
			rb_gc_unregister_address(&f->callable);
		f->slot = 1;
	}
}

static emb_value emb_from_handle(emb_env *env, emb_handle *h)
{
	VALUE v;

	if (!h)
		return emb_nil(env);
	v = rb_data_typed_object_wrap(emb_handle_class, h, &emb_handle_type);
	emb_has(h->keep);
	emb_has(h->fn);
	emb_has(emb_root(h)->nodes);
	return v;
}

static VALUE emb_ruby_close(VALUE self)
{
	(void)emb_begin(EMB_ENV);
	if (emb_close(EMB_ENV, emb_handle_of(EMB_ENV, self)))
		emb_jump();
	return Qnil;
}

static VALUE emb_ruby_cancel(VALUE self)
{
	emb_handle *h = emb_handle_of(EMB_ENV, self);

	if (h->object && h->kind->cancel)
		h->kind->cancel(h->object);
	return Qnil;
}

static VALUE emb_ruby_closed(VALUE self)
{
	return emb_closed(emb_handle_of(EMB_ENV, self)) ? Qtrue : Qfalse;
}

/** Who makes exceptions of hashes. */
static VALUE emb_ruby_set_error(VALUE self, VALUE maker)
{
	(void)self;
	emb_make_error = maker;
	return Qnil;
}

static void emb_ruby_init(void)
{
	VALUE module = rb_define_module("Extmem");

	rb_gc_register_address(&emb_make_error);
	rb_gc_register_address(&emb_handle_class);
	emb_handle_class = rb_define_class_under(module, "Handle", rb_cObject);
	rb_undef_alloc_func(emb_handle_class);
	rb_define_method(emb_handle_class, "close", RUBY_METHOD_FUNC(emb_ruby_close), 0);
	rb_define_method(emb_handle_class, "cancel", RUBY_METHOD_FUNC(emb_ruby_cancel), 0);
	rb_define_method(emb_handle_class, "closed?", RUBY_METHOD_FUNC(emb_ruby_closed), 0);
	rb_define_singleton_method(emb_handle_class, "errors=", RUBY_METHOD_FUNC(emb_ruby_set_error), 1);
}

#endif
