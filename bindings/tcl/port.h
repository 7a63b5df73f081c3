/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Values of Tcl 8.6 for script/typemaps.i: script/values.h tells what each function does.
 *
 * Everything is a string there, so who wants what decides: what is nothing is the empty string, a function is a
 * command prefix, and many records are a list of items, unless they are a byte array, as binary format makes them.
 * A handle is a name, which core::release forgets.
 */
#ifndef EMB_TCL_PORT_H
#define EMB_TCL_PORT_H

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <tcl.h>

#include "call.h"
#include "kinds.h"

typedef Tcl_Interp emb_env;
typedef Tcl_Obj *emb_value;
typedef Tcl_Obj *emb_anchor;
typedef Tcl_Obj *emb_kept;

#include "script/values.h"
#include "script/temps.h"

#define EMB_NIL_IS_EMPTY
#define EMB_ENV interp
#define EMB_FIRST(result, value) Tcl_SetObjResult(interp, (value))
#define EMB_PUT(result, value) emb_put(interp, (value))
#define EMB_FAIL               \
	do {                   \
		emb_now.n = 0; \
		SWIG_fail;     \
	} while (0)
#define EMB_WORK(action)      \
	if (emb_enter(interp)) \
		EMB_FAIL;     \
	action                \
	emb_leave(interp);

static const Tcl_ObjType *emb_bytes_type, *emb_int_type;
static __thread Tcl_InterpState emb_raised;

/** Several results are a list. */
static void emb_put(Tcl_Interp *interp, Tcl_Obj *v)
{
	Tcl_Obj *both[2];

	if (emb_call.outputs++ == 0) {
		Tcl_SetObjResult(interp, v);
	} else if (emb_call.outputs == 2) {
		both[0] = Tcl_GetObjResult(interp);
		both[1] = v;
		Tcl_SetObjResult(interp, Tcl_NewListObj(2, both));
	} else {
		Tcl_ListObjAppendElement(interp, Tcl_GetObjResult(interp), v);
	}
}

static int emb_wrong(Tcl_Interp *interp, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	Tcl_SetObjResult(interp, Tcl_NewStringObj(text, -1));
	Tcl_SetErrorCode(interp, "EXTMEM", "ARGUMENT", (char *)NULL);
	return -1;
}

/* Values that are given. */

static int emb_is_nil(Tcl_Interp *interp, emb_value v)
{
	int n = 0;

	(void)interp;
	if (v->typePtr == emb_bytes_type && emb_bytes_type)
		Tcl_GetByteArrayFromObj(v, &n);
	else
		Tcl_GetStringFromObj(v, &n);
	return n == 0;
}

static int emb_is_true(Tcl_Interp *interp, emb_value v)
{
	int is = 0;

	(void)interp;
	return Tcl_GetBooleanFromObj(NULL, v, &is) == TCL_OK && is;
}

/** They are words, of which a number may be one. */
static int emb_is_boolean(Tcl_Interp *interp, emb_value v)
{
	(void)interp;
	(void)v;
	return 0;
}

static int emb_is_array(emb_value v)
{
	return v->typePtr == emb_bytes_type && !v->bytes;
}

/** Characters above 255 are no bytes: in UTF-8 these begin with more than 0xc3. */
static int emb_is_bytes(Tcl_Interp *interp, emb_value v)
{
	const char *text;
	int n, i;

	(void)interp;
	if (emb_is_array(v))
		return 1;
	text = Tcl_GetStringFromObj(v, &n);
	for (i = 0; i < n; i++) {
		if ((unsigned char)text[i] > 0xc3)
			return 0;
	}
	return 1;
}

static const char *emb_bytes_of(Tcl_Interp *interp, emb_value v, size_t *n)
{
	int bytes = 0;
	const unsigned char *p = Tcl_GetByteArrayFromObj(v, &bytes);

	(void)interp;
	*n = (size_t)bytes;
	return (const char *)p;
}

/** A copy: whatever looks at the value meanwhile may make something else of it than bytes. */
static const char *emb_hold(Tcl_Interp *interp, emb_value v, emb_anchor *anchor, size_t *n)
{
	const char *p = emb_bytes_of(interp, v, n);
	char *copy = (char *)emb_temp(interp, *n + 1);

	*anchor = v;
	return copy ? (const char *)memcpy(copy, p, *n) : NULL;
}

