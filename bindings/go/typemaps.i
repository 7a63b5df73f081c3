/* SPDX-License-Identifier: BSL-1.0 */
/*
 * How Go has what flat/typemaps.i asks for.
 *
 * Functions of the module take objects, texts, options and functions as they are (internal/raw/down.go), and return a
 * Result.  Bytes are slices; a result is memory of C, or 0: success without results.  Functions of the caller's are in
 * a table of up.go: those that it exports return 0, or the number of the panic or error.
 */
#pragma SWIG nowarn=453

/* An argument of a type of Go, as what C has, ... */
%define EM_GO(type, as, make, pattern...)
%typemap(gotype) pattern #type
%typemap(imtype) pattern #as
%typemap(goin) pattern { $result = make($input) }
%enddef
/* ... which the call is not to outlive. */
%define EM_GO_ALIVE(type, as, make, pattern...)
%typemap(gotype) pattern #type
%typemap(imtype) pattern #as
%typemap(goin) pattern { $result = make($input); defer alive($input) }
%enddef
%define EM_AS_ID(pattern...)
EM_GO_ALIVE(Handle, uint64, number, pattern)
%enddef
%define EM_AS_OPTIONS(pattern...)
EM_GO_ALIVE(map[string]any, []byte, encode, pattern)
%enddef
%define EM_AS_NUMBER(pattern...)
EM_GO(any, uint64, keep, pattern)
%enddef
%define EM_AS_BYTES(pattern...)
%typemap(gotype) pattern "[]byte"
%enddef

%{
struct emb_view {
	const void *p;
	uint64_t n;
	int none;
};
#define EMB_ID(x) ((uint64_t)(x))
#define EMB_WHOLE(x) ((uint64_t)(x))
#define EMB_VIEW(x, view, write) \
	((view).none = !(x).array, (view).p = (x).array ? (x).array : "", (view).n = (uint64_t)(x).len)
#define EMB_UNVIEW(view) ((void)(view))
%}

%include "flat/typemaps.i"

EM_GO_ALIVE([]Handle, []byte, numbers, (em_stream *const *EM_INPUTS, uint32_t EM_N))
EM_GO_ALIVE([]Handle, []byte, numbers, (em_sink *const *EM_SINKS, uint32_t EM_N))
EM_GO(string, []byte, text, const char *)
EM_GO(string, []byte, text, const char *EM_PATH)
EM_GO([]string, []byte, texts, (const char *const *EM_PATHS, uint32_t EM_N))
EM_GO(bool, int, truth, int durable)
EM_GO(bool, int, truth, int spill)

