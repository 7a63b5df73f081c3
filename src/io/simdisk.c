/* SPDX-License-Identifier: BSL-1.0 */
/*
 * simdisk.c -- the parameters of simulated disks: models by name, and options as text.
 *
 * Where the figures of the models come from:
 *
 * 120gxp is the disk of the machine in Dementiev and Sanders, "Asynchronous Parallel Disk Sorting" (2003): 80 GByte, 48
 * MByte/s in the outermost zone, about half of that in the innermost; seeks, speed, and buffer are what is known of
 * the product.  The number of zones is a guess, on which little depends.
 *
 * elite9 is the disk of appendix A of the LEDA-SM report (1998): 17845731 sectors, 133 in the average track, 63000 to
 * 91000 bytes per track unformatted, 5400 rpm; so 109 to 157 sectors per track, 90 times in a second.  Seeks, the burst
 * rate of 20 MByte/s and the buffer are said there; the number of zones is a guess again.  The report measures up to 6
 * MByte/s through a file system.
 */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/structs.h"
#include "io/backend.h"
#include "io/disk_model.h"

typedef struct preset {
	const char *name;
	uint32_t rpm, zones;
	uint64_t capacity, rate_outer, rate_inner, rate_interface, buffer;
	uint64_t seek_track_ns, seek_average_ns, seek_full_ns, write_ns;
} preset;

static const preset presets[] = {
	{"plain", 0, 1, 0, 50000000, 50000000, 0, 2097152, 8000000, 8000000, 8000000, 0},
	{"120gxp", 7200, 30, UINT64_C(80000000000), 48000000, 24000000, 100000000, 2097152, 1100000, 8500000, 15000000,
	 0},
	{"elite9", 5400, 16, UINT64_C(9137014272), 7234560, 5022720, 20000000, 1048576, 900000, 11000000, 23000000,
	 1000000},
};

enum { PRESETS = sizeof presets / sizeof *presets };

/* The backend lies in room that does not grow with it, so an em_simdisk does not change when an em_backend does. */
typedef char backend_has_room[sizeof(em_backend) <= sizeof(((em_simdisk *)NULL)->table) ? 1 : -1];

/* What an option's value is. */
typedef enum value_kind { MODEL, SIZE, TIME, NUMBER } value_kind;

#define AT(field) offsetof(em_simdisk, field)

static const struct option {
	const char *name;
	value_kind kind;
	unsigned fields;        /* entries of field */
	size_t field[3];        /* what it sets */
} options[] = {
	{"model", MODEL, 0, {0}},
	{"rate", SIZE, 2, {AT(rate_outer), AT(rate_inner)}},
	{"rate-outer", SIZE, 1, {AT(rate_outer)}},
	{"rate-inner", SIZE, 1, {AT(rate_inner)}},
	{"rate-interface", SIZE, 1, {AT(rate_interface)}},
	{"capacity", SIZE, 1, {AT(capacity)}},
	{"buffer", SIZE, 1, {AT(buffer)}},
	{"seek", TIME, 3, {AT(seek_track_ns), AT(seek_average_ns), AT(seek_full_ns)}},
	{"seek-track", TIME, 1, {AT(seek_track_ns)}},
	{"seek-average", TIME, 1, {AT(seek_average_ns)}},
	{"seek-full", TIME, 1, {AT(seek_full_ns)}},
	{"write", TIME, 1, {AT(write_ns)}},
	{"zones", NUMBER, 1, {AT(zones)}},
	{"rpm", NUMBER, 1, {AT(rpm)}},
};

enum { OPTIONS = sizeof options / sizeof *options };

typedef struct unit {
	const char *name;
	uint64_t factor;
} unit;

static const unit sizes[] = {
	{"", 1}, {"B", 1},
	{"K", UINT64_C(1) << 10}, {"M", UINT64_C(1) << 20}, {"G", UINT64_C(1) << 30}, {"T", UINT64_C(1) << 40},
	{"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", UINT64_C(1000000000000)}, {NULL, 0},
};

static const unit times[] = {
	{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0},
};

/* A piece of text that is not terminated. */
typedef struct span {
	const char *at;
	size_t n;
} span;

