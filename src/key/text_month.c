/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_month.c -- keys that begin with the name of a month: one byte, 1...12, or 0 for anything else.
 */
#include "key/text_sink.h"

static unsigned month(const unsigned char *p, size_t n)
{
	static const char names[] = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
	unsigned i;

	if (n < 3)
		return 0;
	for (i = 0; i < 12; i++) {
		const char *name = names + 3 * i;

		if (emi_text_upper(p[0]) == (unsigned char)name[0] && emi_text_upper(p[1]) == (unsigned char)name[1] &&
		    emi_text_upper(p[2]) == (unsigned char)name[2])
			return i + 1;
	}
	return 0;
}

void emi_text_put_month(emi_sink *s, const unsigned char *p, size_t n)
{
	const size_t at = emi_text_skip_blanks(p, 0, n);

	emi_sink_put(s, month(p + at, n - at));
}

size_t emi_text_month_bytes(const unsigned char *p, size_t n)
{
	return month(p, n) != 0 ? 3 : 0;
}
