/* SPDX-License-Identifier: BSL-1.0 */
/* vary.c -- see vary.h. */
#include "key/vary.h"

/* No key of a record of n bytes takes more than KEY_TIMES * n + KEY_MORE. */
#define KEY_TIMES 4u
#define KEY_MORE 64u

/* Without keys a frame is a length and the record. */
static size_t make_plain(const unsigned char *record, size_t n, unsigned char *out, size_t room, size_t *need)
{
	const size_t bytes = emi_length_bytes(n) + n;

	if (need != NULL)
		*need = bytes;
	if (bytes > room)
		return 0;
	out = emi_length_put(out, n);
	if (n != 0)
		memcpy(out, record, n);
	return bytes;
}

/* The key is written where it belongs if its length takes one byte, which is nearly always so; else it is moved. */
static size_t make_keyed(const emi_vary *v, const unsigned char *record, size_t n, unsigned char *out, size_t room,
			 size_t *need)
{
	const size_t head = emi_length_bytes(n) + 1;
	const size_t left = room > head ? room - head : 0;
	const size_t key = emi_text_key(v->text, record, n, left != 0 ? out + head : out, left);
	const size_t width = emi_length_bytes(key), bytes = head - 1 + width + key + n;
	unsigned char *p;

	if (need != NULL)
		*need = bytes;
	if (bytes > room)
		return 0;
	if (width != 1)
		memmove(out + head - 1 + width, out + head, key);
	p = emi_length_put(out, n);
	p = emi_length_put(p, key);
	if (n != 0)
		memcpy(p + key, record, n);
	return bytes;
}

size_t emi_frame_make(const emi_vary *v, const unsigned char *record, size_t n, unsigned char *out, size_t room,
		      size_t *need)
{
	return v->keyed ? make_keyed(v, record, n, out, room, need) : make_plain(record, n, out, room, need);
}

uint64_t emi_frame_sure(const emi_vary *v, uint64_t frame)
{
	const uint64_t keys = v->keyed ? v->text->n : 0, fixed = 2 * EMI_LENGTH_MAX + keys * KEY_MORE;

	return frame > fixed ? (frame - fixed) / (1 + keys * KEY_TIMES) : 0;
}