static int is(span s, const char *name)
{
	return strlen(name) == s.n && memcmp(s.at, name, s.n) == 0;
}

/* What fits into a message. */
static int shown(span s)
{
	return s.n < 40 ? (int)s.n : 40;
}

static const preset *find_preset(span name)
{
	unsigned i;

	for (i = 0; i < PRESETS; i++)
		if (is(name, presets[i].name))
			return &presets[i];
	return NULL;
}

static em_status no_preset(em_errinfo *err, span name)
{
	return emi_fail(err, EM_ERR_INVAL, "simdisk: model: there is no '%.*s'; there are %s, %s, %s", shown(name),
			name.at, presets[0].name, presets[1].name, presets[2].name);
}

static void set_preset(em_simdisk *d, const preset *p)
{
	d->rpm = p->rpm;
	d->zones = p->zones;
	d->capacity = p->capacity;
	d->rate_outer = p->rate_outer;
	d->rate_inner = p->rate_inner;
	d->rate_interface = p->rate_interface;
	d->buffer = p->buffer;
	d->seek_track_ns = p->seek_track_ns;
	d->seek_average_ns = p->seek_average_ns;
	d->seek_full_ns = p->seek_full_ns;
	d->write_ns = p->write_ns;
}

/* Digits, to be multiplied by factor, and at most 9 decimals, of which what is smaller than 1 is cut off: 1, or 0 when
 * it is no such number or too large. */
static int scale(span digits, uint64_t factor, uint64_t *out)
{
	uint64_t whole = 0, part = 0, tenths = 1;
	int point = 0, any = 0;
	size_t i;

	for (i = 0; i < digits.n; i++) {
		unsigned c = (unsigned)(digits.at[i] - '0');

		if (digits.at[i] == '.' && !point) {
			point = 1;
			continue;
		}
		if (c > 9 || tenths >= 1000000000 || whole > ((uint64_t)INT64_MAX - c) / 10)
			return 0;
		any = 1;
		if (point) {
			part = 10 * part + c;
			tenths *= 10;
		} else {
			whole = 10 * whole + c;
		}
	}
	if (!any || whole > ((uint64_t)INT64_MAX - factor) / factor)
		return 0;
	/* part < 10^9; the factor may be 2^40. */
	*out = whole * factor + part * (factor / tenths) + part * (factor % tenths) / tenths;
	return 1;
}

/* A number and one of the units: 1, or 0 when it is not. */
static int measure(span value, const unit *units, uint64_t *out)
{
	span number = value, rest;
	size_t i;

	for (i = 0; i < value.n && ((value.at[i] >= '0' && value.at[i] <= '9') || value.at[i] == '.'); i++)
		continue;
	number.n = i;
	rest.at = value.at + i;
	rest.n = value.n - i;
	for (; units->name; units++)
		if (is(rest, units->name))
			return scale(number, units->factor, out);
	return 0;
}

/* A whole number: 1, or 0 when it is not. */
static int integer(span value, uint64_t *out)
{
	return memchr(value.at, '.', value.n) == NULL && scale(value, 1, out) && *out <= UINT32_MAX;
}

static void store(em_simdisk *d, const struct option *o, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;
	unsigned i;

	for (i = 0; i < o->fields; i++)
		if (o->kind == NUMBER)
			memcpy((char *)d + o->field[i], &narrow, sizeof narrow);
		else
			memcpy((char *)d + o->field[i], &value, sizeof value);
}

static em_status set(em_simdisk *d, const struct option *o, span value, em_errinfo *err)
{
	static const char *const expected[] = {
		"the name of a model", "a size, such as 48MB, 2M or 512", "a time, such as 8.5ms", "a whole number",
	};
	uint64_t x = 0;
	int ok = 0;

	if (o->kind == SIZE)
		ok = measure(value, sizes, &x);
	else if (o->kind == TIME)
		ok = measure(value, times, &x);
	else if (o->kind == NUMBER)
		ok = integer(value, &x);
	if (!ok)
		return emi_fail(err, EM_ERR_INVAL, "simdisk: %s: '%.*s' is not %s", o->name, shown(value), value.at,
				expected[o->kind]);
	store(d, o, x);
	return EM_OK;
}

