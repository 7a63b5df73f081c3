/* SPDX-License-Identifier: BSL-1.0 */
/* Values of Lua 5.4 for script/typemaps.i: a value is where it lies on the stack, and what makes one pushes it.
 * script/values.h tells what each function does. */
#ifndef EMB_LUA_PORT_H
#define EMB_LUA_PORT_H

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "call.h"
#include "kinds.h"

typedef lua_State emb_env;
typedef int emb_value;
typedef int emb_anchor;
typedef int emb_kept;

#define EMB_ENV L
#define EMB_FIRST(result, value) ((void)(value), SWIG_arg++)
#define EMB_PUT(result, value) emb_put(L, (value), &SWIG_arg)
#define EMB_FAIL               \
	do {                   \
		emb_now.n = 0; \
		SWIG_fail;     \
	} while (0)
#define EMB_WORK(action)      \
	if (emb_enter(L))     \
		EMB_FAIL;     \
	action                \
	emb_leave(L);

#define EMB_COLLECTOR

#include "script/values.h"

static void emb_put(lua_State *L, emb_value v, int *n)
{
	(void)v;
	if (emb_call.outputs++ == 0)
		lua_remove(L, -2);
	else
		(*n)++;
}

static int emb_wrong(lua_State *L, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	luaL_checkstack(L, 8, NULL);
	luaL_where(L, 2);
	lua_pushstring(L, text);
	lua_concat(L, 2);
	return -1;
}

/* Values that are given. */

/** false is as good. */
static int emb_is_nil(lua_State *L, emb_value v)
{
	return lua_isnoneornil(L, v) || (lua_isboolean(L, v) && !lua_toboolean(L, v));
}

static int emb_is_true(lua_State *L, emb_value v)
{
	return lua_toboolean(L, v);
}

static int emb_is_boolean(lua_State *L, emb_value v)
{
	return lua_isboolean(L, v);
}

static int emb_is_bytes(lua_State *L, emb_value v)
{
	return lua_type(L, v) == LUA_TSTRING;
}

static int emb_is_function(lua_State *L, emb_value v)
{
	return lua_isfunction(L, v);
}

static const char *emb_bytes_of(lua_State *L, emb_value v, size_t *n)
{
	return lua_tolstring(L, v, n);
}

/** Strings do not change, and arguments stay on the stack. */
static const char *emb_hold(lua_State *L, emb_value v, emb_anchor *anchor, size_t *n)
{
	*anchor = v;
	return lua_tolstring(L, v, n);
}

static const char *emb_text_of(lua_State *L, emb_value v)
{
	size_t n;
	const char *text;

	if (!emb_is_bytes(L, v)) {
		emb_wrong(L, "a string is wanted here, and not a %s", luaL_typename(L, v));
		return NULL;
	}
	text = lua_tolstring(L, v, &n);
	if (strlen(text) == n)
		return text;
	emb_wrong(L, "a text may have no byte 0");
	return NULL;
}

static int emb_u64_like(lua_State *L, emb_value v)
{
	return lua_type(L, v) == LUA_TNUMBER;
}

/** Integers of Lua have 64 bits: those of 2^63 and more are the negative ones. */
static int emb_u64_of(lua_State *L, emb_value v, uint64_t *to)
{
	lua_Number x;

	if (lua_isboolean(L, v)) {
		*to = (uint64_t)lua_toboolean(L, v);
		return 0;
	}
	if (lua_isinteger(L, v)) {
		*to = (uint64_t)lua_tointeger(L, v);
		return 0;
	}
	x = lua_type(L, v) == LUA_TNUMBER ? lua_tonumber(L, v) : -1;
	if (!(x >= 0 && x < 18446744073709551616.0) || x != (lua_Number)(uint64_t)x)
		return emb_wrong(L, "an integer is wanted here");
	*to = (uint64_t)x;
	return 0;
}

static int emb_i64_of(lua_State *L, emb_value v, int64_t *to)
{
	int good = 0;

	*to = lua_isboolean(L, v) ? lua_toboolean(L, v)
		: lua_type(L, v) == LUA_TNUMBER ? lua_tointegerx(L, v, &good) : 0;
	return good || lua_isboolean(L, v) ? 0 : emb_wrong(L, "an integer is wanted here");
}

