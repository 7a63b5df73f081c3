/* SPDX-License-Identifier: BSL-1.0 */
/*
 * parse.c -- a key as the command spells it, OFFSET:TYPE[:r], and orders as they are named, TYPE@OFFSET[:r],...; those
 * of text are in text_name.c.
 *
 * TYPE is u8 u16 u32 u64 i8 i16 i32 i64 f32 f64, each with an optional le (the default) or be, or bytesN.
 * Numbers are decimal digits and nothing else.  The message of a failure quotes the key, then names the part that is
 * wrong.
 */
#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"
#include "key/normalise.h"
#include "key/text.h"

/* As much of a text as a message quotes. */
#define QUOTED 64

/* Part of the text being parsed. */
typedef struct span {
	const char *text;
	size_t n;
} span;

/* The part up to the next colon or the end. */
static span next_part(const char *text)
{
	span part = { text, strcspn(text, ":") };

	return part;
}

static int quoted(span s)
{
	return s.n < QUOTED ? (int)s.n : QUOTED;
}

/* Decimal digits as a number: 0, -1 when they are none or not only digits, 1 when it does not fit. */
static int parse_number(uint64_t *out, span s)
{
	uint64_t v = 0;
	int big = 0;
	size_t i;

	if (s.n == 0)
		return -1;
	for (i = 0; i < s.n; i++) {
		const uint64_t digit = (uint64_t)(s.text[i] - '0');

		if (s.text[i] < '0' || s.text[i] > '9')
			return -1;
		if (v > (UINT64_MAX - digit) / 10)
			big = 1;
		v = v * 10 + digit;
	}
	*out = v;
	return big;
}

static int equals(span s, const char *word)
{
	return s.n == strlen(word) && memcmp(s.text, word, s.n) == 0;
}

/* A numeric type with or without its byte order.  Returns 0 when it is none. */
static int parse_numeric(em_key *key, span s)
{
	int32_t type;

	if (s.n > 2 && memcmp(s.text + s.n - 2, "le", 2) == 0) {
		s.n -= 2;
	} else if (s.n > 2 && memcmp(s.text + s.n - 2, "be", 2) == 0) {
		s.n -= 2;
		key->flags |= EM_KEY_BIG_ENDIAN;
	}
	for (type = EM_KEY_U8; type < EM_KEY_BYTES; type++) {
		if (equals(s, emi_type_name(type))) {
			key->type = type;
			key->width = emi_type_width(type);
			return 1;
		}
	}
	return 0;
}

static em_status parse_type(em_key *key, span part, const char *text, em_errinfo *err)
{
	const size_t word = strlen("bytes");
	span digits;
	int bad;

	if (part.n >= word && memcmp(part.text, "bytes", word) == 0) {
		digits.text = part.text + word;
		digits.n = part.n - word;
		key->type = EM_KEY_BYTES;
		bad = parse_number(&key->width, digits);
		if (bad < 0)
			return emi_fail(err, EM_ERR_INVAL, "key '%.*s': 'bytes' needs a number of bytes, not '%.*s'",
					QUOTED, text, quoted(digits), digits.text);
		if (bad > 0)
			return emi_fail(err, EM_ERR_INVAL, "key '%.*s': the number of bytes is too large", QUOTED,
					text);
		if (key->width == 0)
			return emi_fail(err, EM_ERR_INVAL, "key '%.*s': the number of bytes is 0", QUOTED, text);
		return EM_OK;
	}
	if (part.n == 0)
		return emi_fail(err, EM_ERR_INVAL, "key '%.*s': the type is missing", QUOTED, text);
	if (!parse_numeric(key, part))
		return emi_fail(err, EM_ERR_INVAL, "key '%.*s': unknown type '%.*s'", QUOTED, text, quoted(part),
				part.text);
	return EM_OK;
}