/* Cut the next option off the text; 0 at the end. */
static int next(const char **text, span *name, span *value)
{
	size_t n;

	if (**text == '\0')
		return 0;
	name->at = *text;
	name->n = strcspn(*text, "=,");
	*text += name->n;
	value->at = *text;
	value->n = 0;
	if (**text == '=') {
		n = strcspn(++*text, ",");
		value->at = *text;
		value->n = n;
		*text += n;
	}
	if (**text == ',')
		++*text;
	return 1;
}

static em_status apply(em_simdisk *d, span name, span value, em_errinfo *err)
{
	unsigned i;

	for (i = 0; i < OPTIONS; i++)
		if (is(name, options[i].name))
			break;
	if (i == OPTIONS)
		return emi_fail(err, EM_ERR_INVAL, "simdisk: there is no option '%.*s'", shown(name), name.at);
	if (value.n == 0)
		return emi_fail(err, EM_ERR_INVAL, "simdisk: %s: it needs a value", options[i].name);
	return options[i].kind == MODEL ? EM_OK : set(d, &options[i], value, err);
}

/* The last model that is named is the one. */
static em_status apply_model(em_simdisk *d, const char *text, em_errinfo *err)
{
	const preset *p;
	span name, value;

	while (next(&text, &name, &value)) {
		if (!is(name, "model") || value.n == 0)
			continue;
		p = find_preset(value);
		if (!p)
			return no_preset(err, value);
		set_preset(d, p);
	}
	return EM_OK;
}

em_status em_simdisk_parse(em_simdisk *disk, const char *text, em_errinfo *err)
{
	em_simdisk d;
	em_status status;
	span name, value;

	emi_errinfo_clear(err);
	if (!disk || !text)
		return emi_fail(err, EM_ERR_INVAL, "simdisk: %s is NULL", disk ? "text" : "disk");
	status = EMI_STRUCT_TAKE(em_simdisk, &d, disk, err);
	if (status == EM_OK)
		status = apply_model(&d, text, err);
	while (status == EM_OK && next(&text, &name, &value))
		status = apply(&d, name, value, err);
	if (status == EM_OK)
		status = em_simdisk_check(&d, err);
	/* The counters behind the parameters may be moving. */
	if (status == EM_OK)
		memcpy((char *)disk + offsetof(em_simdisk, rpm), &d.rpm,
		       offsetof(em_simdisk, requests) - offsetof(em_simdisk, rpm));
	return status;
}

em_status em_simdisk_check(const em_simdisk *disk, em_errinfo *err)
{
	em_status status;

	emi_errinfo_clear(err);
	if (!disk)
		return emi_fail(err, EM_ERR_INVAL, "simdisk: disk is NULL");
	status = EMI_STRUCT_CHECK(em_simdisk, disk, err);
	return status == EM_OK ? emi_disk_model_make(NULL, disk, err) : status;
}

em_status em_simdisk_init(em_simdisk *disk, size_t size, const char *model, em_errinfo *err)
{
	const uint32_t bytes = size <= UINT32_MAX ? (uint32_t)size : 0;
	em_backend be = emi_backend_simdisk;
	em_status status;
	const preset *p;
	span name;

	emi_errinfo_clear(err);
	if (!disk)
		return emi_fail(err, EM_ERR_INVAL, "simdisk: disk is NULL");
	status = EMI_STRUCT_CHECK(em_simdisk, &bytes, err);
	if (status != EM_OK)
		return status;
	name.at = model ? model : presets[0].name;
	name.n = strlen(name.at);
	p = find_preset(name);
	if (!p)
		return no_preset(err, name);
	memset(disk, 0, size);
	disk->size = bytes;
	set_preset(disk, p);
	be.user = disk;
	memcpy(disk->table, &be, sizeof be);
	return EM_OK;
}

const em_backend *em_simdisk_backend(const em_simdisk *disk)
{
	return disk != NULL ? (const em_backend *)(const void *)disk->table : NULL;
}