static const char *emb_text_of(Tcl_Interp *interp, emb_value v)
{
	Tcl_DString ds;
	const char *text;
	char *copy;
	size_t n;
	int length;

	text = Tcl_GetStringFromObj(v, &length);
	Tcl_UtfToExternalDString(NULL, text, length, &ds);
	n = (size_t)Tcl_DStringLength(&ds);
	copy = strlen(Tcl_DStringValue(&ds)) == n ? (char *)emb_temp(interp, n + 1) : NULL;
	if (copy)
		memcpy(copy, Tcl_DStringValue(&ds), n);
	else
		emb_wrong(interp, "a text may have no byte 0");
	Tcl_DStringFree(&ds);
	return copy;
}

/** A number of decimal digits, exactly: 0, or -1 where it is none, or has more than 64 bits. */
static int emb_digits(const char *text, int *negative, uint64_t *to)
{
	const char *p = text;

	while (*p == ' ')
		p++;
	*negative = *p == '-';
	p += *p == '-' || *p == '+';
	if (*p < '0' || *p > '9')
		return -1;
	for (*to = 0; *p >= '0' && *p <= '9'; p++) {
		if (*to > (UINT64_MAX - (uint64_t)(*p - '0')) / 10)
			return -1;
		*to = *to * 10 + (uint64_t)(*p - '0');
	}
	while (*p == ' ')
		p++;
	return *p ? -1 : 0;
}

/** The amount of an integer: 0, or -1 without an exception.  Those of other bases are below 2^63. */
static int emb_amount(emb_value v, int *negative, uint64_t *to)
{
	Tcl_WideInt wide;
	int is;

	if (v->typePtr == emb_int_type && emb_int_type && Tcl_GetWideIntFromObj(NULL, v, &wide) == TCL_OK) {
		*negative = wide < 0;
		*to = wide < 0 ? 0 - (uint64_t)wide : (uint64_t)wide;
		return 0;
	}
	if (emb_digits(Tcl_GetString(v), negative, to) == 0)
		return 0;
	*negative = 0;
	if (strpbrk(Tcl_GetString(v), "xXoObB") && Tcl_GetWideIntFromObj(NULL, v, &wide) == TCL_OK && wide >= 0) {
		*to = (uint64_t)wide;
		return 0;
	}
	if (Tcl_GetBooleanFromObj(NULL, v, &is) != TCL_OK || strpbrk(Tcl_GetString(v), "0123456789"))
		return -1;
	*to = (uint64_t)is;
	return 0;
}

static int emb_u64_like(Tcl_Interp *interp, emb_value v)
{
	uint64_t n;
	int negative;

	(void)interp;
	return emb_amount(v, &negative, &n) == 0;
}

static int emb_u64_of(Tcl_Interp *interp, emb_value v, uint64_t *to)
{
	int negative = 0;

	if (emb_amount(v, &negative, to) || (negative && *to > 0))
		return emb_wrong(interp, "an integer from 0 to 18446744073709551615 is wanted here");
	return 0;
}

static int emb_i64_of(Tcl_Interp *interp, emb_value v, int64_t *to)
{
	uint64_t amount = 0;
	int negative = 0;

	if (emb_amount(v, &negative, &amount) || amount > (uint64_t)INT64_MAX + (negative != 0))
		return emb_wrong(interp, "an integer of 64 bits is wanted here");
	*to = (int64_t)(negative ? 0 - amount : amount);
	return 0;
}

static int emb_double_of(Tcl_Interp *interp, emb_value v, double *to)
{
	/* What is no number is one here. */
	const char *text = Tcl_GetString(v);

	*to = NAN;
	if (strcasecmp(text + (*text == '-'), "NaN") == 0)
		return 0;
	return Tcl_GetDoubleFromObj(NULL, v, to) == TCL_OK ? 0 : emb_wrong(interp, "a number is wanted here");
}

static int64_t emb_list_size(Tcl_Interp *interp, emb_value v)
{
	int n = 0;

	(void)interp;
	return emb_is_array(v) || Tcl_ListObjLength(NULL, v, &n) != TCL_OK ? -1 : (int64_t)n;
}

