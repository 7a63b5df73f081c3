/* SPDX-License-Identifier: BSL-1.0 */
/* Values of Perl for script/typemaps.i: script/values.h tells what each function does.  What is made is mortal: it
 * goes when the statement ends, unless somebody else has it. */
#ifndef EMB_PERL_PORT_H
#define EMB_PERL_PORT_H

#include <limits.h>

#include "call.h"
#include "kinds.h"

typedef void emb_env;
typedef SV *emb_value;
typedef SV *emb_anchor;
typedef SV *emb_kept;

#include "script/values.h"

/* There is one interpreter for each thread, which Perl finds itself. */
static const char emb_perl = 0;

/* Functions of the caller's may have made the stack another one. */
#define EMB_ENV ((emb_env *)&emb_perl)
#define EMB_FIRST(result, value)             \
	do {                                 \
		SV *emb_v = (value);         \
                                             \
		SPAGAIN;                     \
		EXTEND(SP, 4);               \
		result = emb_v;              \
		argvi++;                     \
	} while (0)
#define EMB_PUT(result, value)                     \
	do {                                       \
		SV *emb_v = (value);               \
                                                   \
		SPAGAIN;                           \
		EXTEND(SP, 8);                     \
		if (emb_call.outputs++ == 0)       \
			argvi--;                   \
		result = emb_v;                    \
		argvi++;                           \
	} while (0)
#define EMB_FAIL                       \
	do {                           \
		emb_now.n = 0;         \
		emb_croak();           \
		SWIG_fail;             \
	} while (0)
#define EMB_WORK(action)      \
	if (emb_enter(EMB_ENV))  \
		EMB_FAIL;     \
	action                \
	emb_leave(EMB_ENV);

static __thread SV *emb_pending, *emb_raised;
static __thread int emb_exiting; /* A function has called exit(). */

static void emb_pend(SV *error)
{
	dTHX;

	SvREFCNT_dec(emb_pending);
	emb_pending = error;
}

/** Leave with the pending exception. */
static void emb_croak(void)
{
	dTHX;
	SV *error =
		emb_pending ? sv_2mortal(emb_pending) : sv_2mortal(newSVpvs("extmem: nothing is known of a failure"));

	emb_pending = NULL;
	if (emb_exiting)
		my_exit((U32)PL_statusvalue);
	croak_sv(error);
}

/** " at FILE line N.\n": where the caller of the facade is. */
static SV *emb_where(void)
{
	dTHX;
	const PERL_CONTEXT *cx;
	I32 i;

	for (i = 0; (cx = caller_cx(i, NULL)); i++) {
		const COP *cop = cx->blk_oldcop;
		const char *package = CopSTASHPV(cop);

		if (package && strncmp(package, "Extmem", 6) != 0)
			return sv_2mortal(newSVpvf(" at %s line %lu.\n", CopFILE(cop), (unsigned long)CopLINE(cop)));
	}
	return sv_2mortal(newSVsv(mess_sv(sv_2mortal(newSVpvs("")), 0)));
}

static int emb_wrong(emb_env *env, const char *format, ...)
{
	dTHX;
	char text[256];
	va_list args;

	(void)env;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	emb_pend(newSVpvf("%s%" SVf, text, SVfARG(emb_where())));
	return -1;
}

/* Values that are given. */

static int emb_is_nil(emb_env *env, emb_value v)
{
	dTHX;

	(void)env;
	SvGETMAGIC(v);
	return !SvOK(v);
}

static int emb_is_true(emb_env *env, emb_value v)
{
	dTHX;

	(void)env;
	return SvTRUE(v) ? 1 : 0;
}

/** They are numbers, or texts. */
static int emb_is_boolean(emb_env *env, emb_value v)
{
	(void)env;
	(void)v;
	return 0;
}

static int emb_is_bytes(emb_env *env, emb_value v)
{
	dTHX;

	(void)env;
	SvGETMAGIC(v);
	return SvOK(v) && !SvROK(v);
}