static int emb_double_of(lua_State *L, emb_value v, double *to)
{
	*to = lua_tonumber(L, v);
	return lua_type(L, v) == LUA_TNUMBER ? 0 : emb_wrong(L, "a number is wanted here");
}

static int64_t emb_list_size(lua_State *L, emb_value v)
{
	return lua_istable(L, v) ? (int64_t)lua_rawlen(L, v) : -1;
}

static emb_value emb_list_get(lua_State *L, emb_value v, uint64_t i)
{
	luaL_checkstack(L, 16, "a list is too long");
	lua_rawgeti(L, v, (lua_Integer)i + 1);
	return lua_gettop(L);
}

static int emb_is_dict(lua_State *L, emb_value v)
{
	return lua_istable(L, v);
}

static emb_value emb_dict_get(lua_State *L, emb_value v, const char *name, int *there)
{
	luaL_checkstack(L, 16, NULL);
	lua_pushstring(L, name);
	*there = lua_rawget(L, v) != LUA_TNIL;
	return lua_gettop(L);
}

static uint64_t emb_dict_size(lua_State *L, emb_value v)
{
	uint64_t n = 0;

	for (lua_pushnil(L); lua_next(L, v); lua_pop(L, 1))
		n++;
	return n;
}

static int emb_mark(lua_State *L)
{
	return lua_gettop(L);
}

static void emb_reset(lua_State *L, int mark)
{
	lua_settop(L, mark);
}