static emb_value emb_list_get(Tcl_Interp *interp, emb_value v, uint64_t i)
{
	Tcl_Obj *item = NULL;

	(void)interp;
	if (i <= INT_MAX)
		(void)Tcl_ListObjIndex(NULL, v, (int)i, &item);
	return item ? item : v;
}

static int emb_is_function(Tcl_Interp *interp, emb_value v)
{
	return emb_list_size(interp, v) > 0;
}

static int emb_is_dict(Tcl_Interp *interp, emb_value v)
{
	int n;

	(void)interp;
	return Tcl_DictObjSize(NULL, v, &n) == TCL_OK;
}

static emb_value emb_dict_get(Tcl_Interp *interp, emb_value v, const char *name, int *there)
{
	Tcl_Obj *key = Tcl_NewStringObj(name, -1), *found = NULL;

	(void)interp;
	Tcl_IncrRefCount(key);
	*there = Tcl_DictObjGet(NULL, v, key, &found) == TCL_OK && found;
	Tcl_DecrRefCount(key);
	return *there ? found : v;
}

static uint64_t emb_dict_size(Tcl_Interp *interp, emb_value v)
{
	int n = 0;

	(void)interp;
	(void)Tcl_DictObjSize(NULL, v, &n);
	return (uint64_t)n;
}

static int emb_mark(Tcl_Interp *interp)
{
	(void)interp;
	return 0;
}

static void emb_reset(Tcl_Interp *interp, int mark)
{
	(void)interp;
	(void)mark;
}

/* Values that are made. */

static emb_value emb_nil(Tcl_Interp *interp)
{
	(void)interp;
	return Tcl_NewObj();
}

static emb_value emb_from_bytes(Tcl_Interp *interp, const void *bytes, size_t n)
{
	(void)interp;
	return Tcl_NewByteArrayObj((const unsigned char *)bytes, (int)n);
}

static emb_value emb_from_text(Tcl_Interp *interp, const char *text)
{
	Tcl_DString ds;
	Tcl_Obj *v;

	(void)interp;
	Tcl_ExternalToUtfDString(NULL, text, -1, &ds);
	v = Tcl_NewStringObj(Tcl_DStringValue(&ds), Tcl_DStringLength(&ds));
	Tcl_DStringFree(&ds);
	return v;
}

static emb_value emb_from_i64(Tcl_Interp *interp, int64_t n)
{
	(void)interp;
	return Tcl_NewWideIntObj((Tcl_WideInt)n);
}

static emb_value emb_from_u64(Tcl_Interp *interp, uint64_t n)
{
	char digits[32];

	if (n <= (uint64_t)INT64_MAX)
		return emb_from_i64(interp, (int64_t)n);
	snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
	return Tcl_NewStringObj(digits, -1);
}

static emb_value emb_from_double(Tcl_Interp *interp, double x)
{
	(void)interp;
	return Tcl_NewDoubleObj(x);
}

static emb_value emb_list_new(Tcl_Interp *interp, uint64_t n)
{
	(void)interp;
	(void)n;
	return Tcl_NewListObj(0, NULL);
}

static void emb_list_put(Tcl_Interp *interp, emb_value list, uint64_t i, emb_value v)
{
	(void)interp;
	(void)i;
	(void)Tcl_ListObjAppendElement(NULL, list, v);
}

static emb_value emb_dict_new(Tcl_Interp *interp)
{
	(void)interp;
	return Tcl_NewDictObj();
}

static void emb_dict_put(Tcl_Interp *interp, emb_value dict, const char *name, emb_value v)
{
	(void)interp;
	(void)Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(name, -1), v);
}

static emb_value emb_room(Tcl_Interp *interp, uint64_t n, uint64_t unit, char **to)
{
	*to = NULL;
	if (unit == 0 || n > (INT_MAX >> 1) / unit)
		emb_refuse(interp, EM_ERR_INVAL,
			   unit == 0 ? "its records have no size" : "so many records fit nowhere");
	else
		*to = (char *)emb_temp(interp, (size_t)(n * unit) + 1);
	return NULL;
}