static int emb_is_function(emb_env *env, emb_value v)
{
	dTHX;

	(void)env;
	SvGETMAGIC(v);
	return SvROK(v) && SvTYPE(SvRV(v)) == SVt_PVCV;
}

static AV *emb_array(SV *v)
{
	dTHX;

	SvGETMAGIC(v);
	return SvROK(v) && SvTYPE(SvRV(v)) == SVt_PVAV ? (AV *)SvRV(v) : NULL;
}

static HV *emb_hash(SV *v)
{
	dTHX;

	SvGETMAGIC(v);
	return SvROK(v) && SvTYPE(SvRV(v)) == SVt_PVHV ? (HV *)SvRV(v) : NULL;
}

/** A copy shares the bytes, until one of the two changes. */
static const char *emb_hold(emb_env *env, emb_value v, emb_anchor *anchor, size_t *n)
{
	dTHX;
	SV *copy = sv_2mortal(newSVsv(v));
	STRLEN len = 0;
	const char *p;

	if (SvUTF8(copy) && !sv_utf8_downgrade(copy, 1)) {
		emb_wrong(env, "bytes are wanted here, and not characters above 255");
		return NULL;
	}
	*anchor = copy;
	p = SvPV(copy, len);
	*n = len;
	return p;
}

static const char *emb_bytes_of(emb_env *env, emb_value v, size_t *n)
{
	emb_anchor anchor;

	return emb_hold(env, v, &anchor, n);
}

/** The bytes that open() takes, too; also of an object that knows its text, such as a path. */
static const char *emb_text_of(emb_env *env, emb_value v)
{
	dTHX;
	SV *copy;
	STRLEN len = 0;
	const char *text;

	if (!emb_is_bytes(env, v) && !(SvROK(v) && SvAMAGIC(v))) {
		emb_wrong(env, "a text is wanted here");
		return NULL;
	}
	copy = sv_2mortal(newSVsv(v));
	text = SvPV(copy, len);
	if (strlen(text) == len)
		return text;
	emb_wrong(env, "a text may have no byte 0");
	return NULL;
}

static int emb_u64_like(emb_env *env, emb_value v)
{
	dTHX;

	(void)env;
	return looks_like_number(v) != 0;
}

/** Integers are exact; floating point numbers must be integers. */
static int emb_u64_of(emb_env *env, emb_value v, uint64_t *to)
{
	dTHX;
	NV x;

	if (!emb_is_bytes(env, v) || (!looks_like_number(v) && !(SvPOK(v) && SvCUR(v) == 0)))
		return emb_wrong(env, "an integer is wanted here");
	SvIV_please_nomg(v);
	if (SvIOK(v) && (SvIsUV(v) || SvIVX(v) >= 0)) {
		*to = SvUV_nomg(v);
		return 0;
	}
	x = SvNV_nomg(v);
	if (SvIOK(v) || !(x >= 0 && x < 18446744073709551616.0) || x != (NV)(uint64_t)x)
		return emb_wrong(env, "an integer from 0 to 18446744073709551615 is wanted here");
	*to = (uint64_t)x;
	return 0;
}

static int emb_i64_of(emb_env *env, emb_value v, int64_t *to)
{
	dTHX;
	NV x;

	if (!emb_is_bytes(env, v) || (!looks_like_number(v) && !(SvPOK(v) && SvCUR(v) == 0)))
		return emb_wrong(env, "an integer is wanted here");
	SvIV_please_nomg(v);
	if (SvIOK(v) && (!SvIsUV(v) || SvUVX(v) <= (UV)INT64_MAX)) {
		*to = SvIV_nomg(v);
		return 0;
	}
	x = SvNV_nomg(v);
	if (SvIOK(v) || !(x >= -9223372036854775808.0 && x < 9223372036854775808.0) || x != (NV)(int64_t)x)
		return emb_wrong(env, "an integer of 64 bits is wanted here");
	*to = (int64_t)x;
	return 0;
}

