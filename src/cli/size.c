/* SPDX-License-Identifier: BSL-1.0 */
/*
 * size.c -- sizes as people write and read them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/size.h"

/* The factor of a unit, or 0. */
static uint64_t unit_factor(const char *unit)
{
	static const char letter[] = "KMGT";
	const char *at;
	uint64_t base, factor = 1;
	size_t i;

	if (!*unit || !strcmp(unit, "B"))
		return 1;
	at = strchr(letter, *unit == 'k' ? 'K' : *unit);
	if (!at)
		return 0;
	if (!unit[1] || !strcmp(unit + 1, "iB"))
		base = 1024;
	else if (!strcmp(unit + 1, "B"))
		base = 1000;
	else
		return 0;
	for (i = 0; i <= (size_t)(at - letter); i++)
		factor *= base;
	return factor;
}

const char *size_parse(const char *text, int units, uint64_t *out)
{
	const char *p = text;
	uint64_t v = 0, digit, factor;

	if (!*p)
		return units ? "the value is empty; give a size such as 4096, 64K or 1G"
			     : "the value is empty; give a number";
	if (*p < '0' || *p > '9')
		return "not a number";
	for (; *p >= '0' && *p <= '9'; p++) {
		digit = (uint64_t)(*p - '0');
		if (v > (UINT64_MAX - digit) / 10)
			return "number too large";
		v = v * 10 + digit;
	}
	if (*p && !units)
		return "not a number";
	factor = unit_factor(p);
	if (!factor)
		return "unknown unit; use K M G T (1024) or kB MB GB TB (1000)";
	if (v > UINT64_MAX / factor)
		return "number too large";
	*out = v * factor;
	return NULL;
}

/* Read the digits at *text; 1 when they are no number that fits. */
static int read_digits(const char **text, uint64_t *out)
{
	uint64_t v = 0, digit;
	int large = 0;

	for (; **text >= '0' && **text <= '9'; (*text)++) {
		digit = (uint64_t)(**text - '0');
		large |= v > (UINT64_MAX - digit) / 10;
		v = v * 10 + digit;
	}
	*out = v;
	return large;
}

int size_parse_memory(const char *text, uint64_t *bytes, uint64_t *percent)
{
	static const char letter[] = "KMGTPEZY", small[] = "kmgt";
	const char *at, *p = text + strspn(text, " \t\n\v\f\r");
	const char *start;
	uint64_t v;
	size_t power;
	int large;

	*percent = *bytes = 0;
	if (*p == '+')
		p++;
	start = p;
	large = read_digits(&p, &v);
	at = !*p ? letter : strchr(small, *p) ? letter + (strchr(small, *p) - small) : strchr(letter, *p);
	if (p == start) {
		if (!*p || !at)
			return SIZE_INVALID;
		v = 1;
	}
	if (*p && p[1]) {
		/* a unit of ours, or none */
		if (p == start || !unit_factor(p))
			return SIZE_SUFFIX;
		return size_parse(start, 1, bytes) ? SIZE_LARGE : SIZE_OK;
	}
	if (!at && *p != 'b' && *p != 'B' && *p != '%')
		return SIZE_SUFFIX;
	if (large)
		return SIZE_LARGE;
	if (*p == '%') {
		*percent = v;
		return SIZE_OK;
	}
	for (power = at ? (size_t)(at - letter) + 1 : 0; power; power--) {
		if (v > UINT64_MAX / 1024)
			return SIZE_LARGE;
		v *= 1024;
	}
	*bytes = v;
	return SIZE_OK;
}

const char *size_format(double bytes, char out[SIZE_TEXT])
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t i = 0;

	while (bytes >= 999.5 && i + 1 < sizeof(unit) / sizeof(unit[0])) {
		bytes /= 1024;
		i++;
	}
	snprintf(out, SIZE_TEXT, "%.*f %s", i == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2, bytes, unit[i]);
	return out;
}

const char *size_format_exact(uint64_t bytes, char out[SIZE_TEXT])
{
	static const char letter[] = "KMGT";
	size_t i = 0;

	while (i < 4 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	if (i)
		snprintf(out, SIZE_TEXT, "%" PRIu64 "%c", bytes, letter[i - 1]);
	else
		snprintf(out, SIZE_TEXT, "%" PRIu64, bytes);
	return out;
}
