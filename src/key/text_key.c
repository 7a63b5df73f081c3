/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_key.c -- the normalised key of a record: its keys one behind the other, each as its kind writes it.
 */
#include "key/text_sink.h"

void emi_sink_invert(emi_sink *s, size_t from)
{
	const size_t end = s->at < s->room ? s->at : s->room;
	uint64_t x;

	for (; end > from && end - from >= sizeof(x); from += sizeof(x)) {
		memcpy(&x, s->out + from, sizeof(x));
		x = ~x;
		memcpy(s->out + from, &x, sizeof(x));
	}
	for (; from < end; from++)
		s->out[from] = (unsigned char)~s->out[from];
}

static void put_key(emi_sink *s, const em_text_key *key, const unsigned char *p, size_t n)
{
	switch (key->kind) {
	case EM_TEXT_NUMERIC:
		emi_text_put_number(s, p, n);
		break;
	case EM_TEXT_GENERAL:
		emi_text_put_general(s, p, n);
		break;
	case EM_TEXT_HUMAN:
		emi_text_put_human(s, p, n, key->flags);
		break;
	case EM_TEXT_MONTH:
		emi_text_put_month(s, p, n);
		break;
	case EM_TEXT_VERSION:
		emi_text_put_version(s, p, n, key->flags);
		break;
	default:
		emi_text_put_bytes(s, p, n, key->flags);
		break;
	}
}

size_t emi_text_key(const emi_text *t, const unsigned char *record, size_t n, unsigned char *out, size_t room)
{
	static const unsigned char empty[1];
	const unsigned char *const p = n != 0 ? record : empty;
	emi_text_place place = { 1, 0 };
	emi_sink s = { out, room, 0 };
	size_t begin, end, from;
	uint32_t i;

	for (i = 0; i < t->n; i++) {
		from = s.at;
		emi_text_find_from(t, &t->key[i], p, n, &begin, &end, &place);
		put_key(&s, &t->key[i], p + begin, end - begin);
		if ((t->key[i].flags & EM_TEXT_REVERSE) != 0)
			emi_sink_invert(&s, from);
	}
	return s.at;
}