/** Memory for the time of a call is a value of Lua's. */
static void *emb_temp(lua_State *L, size_t bytes)
{
	void *p;

	luaL_checkstack(L, 16, NULL);
	p = lua_newuserdatauv(L, bytes, 0);
	memset(p, 0, bytes);
	return p;
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

/* Values that are made. */

static emb_value emb_nil(lua_State *L)
{
	lua_pushnil(L);
	return lua_gettop(L);
}

static emb_value emb_from_bytes(lua_State *L, const void *bytes, size_t n)
{
	lua_pushlstring(L, (const char *)bytes, n);
	return lua_gettop(L);
}

static emb_value emb_from_text(lua_State *L, const char *text)
{
	lua_pushstring(L, text);
	return lua_gettop(L);
}

static emb_value emb_from_i64(lua_State *L, int64_t n)
{
	lua_pushinteger(L, n);
	return lua_gettop(L);
}

static emb_value emb_from_u64(lua_State *L, uint64_t n)
{
	return emb_from_i64(L, (int64_t)n);
}

static emb_value emb_from_double(lua_State *L, double x)
{
	lua_pushnumber(L, x);
	return lua_gettop(L);
}

static emb_value emb_list_new(lua_State *L, uint64_t n)
{
	lua_createtable(L, n < INT_MAX ? (int)n : 0, 0);
	return lua_gettop(L);
}

static void emb_list_put(lua_State *L, emb_value list, uint64_t i, emb_value v)
{
	(void)v;
	lua_rawseti(L, list, (lua_Integer)i + 1);
}

static emb_value emb_dict_new(lua_State *L)
{
	luaL_checkstack(L, 16, NULL);
	lua_newtable(L);
	return lua_gettop(L);
}

static void emb_dict_put(lua_State *L, emb_value dict, const char *name, emb_value v)
{
	(void)v;
	lua_setfield(L, dict, name);
}

static int emb_refuse(emb_env *, em_status, const char *);

static emb_value emb_room(lua_State *L, uint64_t n, uint64_t unit, char **to)
{
	*to = NULL;
	if (unit == 0 || n > (SIZE_MAX >> 2) / unit)
		emb_refuse(L, EM_ERR_INVAL, unit == 0 ? "its records have no size" : "so many records fit nowhere");
	else
		*to = (char *)emb_temp(L, (size_t)(n * unit) + 1);
	return lua_gettop(L);
}

static emb_value emb_from_room(lua_State *L, emb_value room, const char *from, size_t n)
{
	(void)room;
	return emb_from_bytes(L, from, n);
}

/* Errors. */

#define EMB_ERROR_CLASS "extmem.Error"

/** Push a table with what is known of a failure. */
static void emb_throw(lua_State *L, const em_errinfo *e, const uint64_t *done)
{
	emb_value d = emb_dict_new(L);

	emb_dict_put(L, d, "status", emb_from_i64(L, e->status));
	emb_dict_put(L, d, "name", emb_from_text(L, em_status_name(e->status)));
	emb_dict_put(L, d, "errno", emb_from_i64(L, e->sys_errno));
	emb_dict_put(L, d, "op", emb_from_text(L, e->op));
	emb_dict_put(L, d, "message", emb_from_text(L, e->text));
	if (e->path[0])
		emb_dict_put(L, d, "path", emb_from_text(L, e->path));
	if (e->offset != UINT64_MAX)
		emb_dict_put(L, d, "offset", emb_from_u64(L, e->offset));
	if (e->bytes)
		emb_dict_put(L, d, "bytes", emb_from_u64(L, e->bytes));
	if (e->record)
		emb_dict_put(L, d, "record", emb_from_u64(L, e->record));
	if (done)
		emb_dict_put(L, d, "done", emb_from_u64(L, *done));
	luaL_setmetatable(L, EMB_ERROR_CLASS);
}

static __thread int emb_raised = LUA_NOREF;

/** What a function has raised is on top of the stack, if there is something. */
static int emb_reraise(lua_State *L)
{
	if (emb_raised == LUA_NOREF)
		return 0;
	lua_rawgeti(L, LUA_REGISTRYINDEX, emb_raised);
	luaL_unref(L, LUA_REGISTRYINDEX, emb_raised);
	emb_raised = LUA_NOREF;
	return 1;
}

struct emb_ran {
	int (*body)(lua_State *, struct emb_job *);
	struct emb_job *job;
};

static int emb_protected(lua_State *L)
{
	struct emb_ran *ran = (struct emb_ran *)lua_touserdata(L, 1);

	luaL_checkstack(L, 32, NULL);
	return ran->body(L, ran->job) ? lua_error(L) : 0;
}

/** Run what may raise: 0, or -1, where it is kept. */
static int emb_run(lua_State *L, int (*body)(lua_State *, struct emb_job *), struct emb_job *job)
{
	const int top = lua_gettop(L);
	struct emb_ran ran;

	ran.body = body;
	ran.job = job;
	if (emb_raised != LUA_NOREF || !lua_checkstack(L, 8))
		return -1;
	lua_pushcfunction(L, emb_protected);
	lua_pushlightuserdata(L, &ran);
	if (lua_pcall(L, 1, 0, 0) == LUA_OK)
		return 0;
	emb_raised = luaL_ref(L, LUA_REGISTRYINDEX);
	lua_settop(L, top);
	return -1;
}

/** A hook that a signal has set acts when something is called. */
static int emb_nothing(lua_State *L)
{
	(void)L;
	return 0;
}

static int emb_interrupted(lua_State *L)
{
	lua_pushcfunction(L, emb_nothing);
	lua_call(L, 0, 0);
	return 0;
}

static int emb_collect_body(lua_State *L, struct emb_job *j)
{
	(void)j;
	lua_gc(L, LUA_GCCOLLECT, 0);
	return 0;
}

#include "script/objects.h"

/* Functions: in the registry, or, of a handle, beside its value, so that what looks at one another is collected. */

#define EMB_HANDLE_CLASS "extmem.Handle"
#define EMB_HANDLES_KEPT "extmem.handles"

static void emb_keep(lua_State *L, struct emb_fn *f, emb_value v)
{
	f->callable = LUA_NOREF;
	lua_pushvalue(L, v);
	f->callable = luaL_ref(L, LUA_REGISTRYINDEX);
}

static void emb_unkeep(lua_State *L, struct emb_fn *f)
{
	if (L)
		luaL_unref(L, LUA_REGISTRYINDEX, f->callable);
}

/** The function that a value has is pushed. */
static void emb_push_kept(lua_State *L, const struct emb_fn *f)
{
	lua_getfield(L, LUA_REGISTRYINDEX, EMB_HANDLES_KEPT);
	if (lua_rawgetp(L, -1, f->owner) == LUA_TUSERDATA)
		lua_getiuservalue(L, -1, f->slot);
}

static void emb_pin(lua_State *L, struct emb_fn *f)
{
	const int top = lua_gettop(L);

	if (f->callable != LUA_NOREF)
		return;
	luaL_checkstack(L, 8, NULL);
	emb_push_kept(L, f);
	f->callable = luaL_ref(L, LUA_REGISTRYINDEX);
	lua_settop(L, top);
}

static int emb_call_fn(lua_State *L, struct emb_fn *f, int n, const emb_value *argv, emb_value *result)
{
	int i;

	if (f->callable != LUA_NOREF)
		lua_rawgeti(L, LUA_REGISTRYINDEX, f->callable);
	else
		emb_push_kept(L, f);
	for (i = 0; i < n; i++)
		lua_pushvalue(L, argv[i]);
	lua_call(L, n, 1);
	*result = lua_gettop(L);
	return 0;
}

/* Handles. */

static emb_handle *emb_handle_of(lua_State *L, emb_value v)
{
	emb_handle **h = (emb_handle **)luaL_testudata(L, v, EMB_HANDLE_CLASS);

	return h ? *h : NULL;
}

static emb_value emb_from_handle(lua_State *L, emb_handle *h)
{
	emb_handle **to;
	struct emb_fn *f;
	int n = 0;

	if (!h)
		return emb_nil(L);
	for (f = h->keep; f; f = f->next)
		f->slot = ++n;
	to = (emb_handle **)lua_newuserdatauv(L, sizeof *to, n);
	*to = h;
	luaL_setmetatable(L, EMB_HANDLE_CLASS);
	if (n > 0) {
		lua_getfield(L, LUA_REGISTRYINDEX, EMB_HANDLES_KEPT);
		lua_pushvalue(L, -2);
		lua_rawsetp(L, -2, h);
		lua_pop(L, 1);
	}
	for (f = h->keep; f; f = f->next) {
		lua_rawgeti(L, LUA_REGISTRYINDEX, f->callable);
		lua_setiuservalue(L, -2, f->slot);
		luaL_unref(L, LUA_REGISTRYINDEX, f->callable);
		f->callable = LUA_NOREF;
	}
	return lua_gettop(L);
}

/** NULL: it was collected, and a finalizer of the caller's still has it. */
static emb_handle *emb_self(lua_State *L)
{
	return *(emb_handle **)luaL_checkudata(L, 1, EMB_HANDLE_CLASS);
}

static int emb_lua_close(lua_State *L)
{
	emb_handle *h = emb_self(L);

	(void)emb_begin(L);
	return h && emb_close(L, h) ? lua_error(L) : 0;
}

static int emb_lua_cancel(lua_State *L)
{
	emb_handle *h = emb_self(L);

	if (h && h->object && h->kind->cancel)
		h->kind->cancel(h->object);
	return 0;
}

static int emb_lua_closed(lua_State *L)
{
	const emb_handle *h = emb_self(L);

	lua_pushboolean(L, !h || emb_closed(h));
	return 1;
}

static int emb_lua_gc(lua_State *L)
{
	emb_handle **h = (emb_handle **)luaL_checkudata(L, 1, EMB_HANDLE_CLASS);

	if (*h)
		emb_drop(L, *h);
	*h = NULL;
	return 0;
}

/** The class of errors, which the facade completes. */
static int emb_lua_error_class(lua_State *L)
{
	luaL_getmetatable(L, EMB_ERROR_CLASS);
	return 1;
}

/** A number of 64 bits without sign from decimal digits, and as these. */
static int emb_lua_unsigned(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1), *p;
	uint64_t n = 0;

	for (p = text; *p >= '0' && *p <= '9' && n <= (UINT64_MAX - (uint64_t)(*p - '0')) / 10; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	if (*p || p == text)
		return luaL_error(L, "'%s' is no number of 64 bits", text);
	lua_pushinteger(L, (lua_Integer)n);
	return 1;
}

static int emb_lua_text(lua_State *L)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)luaL_checkinteger(L, 1));
	lua_pushstring(L, text);
	return 1;
}

static void emb_lua_init(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "close", emb_lua_close }, { "cancel", emb_lua_cancel }, { "closed", emb_lua_closed }, { NULL, NULL }
	};

	luaL_newmetatable(L, EMB_ERROR_CLASS);
	luaL_newmetatable(L, EMB_HANDLE_CLASS);
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, emb_lua_gc);
	lua_setfield(L, -2, "__gc");
	lua_pushcfunction(L, emb_lua_close);
	lua_setfield(L, -2, "__close");
	lua_newtable(L);
	lua_newtable(L);
	lua_pushliteral(L, "v");
	lua_setfield(L, -2, "__mode");
	lua_setmetatable(L, -2);
	lua_setfield(L, LUA_REGISTRYINDEX, EMB_HANDLES_KEPT);
	lua_pop(L, 2);
}

#endif