static emb_value emb_from_room(Tcl_Interp *interp, emb_value room, const char *from, size_t n)
{
	(void)room;
	return emb_from_bytes(interp, from, n);
}

/* Errors: EXTMEM, the name of the status, and what else is known, as errorcode. */

static void emb_throw(Tcl_Interp *interp, const em_errinfo *e, const uint64_t *done)
{
	emb_value d = emb_dict_new(interp), code[3];
	const int told = !e->path[0] || strstr(e->text, e->path);

	emb_dict_put(interp, d, "status", emb_from_i64(interp, e->status));
	emb_dict_put(interp, d, "errno", emb_from_i64(interp, e->sys_errno));
	emb_dict_put(interp, d, "op", emb_from_text(interp, e->op));
	emb_dict_put(interp, d, "path", emb_from_text(interp, e->path));
	if (e->offset != UINT64_MAX)
		emb_dict_put(interp, d, "offset", emb_from_u64(interp, e->offset));
	if (e->bytes)
		emb_dict_put(interp, d, "bytes", emb_from_u64(interp, e->bytes));
	if (e->record)
		emb_dict_put(interp, d, "record", emb_from_u64(interp, e->record));
	if (done)
		emb_dict_put(interp, d, "done", emb_from_u64(interp, *done));
	code[0] = Tcl_NewStringObj("EXTMEM", -1);
	code[1] = emb_from_text(interp, em_status_name(e->status));
	code[2] = d;
	Tcl_SetObjResult(interp, told ? emb_from_text(interp, e->text)
			 : Tcl_ObjPrintf("%s: %s", e->path, e->text));
	Tcl_SetObjErrorCode(interp, Tcl_NewListObj(3, code));
}

static int emb_reraise(Tcl_Interp *interp)
{
	if (!emb_raised)
		return 0;
	(void)Tcl_RestoreInterpState(interp, emb_raised);
	emb_raised = NULL;
	return 1;
}

/** Nothing jumps in Tcl. */
static int emb_run(Tcl_Interp *interp, int (*body)(Tcl_Interp *, struct emb_job *), struct emb_job *job)
{
	if (emb_raised || Tcl_InterpDeleted(interp))
		return -1;
	if (body(interp, job) == 0)
		return 0;
	emb_raised = Tcl_SaveInterpState(interp, TCL_ERROR);
	return -1;
}

/** What signals have asked for, and interp cancel. */
static int emb_interrupted(Tcl_Interp *interp)
{
	return (Tcl_AsyncReady() && Tcl_AsyncInvoke(interp, TCL_OK) == TCL_ERROR) ||
		Tcl_Canceled(interp, TCL_LEAVE_ERR_MSG) == TCL_ERROR ? -1 : 0;
}

#include "script/objects.h"

static void emb_keep(Tcl_Interp *interp, struct emb_fn *f, emb_value v)
{
	(void)interp;
	f->callable = Tcl_DuplicateObj(v);
	Tcl_IncrRefCount(f->callable);
}

static void emb_unkeep(Tcl_Interp *interp, struct emb_fn *f)
{
	(void)interp;
	Tcl_DecrRefCount(f->callable);
}

static void emb_pin(Tcl_Interp *interp, struct emb_fn *f)
{
	(void)interp;
	(void)f;
}

static int emb_call_fn(Tcl_Interp *interp, struct emb_fn *f, int n, const emb_value *argv, emb_value *result)
{
	Tcl_Obj *command = Tcl_DuplicateObj(f->callable);
	int i, code;

	Tcl_IncrRefCount(command);
	for (i = 0; i < n; i++)
		(void)Tcl_ListObjAppendElement(NULL, command, argv[i]);
	code = Tcl_EvalObjEx(interp, command, TCL_EVAL_GLOBAL);
	Tcl_DecrRefCount(command);
	*result = Tcl_GetObjResult(interp);
	if (code == TCL_ERROR)
		return -1;
	return code == TCL_OK || code == TCL_RETURN ? 0 : emb_wrong(interp, "a function was left by break or continue");
}

/* Handles: names in a table of the interpreter. */

#define EMB_TABLE "extmem::handles"