static em_status parse(em_key *key, const char *text, em_errinfo *err)
{
	span part = next_part(text);
	em_status status;
	int bad;

	if (*text == '\0')
		return emi_fail(err, EM_ERR_INVAL, "key '': expected OFFSET:TYPE[:r]");
	bad = parse_number(&key->offset, part);
	if (bad < 0)
		return emi_fail(err, EM_ERR_INVAL, "key '%.*s': the offset '%.*s' is not a number", QUOTED, text,
				quoted(part), part.text);
	if (bad > 0)
		return emi_fail(err, EM_ERR_INVAL, "key '%.*s': the offset is too large", QUOTED, text);
	if (part.text[part.n] == '\0')
		return emi_fail(err, EM_ERR_INVAL, "key '%.*s': the type is missing", QUOTED, text);
	part = next_part(part.text + part.n + 1);
	status = parse_type(key, part, text, err);
	if (status != EM_OK || part.text[part.n] == '\0')
		return status;
	part.text += part.n + 1;
	part.n = strlen(part.text);
	if (!equals(part, "r"))
		return emi_fail(err, EM_ERR_INVAL, "key '%.*s': expected 'r' after the type, not '%.*s'", QUOTED, text,
				quoted(part), part.text);
	key->flags |= EM_KEY_DESCENDING;
	return EM_OK;
}

em_status em_key_parse(em_key *out, const char *text, em_errinfo *err)
{
	em_errinfo detail = { 0 };
	em_key key = { 0 };
	em_status status;

	if (out == NULL)
		status = emi_fail(&detail, EM_ERR_INVAL, "key: out is NULL");
	else if (text == NULL)
		status = emi_fail(&detail, EM_ERR_INVAL, "key: text is NULL");
	else
		status = parse(&key, text, &detail);
	if (status == EM_OK)
		*out = key;
	else if (err != NULL)
		*err = detail;
	return status;
}

/* One field of a name, up to a comma or the end. */
static em_status parse_field(em_key *key, span field, em_errinfo *err)
{
	const char *text = field.text, *at = memchr(text, '@', field.n);
	span type = { text, at != NULL ? (size_t)(at - text) : field.n }, offset = { NULL, 0 };
	em_status status = parse_type(key, type, text, err);
	int bad;

	if (status != EM_OK)
		return status;
	if (at == NULL)
		return emi_fail(err, EM_ERR_INVAL, "order '%.*s': expected '@' and an offset", quoted(field), text);
	offset.text = at + 1;
	offset.n = field.n - type.n - 1;
	if (offset.n > 2 && memcmp(offset.text + offset.n - 2, ":r", 2) == 0) {
		offset.n -= 2;
		key->flags |= EM_KEY_DESCENDING;
	}
	bad = parse_number(&key->offset, offset);
	if (bad != 0)
		return emi_fail(err, EM_ERR_INVAL, "order '%.*s': the offset '%.*s' is %s", quoted(field), text,
				quoted(offset), offset.text, bad < 0 ? "not a number" : "too large");
	return EM_OK;
}

static uint32_t count_fields(const char *name)
{
	uint32_t n = 1;

	for (; *name != '\0' && n < UINT32_MAX; name++)
		n += *name == ',';
	return n;
}

em_status em_order_parse(em_order **out, em_ctx *ctx, uint64_t record_size, const char *name, em_errinfo *err)
{
	em_errinfo detail = { 0 };
	em_key *keys = NULL;
	em_status status;
	uint32_t n = 0, i;

	if (out != NULL)
		*out = NULL;
	status = emi_given(out, "out", &detail);
	if (status == EM_OK)
		status = emi_given(ctx, "ctx", &detail);
	if (status == EM_OK)
		status = emi_given(name, "name", &detail);
	if (status != EM_OK)
		goto out;
	if (emi_is_text_name(name)) {
		status = record_size == 0
				 ? emi_order_parse_text(out, ctx, name, &detail)
				 : emi_fail(&detail, EM_ERR_INVAL,
					    "order '%.*s': records of text are of any length: record_size is not 0",
					    QUOTED, name);
		goto out;
	}
	n = count_fields(name);
	keys = emi_alloc_array(ctx, n, sizeof *keys, &detail);
	status = keys != NULL ? EM_OK : detail.status;
	for (i = 0; i < n && status == EM_OK; i++) {
		const span field = { name, strcspn(name, ",") };

		status = parse_field(&keys[i], field, &detail);
		name += field.n + (i + 1 < n);
	}
	if (status == EM_OK)
		status = em_order_keys(out, ctx, record_size, keys, n, &detail);
	emi_free_array(ctx, keys, keys != NULL ? n : 0, sizeof *keys);
out:
	if (status != EM_OK && err != NULL)
		*err = detail;
	return status;
}
