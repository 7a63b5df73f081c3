/* SPDX-License-Identifier: BSL-1.0 */
/*
 * How Java has what flat/typemaps.i asks for, by JNI.
 *
 * Functions of the module Raw take objects, texts, options and functions as they are, and throw.  Below it, in RawJNI,
 * numbers are long, with all 64 bits.  Bytes are a direct ByteBuffer from its beginning to its capacity, or an array of
 * any primitive type, which is copied, as the library may wait or call Java meanwhile.  A call with a status returns an
 * object: null, a Long, an array of bytes, several of these in an array, Native.END where there is none, or a
 * Throwable, which Raw throws.  So nothing is pending while the library works.
 */
#pragma SWIG nowarn=453

/* An argument: as C has it, as methods of Raw have it, and what makes the one of the other. */
%define EM_JAVA(in_c, below, type, make, pattern...)
%typemap(jni) pattern #in_c
%typemap(jtype) pattern #below
%typemap(jstype) pattern #type
%typemap(javain) pattern #make
%enddef
/* The same of what is to live until the call is over. */
%define EM_JAVA_ALIVE(in_c, below, type, make, pattern...)
EM_JAVA(in_c, below, type, make, pattern)
%typemap(javain, post="      java.lang.ref.Reference.reachabilityFence($javainput);") pattern #make
%enddef
%define EM_AS_ID(pattern...)
EM_JAVA_ALIVE(jlong, long, Handle, $javainput.id(), pattern)
%enddef
%define EM_AS_TOLD(pattern...)
EM_JAVA_ALIVE(jlong, long, Handle, $javainput.id, pattern)
%enddef
%define EM_AS_BYTES(pattern...)
EM_JAVA(jobject, Object, Object, $javainput, pattern)
%enddef
%define EM_AS_OPTIONS(pattern...)
EM_JAVA_ALIVE(jobject, Object, Options, Options.encode($javainput), pattern)
%enddef
%define EM_AS_NUMBER(pattern...)
EM_JAVA(jlong, long, Object, Native.keep($javainput), pattern)
%enddef

%{
#include <jni.h>

struct emb_view {
	const void *p;
	uint64_t n;
	int none;
	jarray array;      /* What is copied here, ... */
	void *copy;        /* ... to be freed, ... */
	int write;         /* ... or copied back before. */
	uint64_t small[8]; /* One record. */
};
#define EMB_ID(x) ((uint64_t)(x))
#define EMB_WHOLE(x) ((uint64_t)(x))
#define EMB_VIEW(x, view, write) emb_view_get(jenv, x, &view, write)
#define EMB_UNVIEW(view) emb_view_end(jenv, &view)

static void emb_view_get(JNIEnv *env, jobject o, struct emb_view *view, int write);
static void emb_view_end(JNIEnv *env, struct emb_view *view);
%}

%include "flat/typemaps.i"

EM_JAVA_ALIVE(jobject, Object, Iterable<? extends Handle>, Native.ids($javainput),
	      (em_stream *const *EM_INPUTS, uint32_t EM_N))
EM_JAVA_ALIVE(jobject, Object, Iterable<? extends Handle>, Native.ids($javainput),
	      (em_sink *const *EM_SINKS, uint32_t EM_N))
EM_JAVA(jobject, Object, Object, Native.text($javainput), const char *)
EM_JAVA(jobject, Object, Object, Native.text($javainput), const char *EM_PATH)
EM_JAVA(jobject, Object, Iterable<?>, Native.texts($javainput), (const char *const *EM_PATHS, uint32_t EM_N))
EM_JAVA(jlong, long, Native.Ask, Native.keep($javainput), emb_fn *EM_ASKED)
EM_JAVA(jlong, long, Native.Visit, Native.keep($javainput), (em_vector_visit_fn EM_FN, void *EM_USER))
EM_JAVA(jlong, long, Native.Visit, Native.keep($javainput), (em_vector_change_fn EM_FN, void *EM_USER))
EM_JAVA(jlong, long, Native.Visit, Native.keep($javainput), (em_disorder_fn EM_FN, void *EM_USER))
EM_JAVA(jlong, long, Native.Test, Native.keep($javainput), (em_vector_test_fn EM_FN, void *EM_USER))
EM_JAVA(jint, int, boolean, $javainput ? 1 : 0, int durable)
EM_JAVA(jint, int, boolean, $javainput ? 1 : 0, int spill)

