/* SPDX-License-Identifier: BSL-1.0 */
/*
 * What a language's port.h defines for its values.  Before it includes this, it has made the types
 *
 *   emb_env     the interpreter
 *   emb_value   a value, which is valid until the wrapper returns
 *   emb_anchor  a local variable of a wrapper that keeps a value alive
 *   emb_kept    a value that is kept for longer
 *
 * and macros for wrappers: EMB_ENV, the interpreter; EMB_FIRST(result, value), the first result; EMB_PUT(result,
 * value), which replaces that, and from then on adds to it; EMB_FAIL, which leaves with the pending exception;
 * EMB_WORK(action), which does a call between emb_enter() and emb_leave(); EMB_COLLECTOR, if values are not counted;
 * EMB_NIL_IS_EMPTY, if what is nothing looks as an empty line does.
 *
 * Functions that return int are 0, or -1 with a pending exception; those that return pointers are NULL then.
 */
#ifndef EMB_SCRIPT_VALUES_H
#define EMB_SCRIPT_VALUES_H

typedef struct emb_handle emb_handle;
struct emb_fn;
struct emb_job;

/** An exception of the language, for what is no argument: -1. */
static int emb_wrong(emb_env *, const char *format, ...);
/** Make an exception of a failure pending.  done: how far the call came, or NULL. */
static void emb_throw(emb_env *, const em_errinfo *, const uint64_t *done);
/** Run what may raise and jump: -1 if it did, or if an exception is kept already; then that is kept. */
static int emb_run(emb_env *, int (*body)(emb_env *, struct emb_job *), struct emb_job *);
/** Make the exception pending that is kept: 1; or 0, as there is none. */
static int emb_reraise(emb_env *);
#ifdef EMB_COLLECTOR
/** Within emb_run(): have the collector close what nobody has any more. */
static int emb_collect_body(emb_env *, struct emb_job *);
#endif
/** Within emb_run(): let the interpreter look at signals. */
static int emb_interrupted(emb_env *);

/* What a value is. */
static int emb_is_nil(emb_env *, emb_value);
static int emb_is_true(emb_env *, emb_value);
static int emb_is_boolean(emb_env *, emb_value);
static int emb_is_bytes(emb_env *, emb_value);
static int emb_is_dict(emb_env *, emb_value);
static int emb_is_function(emb_env *, emb_value);
/** Is it to be a number, and not "64M"? */
static int emb_u64_like(emb_env *, emb_value);

/* What is in it.  Numbers are not rounded. */
static int emb_u64_of(emb_env *, emb_value, uint64_t *);
static int emb_i64_of(emb_env *, emb_value, int64_t *);
static int emb_double_of(emb_env *, emb_value, double *);
/** Bytes, until the interpreter runs. */
static const char *emb_bytes_of(emb_env *, emb_value, size_t *n);
/** Bytes that stay as they are until the wrapper returns, whatever runs. */
static const char *emb_hold(emb_env *, emb_value, emb_anchor *, size_t *n);
/** A text that ends with 0 and stays until the wrapper returns. */
static const char *emb_text_of(emb_env *, emb_value);
/** Items of a list, or -1: it is none. */
static int64_t emb_list_size(emb_env *, emb_value);
static emb_value emb_list_get(emb_env *, emb_value, uint64_t i);
static uint64_t emb_dict_size(emb_env *, emb_value);
static emb_value emb_dict_get(emb_env *, emb_value, const char *name, int *there);

/* Memory, zeroed, until the wrapper returns; emb_temps_free() is called then.  That of a call around which another one
 * begins is put away, and put back.  temps.h has these for languages that cannot do better. */
static void *emb_temp(emb_env *, size_t bytes);
static void emb_temps_free(void);
static void *emb_temps_away(void);
static void emb_temps_back(void *);
/** Values since emb_mark() are not used any more. */
static int emb_mark(emb_env *);
static void emb_reset(emb_env *, int mark);

/* Values that are made. */
static emb_value emb_nil(emb_env *);
static emb_value emb_from_bytes(emb_env *, const void *, size_t n);
static emb_value emb_from_text(emb_env *, const char *);
static emb_value emb_from_i64(emb_env *, int64_t);
static emb_value emb_from_u64(emb_env *, uint64_t);
static emb_value emb_from_double(emb_env *, double);
static emb_value emb_list_new(emb_env *, uint64_t n);
static void emb_list_put(emb_env *, emb_value list, uint64_t i, emb_value);
static emb_value emb_dict_new(emb_env *);
static void emb_dict_put(emb_env *, emb_value dict, const char *name, emb_value);
/** Bytes to be written by the library: room for n of unit bytes; *to is NULL with an exception. */
static emb_value emb_room(emb_env *, uint64_t n, uint64_t unit, char **to);
static emb_value emb_from_room(emb_env *, emb_value room, const char *from, size_t n);

/* Functions and handles. */
static void emb_keep(emb_env *, struct emb_fn *, emb_value);
static void emb_unkeep(emb_env *, struct emb_fn *);
/** A function that a handle has kept with its value, so that cycles are collected, is its group's from now on. */
static void emb_pin(emb_env *, struct emb_fn *);
/** Within emb_run(): call it. */
static int emb_call_fn(emb_env *, struct emb_fn *, int n, const emb_value *argv, emb_value *result);
/** The handle that a value is, or NULL, without an exception. */
static emb_handle *emb_handle_of(emb_env *, emb_value);
/** A value for a handle, which belongs to it; of NULL, nil. */
static emb_value emb_from_handle(emb_env *, emb_handle *);

#endif