%{
extern void embGoRelease(unsigned long long id);
extern void embGoCollect(void);
extern unsigned long long embGoProgress(unsigned long long id, unsigned phase, unsigned long long done,
					unsigned long long total, int *stop);
extern unsigned long long embGoCmp(unsigned long long id, void *a, void *b, unsigned long long bytes, int *result);
extern unsigned long long embGoKeys(unsigned long long id, void *records, unsigned long long bytes, void *keys,
				    unsigned long long n);
extern unsigned long long embGoVisit(unsigned long long id, unsigned long long i, void *records,
				     unsigned long long bytes, int change);
extern unsigned long long embGoTest(unsigned long long id, void *record, unsigned long long bytes, int *result);
extern unsigned long long embGoDisorder(unsigned long long id, unsigned long long number, void *record,
					unsigned long long bytes);
extern void embGoLog(unsigned long long id, int level, char *line);

extern unsigned long long embGoAsk(unsigned long long id, void *a, unsigned long long na, void *b,
				   unsigned long long nb, void *f, int *some);

/* What a function of the caller's has come to, until the library returns. */
static __thread unsigned long long emb_thrown;

#define EMB_KEEP(call) (emb_thrown ? -1 : (emb_thrown = (call)) != 0 ? -1 : 0)

static void emb_up_release(uint64_t id)
{
	embGoRelease(id);
}

static int emb_up_collect(void)
{
	embGoCollect();
	return 1;
}

static int emb_up_progress(uint64_t id, uint32_t phase, uint64_t done, uint64_t total)
{
	int stop = 1;

	return EMB_KEEP(embGoProgress(id, phase, done, total, &stop)) || stop;
}

static int emb_up_cmp(uint64_t id, const void *a, const void *b, size_t bytes, int *result)
{
	return EMB_KEEP(embGoCmp(id, (void *)(uintptr_t)a, (void *)(uintptr_t)b, bytes, result));
}

static int emb_up_keys(uint64_t id, const void *records, size_t bytes, uint64_t *keys, size_t n)
{
	return EMB_KEEP(embGoKeys(id, (void *)(uintptr_t)records, bytes, keys, n));
}

static int emb_up_visit(uint64_t id, uint64_t i, void *records, size_t bytes, int change)
{
	return EMB_KEEP(embGoVisit(id, i, records, bytes, change));
}

static int emb_up_test(uint64_t id, const void *record, size_t bytes, int *result)
{
	return EMB_KEEP(embGoTest(id, (void *)(uintptr_t)record, bytes, result));
}

static int emb_up_disorder(uint64_t id, uint64_t number, const void *record, size_t bytes)
{
	return EMB_KEEP(embGoDisorder(id, number, (void *)(uintptr_t)record, bytes));
}

static int emb_up_ask(struct emb_fn *f, const void *a, size_t na, const void *b, size_t nb)
{
	int some = 0;

	if (EMB_KEEP(embGoAsk(f->id, (void *)(uintptr_t)a, na, (void *)(uintptr_t)b, nb, f, &some)))
		return -1;
	return some < 0 ? -1 : 0;
}

/** Room for what a function answers. */
void *emb_go_answer(void *f, unsigned long long n)
{
	return emb_answer((struct emb_fn *)f, (size_t)n);
}

static int emb_up_log(uint64_t id, int32_t level, const char *line)
{
	embGoLog(id, level, (char *)(uintptr_t)line);
	return 0;
}

struct emb_pen {
	char *p;
	size_t n;
};

static void emb_write(struct emb_pen *pen, const void *data, size_t n)
{
	if (pen->p)
		memcpy(pen->p + pen->n, data, n);
	pen->n += n;
}

static void emb_write_number(struct emb_pen *pen, uint64_t n)
{
	emb_write(pen, &n, sizeof n);
}

static void emb_write_text(struct emb_pen *pen, const void *data, size_t n)
{
	emb_write_number(pen, n);
	emb_write(pen, data, n);
}

/** Numbers of 8 bytes, and texts with their length in front: length of all, thrown, status, and what there is. */
static size_t emb_write_result(struct emb_pen *pen, const struct emb_result *r, size_t all)
{
	const em_errinfo *e = &emb_call.detail;
	int i;

	emb_write_number(pen, all);
	emb_write_number(pen, emb_thrown);
	emb_write_number(pen, (uint64_t)(int64_t)r->status);
	if (r->status < 0) {
		emb_write_number(pen, (uint64_t)e->sys_errno);
		emb_write_number(pen, e->offset);
		emb_write_number(pen, e->bytes);
		emb_write_number(pen, e->record);
		emb_write_number(pen, emb_call.done != NULL);
		emb_write_number(pen, emb_call.done ? *emb_call.done : 0);
		emb_write_text(pen, e->op, strlen(e->op));
		emb_write_text(pen, e->path, strlen(e->path));
		emb_write_text(pen, e->text, strlen(e->text));
	}
	for (i = 0; i < r->n; i++) {
		if (r->item[i].type == EMB_NUMBER || r->item[i].type == EMB_SIGNED)
			emb_write_number(pen, r->item[i].number);
		else
			emb_write_text(pen, r->item[i].data, r->item[i].bytes);
	}
	return pen->n;
}

static void *emb_return(em_status status)
{
	struct emb_pen count = { NULL, 0 }, pen = { NULL, 0 };
	struct emb_result r;
	size_t n;

	emb_complete(&r, status);
	if (r.status == EM_OK && r.n == 0 && !emb_thrown)
		return NULL;
	n = emb_write_result(&count, &r, 0);
	pen.p = (char *)malloc(n);
	/* A process in which this fails is beyond help; Go itself gives up then. */
	if (pen.p)
		emb_write_result(&pen, &r, n);
	emb_thrown = 0;
	return pen.p;
}

void emb_go_free(void *p)
{
	free(p);
}
%}

%typemap(gotype) em_status "*Result"
%typemap(imtype) em_status "uint64"
%typemap(goout) em_status "$result = take($1)"
%typemap(out) em_status {
	$result = (long long)(uintptr_t)emb_return(emb_now.refused ? emb_now.refused : $1);
}
/* These have no way to fail: of what is closed they tell 0. */
%typemap(out) uint64_t, unsigned long long, uint32_t, unsigned int, int, int32_t, size_t, unsigned long {
	$result = emb_now.refused ? 0 : $1;
}
%typemap(out) const char * {
	$result.array = emb_now.refused ? NULL : (void *)(uintptr_t)$1;
	$result.len = $result.array ? (intgo)strlen($1) : 0;
	$result.cap = $result.len;
}
%typemap(imtype, out="[]byte") const char * "[]byte"
%typemap(goout) const char * "$result = string($1)"
/* A constant of this type there cannot be. */
%ignore EM_VERSION_STRING;

/* What the facade calls beside the library. */
EM_AS_ID(uint64_t EM_ID)
EM_GO(bool, int, truth, int collected)
int emb_close(uint64_t EM_ID, int collected);
void emb_cancel(uint64_t EM_ID);
int emb_is_open(uint64_t EM_ID);
