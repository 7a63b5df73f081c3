/* SPDX-License-Identifier: BSL-1.0 */
/* json.c -- see json.h. */
#include "base/json.h"

#include <string.h>

#include "base/structs.h"

enum { U32, I32, U64, OFFSET, SECONDS, TEXT, STATUS };

typedef struct field {
	const char *type, *name;
	size_t at, end;
	int kind;
} field;

static const field fields[] = {
#define EM_FIELD(type, name, kind) { #type, #name, offsetof(type, name), EMI_END(type, name), kind },
#include "base/fields.inc"
#undef EM_FIELD
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

void emi_json_begin(emi_json *j, char *to, size_t bytes)
{
	j->to = to;
	j->room = to != NULL && bytes != 0 ? bytes - 1 : 0;
	j->n = 0;
	j->more = 0;
	if (to != NULL && bytes != 0)
		to[0] = '\0';
}

size_t emi_json_end(emi_json *j)
{
	if (j->room != 0)
		j->to[j->n < j->room ? j->n : j->room] = '\0';
	return j->n;
}

static void put(emi_json *j, const char *bytes, size_t n)
{
	const size_t left = j->n < j->room ? j->room - j->n : 0;

	if (left != 0)
		memcpy(j->to + j->n, bytes, n < left ? n : left);
	j->n += n;
}

static void put_string(emi_json *j, const char *text)
{
	put(j, text, strlen(text));
}

static void between(emi_json *j)
{
	if (j->more)
		put(j, ", ", 2);
	j->more = 1;
}

void emi_json_key(emi_json *j, const char *key)
{
	between(j);
	put(j, "\"", 1);
	put_string(j, key);
	put(j, "\": ", 3);
	j->more = 0;
}

void emi_json_open(emi_json *j, char bracket)
{
	between(j);
	put(j, &bracket, 1);
	j->more = 0;
}

void emi_json_close(emi_json *j, char bracket)
{
	put(j, &bracket, 1);
	j->more = 1;
}

static void put_digits(emi_json *j, uint64_t n, size_t least)
{
	char digits[20], *at = digits + sizeof digits;
	size_t k = 0;

	while (n != 0 || k < least) {
		*--at = (char)('0' + n % 10);
		n /= 10;
		k++;
	}
	put(j, at, k);
}

void emi_json_number(emi_json *j, uint64_t n)
{
	between(j);
	put_digits(j, n, 1);
}

void emi_json_integer(emi_json *j, int64_t n)
{
	between(j);
	if (n < 0)
		put(j, "-", 1);
	put_digits(j, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 1);
}

/* Seconds that cannot be are zero. */
void emi_json_seconds(emi_json *j, double seconds)
{
	const uint64_t micros = seconds > 0 && seconds < 1e12 ? (uint64_t)(seconds * 1e6 + 0.5) : 0;

	between(j);
	put_digits(j, micros / 1000000, 1);
	put(j, ".", 1);
	put_digits(j, micros % 1000000, 6);
}

void emi_json_null(emi_json *j)
{
	between(j);
	put_string(j, "null");
}

/* Bytes of the character at p, if that is UTF-8 (RFC 3629), or 0. */
static size_t character(const unsigned char *p)
{
	static const unsigned char low[] = { 0xa0, 0x90 };
	const unsigned char c = p[0];
	size_t n, i;

	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	for (i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Neither longer than need be, nor half of a pair, nor beyond the last. */
	if ((c == 0xe0 && p[1] < low[0]) || (c == 0xf0 && p[1] < low[1]) || (c == 0xed && p[1] > 0x9f) ||
	    (c == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

void emi_json_text(emi_json *j, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = (const unsigned char *)text;

	between(j);
	put(j, "\"", 1);
	while (*p != '\0') {
		const size_t n = character(p);
		const char control[] = { '\\', 'u', '0', '0', hex[*p >> 4], hex[*p & 15] };
		const char quoted[] = { '\\', (char)*p };

		if (n == 0)
			put_string(j, "\\ufffd");
		else if (*p < 0x20)
			put(j, control, sizeof control);
		else if (*p == '"' || *p == '\\')
			put(j, quoted, sizeof quoted);
		else
			put(j, (const char *)p, n);
		p += n != 0 ? n : 1;
	}
	put(j, "\"", 1);
}

/* The caller's may have no end. */
static void put_array(emi_json *j, const field *f, const void *at)
{
	char text[EM_ERRINFO_TEXT + 1];
	const size_t n = f->end - f->at < sizeof text ? f->end - f->at : sizeof text - 1;

	memcpy(text, at, n);
	text[n] = '\0';
	emi_json_text(j, text);
}

static void put_field(emi_json *j, const field *f, const void *at)
{
	uint64_t number = 0;
	uint32_t small = 0;
	double seconds;

	emi_json_key(j, f->name);
	if (f->kind == U64 || f->kind == OFFSET)
		memcpy(&number, at, sizeof number);
	else if (f->kind == U32 || f->kind == I32 || f->kind == STATUS)
		memcpy(&small, at, sizeof small);
	if (f->kind == SECONDS) {
		memcpy(&seconds, at, sizeof seconds);
		emi_json_seconds(j, seconds);
	} else if (f->kind == TEXT) {
		put_array(j, f, at);
	} else if (f->kind == OFFSET && number == UINT64_MAX) {
		emi_json_null(j);
	} else if (f->kind == I32 || f->kind == STATUS) {
		emi_json_integer(j, (int32_t)small);
	} else {
		emi_json_number(j, f->kind == U32 ? small : number);
	}
	if (f->kind == STATUS) {
		emi_json_key(j, "name");
		emi_json_text(j, em_status_name((int32_t)small));
	}
}

void emi_json_fields(emi_json *j, const char *type, const void *of)
{
	const int sized = strcmp(type, "em_errinfo") != 0;
	uint32_t size = UINT32_MAX;
	size_t i;

	if (sized)
		memcpy(&size, of, sizeof size);
	for (i = 0; i < FIELDS; i++)
		if (strcmp(fields[i].type, type) == 0 && fields[i].end <= size)
			put_field(j, &fields[i], (const char *)of + fields[i].at);
}

/* A struct without anything else; what was made without its initialiser is nothing. */
static size_t object(const char *type, const void *of, em_status check, char *to, size_t bytes)
{
	emi_json j;

	emi_json_begin(&j, to, bytes);
	if (check != EM_OK)
		return 0;
	emi_json_open(&j, '{');
	emi_json_fields(&j, type, of);
	emi_json_close(&j, '}');
	return emi_json_end(&j);
}

#define JSON(t) size_t t##_json(const t *of, char *to, size_t n) { return object(#t, of, CHECK(t), to, n); }
#define CHECK(t) EMI_STRUCT_CHECK(t, of, NULL)
JSON(em_block_pool_stats)
JSON(em_btree_stats)
JSON(em_cache_stats)
JSON(em_check_info)
JSON(em_container_stats)
JSON(em_disks_stats)
JSON(em_element_stats)
JSON(em_io_stats)
JSON(em_pq_plan_info)
JSON(em_pq_stats)
JSON(em_radix_heap_plan_info)
JSON(em_radix_heap_stats)
JSON(em_runs_info)
JSON(em_sort_plan_info)
JSON(em_stream_graph_info)
JSON(em_vector_stats)
#undef CHECK
#define CHECK(t) (of != NULL ? EM_OK : EM_ERR_INVAL)
JSON(em_errinfo)