%{
/* What is looked up once, when the library is loaded. */
static JavaVM *emb_vm;
static jclass emb_native, emb_long, emb_object;
static jobject emb_nothing;
static jclass emb_arrays[8];
static jmethodID emb_value_of, emb_error, emb_release, emb_progress_up, emb_cmp_up, emb_keys_up, emb_visit_up;
static jmethodID emb_test_up, emb_disorder_up, emb_log_up, emb_ask_up, emb_collect_up;

/* What a function of the caller's has thrown: a global reference, until the library returns. */
static EMB_THREAD jthrowable emb_thrown;

static const struct { const char *name; unsigned char bytes; } emb_types[8] = {
	{ "[B", 1 }, { "[J", 8 }, { "[I", 4 }, { "[D", 8 }, { "[F", 4 }, { "[S", 2 }, { "[C", 2 }, { "[Z", 1 }
};

static const struct { jmethodID *to; const char *name; const char *type; } emb_methods[] = {
	{ &emb_error, "error", "(II[B[BJJJ[BJZ[B)Ljava/lang/Throwable;" },
	{ &emb_release, "release", "(J)V" },
	{ &emb_collect_up, "collect", "()V" },
	{ &emb_progress_up, "progress", "(JIJJ)Z" },
	{ &emb_cmp_up, "compare", "(J[B[B)I" },
	{ &emb_keys_up, "keys", "(J[B[J)V" },
	{ &emb_visit_up, "visit", "(JJ[B)V" },
	{ &emb_test_up, "test", "(J[B)Z" },
	{ &emb_disorder_up, "disorder", "(JJ[B)V" },
	{ &emb_log_up, "log", "(JI[B)V" },
	{ &emb_ask_up, "ask", "(J[B[B)[B" }
};

static jclass emb_class(JNIEnv *env, const char *name)
{
	jclass found = (*env)->FindClass(env, name);

	return found ? (jclass)(*env)->NewGlobalRef(env, found) : NULL;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *unused)
{
	JNIEnv *env;
	jfieldID field;
	size_t i;

	(void)unused;
	emb_vm = vm;
	if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
		return JNI_ERR;
	emb_native = emb_class(env, "extmem/Native");
	emb_long = emb_native ? emb_class(env, "java/lang/Long") : NULL;
	emb_object = emb_long ? emb_class(env, "java/lang/Object") : NULL;
	if (!emb_object)
		return JNI_ERR;
	for (i = 0; i < sizeof emb_types / sizeof *emb_types; i++) {
		emb_arrays[i] = emb_class(env, emb_types[i].name);
		if (!emb_arrays[i])
			return JNI_ERR;
	}
	for (i = 0; i < sizeof emb_methods / sizeof *emb_methods; i++) {
		*emb_methods[i].to =
			(*env)->GetStaticMethodID(env, emb_native, emb_methods[i].name, emb_methods[i].type);
		if (!*emb_methods[i].to)
			return JNI_ERR;
	}
	emb_value_of = (*env)->GetStaticMethodID(env, emb_long, "valueOf", "(J)Ljava/lang/Long;");
	field = emb_value_of ? (*env)->GetStaticFieldID(env, emb_native, "END", "Ljava/lang/Object;") : NULL;
	if (!field)
		return JNI_ERR;
	emb_nothing = (*env)->NewGlobalRef(env, (*env)->GetStaticObjectField(env, emb_native, field));
	return emb_nothing ? JNI_VERSION_1_8 : JNI_ERR;
}

/* Arrays. */

/** Copy between an array and memory of as many bytes: 0, or -1.  No call of Java is between the two halves. */
static int emb_copy(JNIEnv *env, jarray array, void *memory, size_t bytes, int back)
{
	void *p = bytes ? (*env)->GetPrimitiveArrayCritical(env, array, NULL) : NULL;

	if (!p)
		return bytes ? -1 : 0;
	memcpy(back ? p : memory, back ? memory : p, bytes);
	(*env)->ReleasePrimitiveArrayCritical(env, array, p, back ? 0 : JNI_ABORT);
	return 0;
}

static void emb_view_array(JNIEnv *env, jarray array, struct emb_view *view, int write)
{
	void *to = view->small;
	size_t i, bytes;

	for (i = 0; i < sizeof emb_types / sizeof *emb_types; i++) {
		if ((*env)->IsInstanceOf(env, array, emb_arrays[i]))
			break;
	}
	if (i == sizeof emb_types / sizeof *emb_types) {
		emb_refuse(EM_ERR_INVAL, "a direct ByteBuffer or an array of a primitive type is wanted here");
		return;
	}
	bytes = (size_t)(*env)->GetArrayLength(env, array) * emb_types[i].bytes;
	if (bytes > sizeof view->small)
		to = view->copy = malloc(bytes);
	if (!to || emb_copy(env, array, to, bytes, 0)) {
		(*env)->ExceptionClear(env);
		emb_refuse(EM_ERR_NOMEM, "out of memory");
		return;
	}
	view->p = to;
	view->n = bytes;
	view->write = write;
	view->array = array;
}

static void emb_view_get(JNIEnv *env, jobject o, struct emb_view *view, int write)
{
	memset(view, 0, offsetof(struct emb_view, small));
	view->p = "";
	view->none = !o;
	if (!o)
		return;
	if ((*env)->GetDirectBufferAddress(env, o)) {
		view->p = (*env)->GetDirectBufferAddress(env, o);
		view->n = (uint64_t)(*env)->GetDirectBufferCapacity(env, o);
	} else if ((*env)->GetDirectBufferCapacity(env, o) != 0) {
		emb_view_array(env, (jarray)o, view, write);
	}
}

static void emb_view_end(JNIEnv *env, struct emb_view *view)
{
	if (view->write && !emb_now.refused)
		(void)emb_copy(env, view->array, (void *)(uintptr_t)view->p, (size_t)view->n, 1);
	free(view->copy);
	view->copy = NULL;
	view->write = 0;
}

/* Results. */

static jbyteArray emb_bytes(JNIEnv *env, const void *data, size_t n)
{
	jbyteArray array = n <= INT32_MAX - 8 ? (*env)->NewByteArray(env, (jsize)n) : NULL;

	if (array && n)
		(*env)->SetByteArrayRegion(env, array, 0, (jsize)n, (const jbyte *)data);
	return array;
}

static jbyteArray emb_string(JNIEnv *env, const char *text)
{
	return text ? emb_bytes(env, text, strlen(text)) : NULL;
}

/** What is pending, as an object, and no longer pending. */
static jobject emb_pending(JNIEnv *env)
{
	jthrowable x = (*env)->ExceptionOccurred(env);

	(*env)->ExceptionClear(env);
	return x;
}

/** What a call fails with: what a function has thrown, or an exception that the facade makes of the detail. */
static jobject emb_failure(JNIEnv *env, em_status status)
{
	const em_errinfo *e = emb_failed(status);
	jobject x = NULL;

	if (emb_thrown) {
		x = (*env)->NewLocalRef(env, emb_thrown);
		(*env)->DeleteGlobalRef(env, emb_thrown);
		emb_thrown = NULL;
		return x;
	}
	if ((*env)->PushLocalFrame(env, 16) == 0) {
		x = (*env)->CallStaticObjectMethod(env, emb_native, emb_error, (jint)status, (jint)e->sys_errno,
			emb_string(env, e->op), emb_string(env, e->path), (jlong)e->offset, (jlong)e->bytes,
			(jlong)e->record, emb_string(env, e->text), (jlong)(emb_call.done ? *emb_call.done : 0),
			(jboolean)(emb_call.done != NULL), emb_string(env, em_status_name(status)));
		x = (*env)->PopLocalFrame(env, (*env)->ExceptionCheck(env) ? emb_pending(env) : x);
	}
	return x ? x : emb_pending(env);
}

static jobject emb_number(JNIEnv *env, uint64_t n)
{
	return (*env)->CallStaticObjectMethod(env, emb_long, emb_value_of, (jlong)n);
}

static jobject emb_item_object(JNIEnv *env, const struct emb_item *item)
{
	if (item->type == EMB_NUMBER || item->type == EMB_SIGNED)
		return emb_number(env, item->number);
	return emb_bytes(env, item->data, item->bytes);
}

static jobject emb_return(JNIEnv *env, em_status status)
{
	struct emb_result r;
	jobjectArray all = NULL;
	jobject one = NULL;
	int i;

	emb_complete(&r, status);
	if (r.status < 0 || emb_thrown)
		return emb_failure(env, r.status < 0 ? r.status : EM_ERR_USER);
	if (r.status > 0)
		return emb_nothing;
	if (r.n > 1)
		all = (*env)->NewObjectArray(env, r.n, emb_object, NULL);
	for (i = 0; i < r.n && !(*env)->ExceptionCheck(env); i++) {
		one = emb_item_object(env, &r.item[i]);
		if (!all || (*env)->ExceptionCheck(env))
			break;
		(*env)->SetObjectArrayElement(env, all, i, one);
		(*env)->DeleteLocalRef(env, one);
	}
	if ((*env)->ExceptionCheck(env))
		return emb_pending(env);
	if (r.n && !one)
		return emb_failure(env, EM_ERR_NOMEM);
	return all ? all : one;
}

/** Of what has no status: is it about what is closed?  That is thrown; what follows copes with it (emb_up_release). */
static int emb_failing(JNIEnv *env)
{
	if (!emb_now.refused && !emb_thrown)
		return 0;
	(*env)->Throw(env, (jthrowable)emb_failure(env, emb_now.refused ? emb_now.refused : EM_ERR_USER));
	return 1;
}

/* Functions of the caller's. */

static JNIEnv *emb_env(void)
{
	JNIEnv *env = NULL;

	return (*emb_vm)->GetEnv(emb_vm, (void **)&env, JNI_VERSION_1_8) == JNI_OK ? env : NULL;
}

static void emb_keep_thrown(JNIEnv *env)
{
	jobject x = emb_pending(env);

	if (x)
		emb_thrown = (jthrowable)(*env)->NewGlobalRef(env, x);
}

/** Before a function is called: its environment with room for references, or NULL. */
static JNIEnv *emb_up_begin(void)
{
	JNIEnv *env = emb_thrown ? NULL : emb_env();

	if (!env || (*env)->PushLocalFrame(env, 8) == 0)
		return env;
	emb_keep_thrown(env);
	return NULL;
}

/** After that: 0, or -1 and what it has thrown is kept. */
static int emb_up_end(JNIEnv *env)
{
	const int failed = (*env)->ExceptionCheck(env);

	if (failed)
		emb_keep_thrown(env);
	(*env)->PopLocalFrame(env, NULL);
	return failed ? -1 : 0;
}

static void emb_up_release(uint64_t id)
{
	JNIEnv *env = emb_env();
	jthrowable pending;

	if (!env)
		return;
	pending = (jthrowable)emb_pending(env);
	(*env)->CallStaticVoidMethod(env, emb_native, emb_release, (jlong)id);
	(*env)->ExceptionClear(env);
	if (pending)
		(*env)->Throw(env, pending);
}

static int emb_up_collect(void)
{
	JNIEnv *env = emb_up_begin();

	if (!env)
		return 0;
	(*env)->CallStaticVoidMethod(env, emb_native, emb_collect_up);
	return emb_up_end(env) == 0;
}

static int emb_up_progress(uint64_t id, uint32_t phase, uint64_t done, uint64_t total)
{
	JNIEnv *env = emb_up_begin();
	int stop;

	if (!env)
		return 1;
	stop = (*env)->CallStaticBooleanMethod(env, emb_native, emb_progress_up, (jlong)id, (jint)phase, (jlong)done,
					       (jlong)total);
	return emb_up_end(env) || stop;
}

static int emb_up_cmp(uint64_t id, const void *a, const void *b, size_t bytes, int *result)
{
	JNIEnv *env = emb_up_begin();
	jbyteArray first, second;

	if (!env)
		return -1;
	first = emb_bytes(env, a, bytes);
	second = first ? emb_bytes(env, b, bytes) : NULL;
	if (second)
		*result = (*env)->CallStaticIntMethod(env, emb_native, emb_cmp_up, (jlong)id, first, second);
	return emb_up_end(env) || !second ? -1 : 0;
}

static int emb_up_keys(uint64_t id, const void *records, size_t bytes, uint64_t *keys, size_t n)
{
	JNIEnv *env = emb_up_begin();
	jbyteArray in;
	jlongArray out;
	int made = 0;

	if (!env)
		return -1;
	in = emb_bytes(env, records, bytes);
	out = in ? (*env)->NewLongArray(env, (jsize)n) : NULL;
	if (out)
		(*env)->CallStaticVoidMethod(env, emb_native, emb_keys_up, (jlong)id, in, out);
	if (out && !(*env)->ExceptionCheck(env)) {
		(*env)->GetLongArrayRegion(env, out, 0, (jsize)n, (jlong *)keys);
		made = 1;
	}
	return emb_up_end(env) || !made ? -1 : 0;
}

static int emb_up_visit(uint64_t id, uint64_t i, void *records, size_t bytes, int change)
{
	JNIEnv *env = emb_up_begin();
	jbyteArray copy;

	if (!env)
		return -1;
	copy = emb_bytes(env, records, bytes);
	if (copy)
		(*env)->CallStaticVoidMethod(env, emb_native, emb_visit_up, (jlong)id, (jlong)i, copy);
	if (copy && change && !(*env)->ExceptionCheck(env))
		(*env)->GetByteArrayRegion(env, copy, 0, (jsize)bytes, (jbyte *)records);
	return emb_up_end(env) || !copy ? -1 : 0;
}

static int emb_up_test(uint64_t id, const void *record, size_t bytes, int *result)
{
	JNIEnv *env = emb_up_begin();
	jbyteArray copy;

	if (!env)
		return -1;
	copy = emb_bytes(env, record, bytes);
	if (copy)
		*result = (*env)->CallStaticBooleanMethod(env, emb_native, emb_test_up, (jlong)id, copy);
	return emb_up_end(env) || !copy ? -1 : 0;
}

static int emb_up_disorder(uint64_t id, uint64_t number, const void *record, size_t bytes)
{
	JNIEnv *env = emb_up_begin();
	jbyteArray copy;

	if (!env)
		return -1;
	copy = emb_bytes(env, record, bytes);
	if (copy)
		(*env)->CallStaticVoidMethod(env, emb_native, emb_disorder_up, (jlong)id, (jlong)number, copy);
	return emb_up_end(env) || !copy ? -1 : 0;
}

static int emb_up_ask(struct emb_fn *f, const void *a, size_t na, const void *b, size_t nb)
{
	JNIEnv *env = emb_up_begin();
	jbyteArray first, second, answer = NULL;
	char *to = NULL;

	if (!env)
		return -1;
	first = a ? emb_bytes(env, a, na) : NULL;
	second = b && !(*env)->ExceptionCheck(env) ? emb_bytes(env, b, nb) : NULL;
	if ((!a || first) && (!b || second))
		answer = (jbyteArray)(*env)->CallStaticObjectMethod(env, emb_native, emb_ask_up, (jlong)f->id,
								       first, second);
	else if (!(*env)->ExceptionCheck(env))
		return emb_up_end(env), -1;
	if (answer && !(*env)->ExceptionCheck(env)) {
		const jsize n = (*env)->GetArrayLength(env, answer);

		to = emb_answer(f, (size_t)n);
		if (to)
			(*env)->GetByteArrayRegion(env, answer, 0, n, (jbyte *)to);
	}
	return emb_up_end(env) || (answer && !to) ? -1 : 0;
}

/** With nobody to throw to. */
static int emb_up_log(uint64_t id, int32_t level, const char *line)
{
	JNIEnv *env = emb_env();
	jbyteArray text;

	if (!env)
		return -1;
	if ((*env)->PushLocalFrame(env, 8) == 0) {
		text = emb_string(env, line);
		if (text)
			(*env)->CallStaticVoidMethod(env, emb_native, emb_log_up, (jlong)id, (jint)level, text);
		(*env)->ExceptionClear(env);
		(*env)->PopLocalFrame(env, NULL);
	}
	(*env)->ExceptionClear(env);
	return 0;
}
%}