struct emb_table {
	Tcl_HashTable names;
	uint64_t last;
};

static void emb_table_delete(ClientData data, Tcl_Interp *interp)
{
	struct emb_table *t = (struct emb_table *)data;
	Tcl_HashSearch search;
	Tcl_HashEntry *e;

	/* Nothing can be called any more. */
	emb_collecting = 1;
	for (e = Tcl_FirstHashEntry(&t->names, &search); e; e = Tcl_NextHashEntry(&search))
		emb_drop(interp, (emb_handle *)Tcl_GetHashValue(e));
	emb_collecting = 0;
	Tcl_DeleteHashTable(&t->names);
	ckfree((char *)t);
}

static Tcl_HashEntry *emb_find(Tcl_Interp *interp, emb_value v)
{
	struct emb_table *t = (struct emb_table *)Tcl_GetAssocData(interp, EMB_TABLE, NULL);

	return t ? Tcl_FindHashEntry(&t->names, Tcl_GetString(v)) : NULL;
}

static emb_handle *emb_handle_of(Tcl_Interp *interp, emb_value v)
{
	Tcl_HashEntry *e = emb_find(interp, v);

	return e ? (emb_handle *)Tcl_GetHashValue(e) : NULL;
}

static emb_value emb_from_handle(Tcl_Interp *interp, emb_handle *h)
{
	struct emb_table *t = (struct emb_table *)Tcl_GetAssocData(interp, EMB_TABLE, NULL);
	char name[64];
	int is_new;

	if (!h || !t) {
		if (h)
			emb_drop(interp, h);
		return emb_nil(interp);
	}
	snprintf(name, sizeof name, "%s#%llu", h->kind->name, (unsigned long long)++t->last);
	Tcl_SetHashValue(Tcl_CreateHashEntry(&t->names, name, &is_new), h);
	return Tcl_NewStringObj(name, -1);
}

/** close, cancel, closed, release NAME. */
static int emb_tcl_handle(ClientData what, Tcl_Interp *interp, int n, Tcl_Obj *const argv[])
{
	Tcl_HashEntry *e = n == 2 ? emb_find(interp, argv[1]) : NULL;
	emb_handle *h = e ? (emb_handle *)Tcl_GetHashValue(e) : NULL;
	const char *name = (const char *)what;

	if (n != 2) {
		Tcl_WrongNumArgs(interp, 1, argv, "handle");
		return TCL_ERROR;
	}
	if (strcmp(name, "closed") == 0) {
		Tcl_SetObjResult(interp, Tcl_NewBooleanObj(!h || emb_closed(h)));
	} else if (!h) {
		if (strcmp(name, "release") == 0)
			return TCL_OK;
		emb_wrong(interp, "a handle is wanted here");
		return TCL_ERROR;
	} else if (strcmp(name, "close") == 0) {
		(void)emb_begin(interp);
		return emb_close(interp, h) ? TCL_ERROR : TCL_OK;
	} else if (strcmp(name, "release") == 0) {
		Tcl_DeleteHashEntry(e);
		emb_drop(interp, h);
	} else if (h->object && h->kind->cancel) {
		h->kind->cancel(h->object);
	}
	return TCL_OK;
}

static void emb_tcl_init(Tcl_Interp *interp)
{
	static const char *const names[] = { "close", "cancel", "closed", "release" };
	struct emb_table *t = (struct emb_table *)ckalloc(sizeof *t);
	Tcl_Obj *probe = Tcl_NewByteArrayObj((const unsigned char *)"x", 1), *number = Tcl_NewWideIntObj(1);
	char command[64];
	size_t i;

	Tcl_InitHashTable(&t->names, TCL_STRING_KEYS);
	t->last = 0;
	Tcl_SetAssocData(interp, EMB_TABLE, emb_table_delete, t);
	emb_bytes_type = probe->typePtr;
	emb_int_type = number->typePtr;
	Tcl_DecrRefCount(probe);
	Tcl_DecrRefCount(number);
	for (i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(command, sizeof command, "::extmem::core::%s", names[i]);
		Tcl_CreateObjCommand(interp, command, emb_tcl_handle, (ClientData)(uintptr_t)names[i], NULL);
	}
}

#endif