static int emb_double_of(emb_env *env, emb_value v, double *to)
{
	dTHX;

	if (!emb_is_bytes(env, v) || !looks_like_number(v))
		return emb_wrong(env, "a number is wanted here");
	*to = SvNV_nomg(v);
	return 0;
}

static int64_t emb_list_size(emb_env *env, emb_value v)
{
	dTHX;
	AV *list = emb_array(v);

	(void)env;
	return list ? (int64_t)av_len(list) + 1 : -1;
}

static emb_value emb_list_get(emb_env *env, emb_value v, uint64_t i)
{
	dTHX;
	SV **item = av_fetch(emb_array(v), (SSize_t)i, 0);

	(void)env;
	return item ? *item : &PL_sv_undef;
}

static int emb_is_dict(emb_env *env, emb_value v)
{
	(void)env;
	return emb_hash(v) != NULL;
}

static emb_value emb_dict_get(emb_env *env, emb_value v, const char *name, int *there)
{
	dTHX;
	SV **item = hv_fetch(emb_hash(v), name, (I32)strlen(name), 0);

	(void)env;
	*there = item != NULL;
	return item ? *item : &PL_sv_undef;
}

static uint64_t emb_dict_size(emb_env *env, emb_value v)
{
	dTHX;

	(void)env;
	return (uint64_t)HvUSEDKEYS(emb_hash(v));
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

static int emb_refuse(emb_env *, em_status, const char *);

/** Room, or NULL with an exception: Perl would end the process. */
static SV *emb_space(emb_env *env, size_t n)
{
	dTHX;
	SV *sv;
	void *try_ = n > 1 << 20 ? malloc(n + 64) : NULL;

	if (n > 1 << 20 && !try_) {
		emb_refuse(env, EM_ERR_NOMEM, "there is no memory for so much");
		return NULL;
	}
	free(try_);
	sv = sv_2mortal(newSV(n + 1));
	SvPOK_only(sv);
	SvCUR_set(sv, n);
	SvPVX(sv)[n] = 0;
	return sv;
}

/** Memory for the time of a call is a value of Perl's. */
static void *emb_temp(emb_env *env, size_t bytes)
{
	SV *sv = emb_space(env, bytes);

	return sv ? memset(SvPVX(sv), 0, bytes) : NULL;
}

static void emb_temps_free(void)
{
}

static void *emb_temps_away(void)
{
	return NULL;
}

static void emb_temps_back(void *temps)
{
	(void)temps;
}

static emb_value emb_nil(emb_env *env)
{
	dTHX;

	(void)env;
	return &PL_sv_undef;
}

static emb_value emb_from_bytes(emb_env *env, const void *bytes, size_t n)
{
	dTHX;

	(void)env;
	return sv_2mortal(newSVpvn((const char *)bytes, n));
}

static emb_value emb_from_text(emb_env *env, const char *text)
{
	return emb_from_bytes(env, text, strlen(text));
}

static emb_value emb_from_i64(emb_env *env, int64_t n)
{
	dTHX;

	(void)env;
	return sv_2mortal(newSViv((IV)n));
}

static emb_value emb_from_u64(emb_env *env, uint64_t n)
{
	dTHX;

	(void)env;
	return sv_2mortal(newSVuv((UV)n));
}

static emb_value emb_from_double(emb_env *env, double x)
{
	dTHX;

	(void)env;
	return sv_2mortal(newSVnv(x));
}

static emb_value emb_list_new(emb_env *env, uint64_t n)
{
	dTHX;
	AV *list = newAV();

	(void)env;
	if (n > 0)
		av_extend(list, (SSize_t)n - 1);
	return sv_2mortal(newRV_noinc((SV *)list));
}

/** It is mortal, and the list has it, too. */
static void emb_list_put(emb_env *env, emb_value list, uint64_t i, emb_value v)
{
	dTHX;

	(void)env;
	av_store((AV *)SvRV(list), (SSize_t)i, SvREFCNT_inc(v));
}

static emb_value emb_dict_new(emb_env *env)
{
	dTHX;

	(void)env;
	return sv_2mortal(newRV_noinc((SV *)newHV()));
}

static void emb_dict_put(emb_env *env, emb_value dict, const char *name, emb_value v)
{
	dTHX;

	(void)env;
	(void)hv_store((HV *)SvRV(dict), name, (I32)strlen(name), SvREFCNT_inc(v), 0);
}

static emb_value emb_room(emb_env *env, uint64_t n, uint64_t unit, char **to)
{
	SV *sv = NULL;

	*to = NULL;
	if (unit == 0 || n > (SIZE_MAX >> 2) / unit)
		emb_refuse(env, EM_ERR_INVAL, unit == 0 ? "its records have no size" : "so many records fit nowhere");
	else
		sv = emb_space(env, (size_t)(n * unit));
	if (sv)
		*to = SvPVX(sv);
	return sv;
}

static emb_value emb_from_room(emb_env *env, emb_value room, const char *from, size_t n)
{
	(void)env;
	(void)from;
	SvCUR_set(room, n);
	return room;
}

/* Errors. */

static void emb_throw(emb_env *env, const em_errinfo *e, const uint64_t *done)
{
	dTHX;
	emb_value d;

	ENTER;
	SAVETMPS;
	d = emb_dict_new(env);
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
	emb_dict_put(env, d, "at", emb_where());
	emb_pend(sv_bless(newSVsv(d), gv_stashpvs("Extmem::Error", GV_ADD)));
	FREETMPS;
	LEAVE;
}

static int emb_reraise(emb_env *env)
{
	(void)env;
	if (!emb_raised)
		return 0;
	emb_pend(emb_raised);
	emb_raised = NULL;
	return 1;
}

/** Functions are called so that what they die of comes back (emb_call_fn): nothing else jumps. */
static int emb_run(emb_env *env, int (*body)(emb_env *, struct emb_job *), struct emb_job *job)
{
	dTHX;
	int r;

	if (emb_raised)
		return -1;
	ENTER;
	SAVETMPS;
	r = body(env, job);
	/* exit() has left all blocks, and what is mortal may still be in use. */
	if (!emb_exiting) {
		FREETMPS;
		LEAVE;
	}
	if (r) {
		emb_raised = emb_pending ? emb_pending : newSVpvs("a function failed");
		emb_pending = NULL;
	}
	return r ? -1 : 0;
}

#include "script/objects.h"

static void emb_keep(emb_env *env, struct emb_fn *f, emb_value v)
{
	dTHX;

	(void)env;
	f->callable = newSVsv(v);
}

static void emb_unkeep(emb_env *env, struct emb_fn *f)
{
	dTHX;

	(void)env;
	SvREFCNT_dec(f->callable);
}

static void emb_pin(emb_env *env, struct emb_fn *f)
{
	(void)env;
	(void)f;
}

/** die() comes back.  A stack of its own, as loops outside cannot be left from within; exit() waits until the library
 *  has returned. */
static int emb_call_sv(SV *function, int n, const emb_value *argv, emb_value *result)
{
	dTHX;
	dSP;
	dJMPENV;
	/* As sort() of Perl leaves it. */
	SV *before = SvROK(ERRSV) || SvTRUE(ERRSV) ? sv_mortalcopy(ERRSV) : NULL;
	int i, jumped;

	PUSHSTACKi(PERLSI_UNKNOWN);
	PUSHMARK(SP);
	EXTEND(SP, n);
	for (i = 0; i < n; i++)
		PUSHs(argv[i]);
	PUTBACK;
	JMPENV_PUSH(jumped);
	if (jumped == 0)
		i = (int)call_sv(function, G_SCALAR | G_EVAL);
	JMPENV_POP;
	if (jumped != 0) {
		emb_exiting = 1;
		return -1;
	}
	SPAGAIN;
	*result = i == 1 ? POPs : &PL_sv_undef;
	PUTBACK;
	POPSTACK;
	/* An object may be false. */
	if (!SvROK(ERRSV) && !SvTRUE(ERRSV)) {
		if (before)
			sv_setsv(ERRSV, before);
		return 0;
	}
	emb_pend(newSVsv(ERRSV));
	sv_setpvs(ERRSV, "");
	return -1;
}

static int emb_call_fn(emb_env *env, struct emb_fn *f, int n, const emb_value *argv, emb_value *result)
{
	(void)env;
	return emb_call_sv(f->callable, n, argv, result);
}

/** Signals are looked at when something has run. */
static int emb_interrupted(emb_env *env)
{
	dTHX;
	SV *nothing = get_sv("Extmem::nothing", 0), *result;

	(void)env;
	return nothing && SvROK(nothing) ? emb_call_sv(nothing, 0, NULL, &result) : 0;
}

/* Handles are references to a number, the address. */

static emb_handle *emb_handle_of(emb_env *env, emb_value v)
{
	dTHX;

	(void)env;
	if (!SvROK(v) || !sv_derived_from(v, "Extmem::Handle") || !SvIOK(SvRV(v)) || SvIVX(SvRV(v)) == 0)
		return NULL;
	/* A function that is called meanwhile may forget it. */
	sv_2mortal(SvREFCNT_inc(SvRV(v)));
	return INT2PTR(emb_handle *, SvIVX(SvRV(v)));
}

static emb_value emb_from_handle(emb_env *env, emb_handle *h)
{
	dTHX;
	SV *value;

	if (!h)
		return emb_nil(env);
	value = sv_setref_iv(newSV(0), "Extmem::Handle", PTR2IV(h));
	SvREADONLY_on(SvRV(value));
	return sv_2mortal(value);
}

static emb_handle *emb_self(SV *v)
{
	emb_handle *h = emb_handle_of(EMB_ENV, v);

	if (!h) {
		emb_wrong(EMB_ENV, "a handle is wanted here");
		emb_croak();
	}
	return h;
}

XS(emb_perl_close)
{
	dXSARGS;
	emb_handle *h = items == 1 ? emb_self(ST(0)) : NULL;

	(void)emb_begin(EMB_ENV);
	if (h && emb_close(EMB_ENV, h))
		emb_croak();
	XSRETURN_EMPTY;
}

XS(emb_perl_cancel)
{
	dXSARGS;
	emb_handle *h = items == 1 ? emb_self(ST(0)) : NULL;

	if (h && h->object && h->kind->cancel)
		h->kind->cancel(h->object);
	XSRETURN_EMPTY;
}

XS(emb_perl_closed)
{
	dXSARGS;

	ST(0) = items != 1 || emb_closed(emb_self(ST(0))) ? &PL_sv_yes : &PL_sv_no;
	XSRETURN(1);
}

XS(emb_perl_destroy)
{
	dXSARGS;
	SV *address = items == 1 && SvROK(ST(0)) ? SvRV(ST(0)) : NULL;
	emb_handle *h = address && SvIOK(address) ? INT2PTR(emb_handle *, SvIVX(address)) : NULL;

	if (h) {
		SvREADONLY_off(address);
		sv_setiv(address, 0);
		emb_drop(EMB_ENV, h);
	}
	XSRETURN_EMPTY;
}

/** A thread gets copies of all values: handles stay with the one that made them. */
XS(emb_perl_skip)
{
	dXSARGS;

	(void)items;
	XSRETURN_YES;
}

static void emb_perl_init(void)
{
	dTHX;

	newXS("Extmem::Handle::close", emb_perl_close, __FILE__);
	newXS("Extmem::Handle::cancel", emb_perl_cancel, __FILE__);
	newXS("Extmem::Handle::closed", emb_perl_closed, __FILE__);
	newXS("Extmem::Handle::DESTROY", emb_perl_destroy, __FILE__);
	newXS("Extmem::Handle::CLONE_SKIP", emb_perl_skip, __FILE__);
}

#endif