%pragma(java) moduleclassmodifiers="final class"
%pragma(java) jniclassclassmodifiers="final class"
%pragma(java) jniclasscode=%{
  static {
    Native.load();
  }
%}

%pragma(java) constantsmodifiers="interface"

/* A call whose result is a status gives back an object, ... */
EM_JAVA(jobject, Object, <R> R, $javainput, em_status)
%typemap(javaout) em_status {
    return Native.take($jnicall);
  }
%typemap(out) em_status {
	$result = emb_return(jenv, emb_now.refused ? emb_now.refused : $1);
}
/* ... and one that only tells something a number or a text, and throws if it is about what is closed. */
%define EM_NUMBERS(pattern...)
EM_JAVA(jlong, long, long, $javainput, pattern)
%typemap(javaout) pattern {
    return $jnicall;
  }
%typemap(in) pattern {
	$1 = ($1_ltype)$input;
}
%typemap(out) pattern {
	$result = emb_failing(jenv) ? 0 : (jlong)$1;
}
%enddef
EM_NUMBERS(uint64_t, unsigned long long, size_t, unsigned long, uint32_t, unsigned int)
%typemap(out) int, int32_t {
	$result = emb_failing(jenv) ? 0 : (jint)$1;
}
%typemap(javaout) const char * {
    return Native.string($jnicall);
  }
%typemap(out) const char * {
	$result = emb_failing(jenv) ? NULL : emb_string(jenv, $1);
}
%typemap(out) void {
	(void)emb_failing(jenv);
}
%ignore EM_VERSION_STRING;

/* What the facade calls beside the library. */
EM_AS_TOLD(uint64_t EM_ID)
int emb_close(uint64_t EM_ID, int collected);
void emb_cancel(uint64_t EM_ID);
int emb_is_open(uint64_t EM_ID);
