/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_parse.c -- a text key as the command spells it: F[.C][OPTS][,F[.C][OPTS]].
 *
 * The grammar is that of GNU sort to the letter, as scripts depend on it: a number may have white space and a '+' in
 * front, letters may be repeated, and contradicting ones are found only when all else is right.  So are the messages:
 * whoever made a mistake finds the same words in every manual and forum.
 */
#include "base/error.h"
#include "key/text_sink.h"

/* The letters that choose a kind or what counts, in the order in which messages name them. */
#define LETTERS "dfghiMnRV"

/* Most of a text that a message quotes. */
#define QUOTED 160

typedef struct parser {
	const char *text;       /* all of it */
	const char *p;          /* the part that is left */
	em_text_key key;
	int letters;            /* any letter was given */
	unsigned seen;          /* bit i: LETTERS[i] */
	em_errinfo *err;
} parser;

/* A text as messages quote it: in single quotes, with escapes for what cannot be printed. */
static const char *quote(char out[QUOTED], const char *text)
{
	static const char escapes[] = "abtnvfr";
	char *o = out;
	unsigned char c;

	*o++ = '\'';
	for (; *text != '\0' && o - out < QUOTED - 8; text++) {
		c = (unsigned char)*text;
		if (c == '\'' || c == '\\') {
			*o++ = '\\';
			*o++ = (char)c;
		} else if (c >= 7 && c <= 13) {
			*o++ = '\\';
			*o++ = escapes[c - 7];
		} else if (c < ' ' || c > '~') {
			*o++ = '\\';
			*o++ = (char)('0' + (c >> 6));
			*o++ = (char)('0' + (c >> 3 & 7));
			*o++ = (char)('0' + (c & 7));
		} else {
			*o++ = (char)c;
		}
	}
	memcpy(o, "'", 2);
	return out;
}

static em_status bad_spec(parser *s, const char *what)
{
	char quoted[QUOTED];

	return emi_fail(s->err, EM_ERR_INVAL, "%s: invalid field specification %s", what, quote(quoted, s->text));
}

/* A number, with `where' for the message if there is none. */
static em_status parse_count(parser *s, uint64_t *out, const char *where)
{
	const char *p = s->p;
	char quoted[QUOTED];
	uint64_t v = 0;

	while (*p == ' ' || (*p >= '\t' && *p <= '\r'))
		p++;
	if (*p == '+')
		p++;
	if (!emi_text_is_digit((unsigned char)*p))
		return emi_fail(s->err, EM_ERR_INVAL, "invalid number %s: invalid count at start of %s", where,
				quote(quoted, s->p));
	for (; emi_text_is_digit((unsigned char)*p); p++) {
		const uint64_t digit = (uint64_t)(*p - '0');

		v = v > (UINT64_MAX - digit) / 10 ? UINT64_MAX : v * 10 + digit;
	}
	s->p = p;
	*out = v;
	return EM_OK;
}

/* A field, which must not be 0, and perhaps a character of it. */
static em_status parse_place(parser *s, const char *where, uint64_t *field, uint64_t *character)
{
	em_status status = parse_count(s, field, where);

	if (status != EM_OK)
		return status;
	if (*field == 0)
		return bad_spec(s, "field number is zero");
	if (*s->p != '.')
		return EM_OK;
	s->p++;
	return parse_count(s, character, "after '.'");
}

/* Letters, as far as they are known.  blanks is the flag that 'b' stands for here. */
static void parse_letters(parser *s, uint32_t blanks)
{
	const char *known;

	for (; *s->p != '\0'; s->p++) {
		known = strchr(LETTERS, *s->p);
		if (known != NULL)
			s->seen |= 1u << (known - LETTERS);
		else if (*s->p == 'b')
			s->key.flags |= blanks;
		else if (*s->p == 'r')
			s->key.flags |= EM_TEXT_REVERSE;
		else
			break;
		s->letters = 1;
	}
}

static int seen(const parser *s, char letter)
{
	return (int)(s->seen >> (strchr(LETTERS, letter) - LETTERS) & 1);
}

/* The letters that exclude one another: a number of some kind, a month, or what is left of the others. */
static em_status check_letters(parser *s)
{
	char named[sizeof(LETTERS)];
	size_t n = 0;
	const char *letter;

	if (seen(s, 'n') + seen(s, 'g') + seen(s, 'h') + seen(s, 'M') +
	    (seen(s, 'V') || seen(s, 'R') || seen(s, 'd') || seen(s, 'i')) > 1) {
		for (letter = LETTERS; *letter != '\0'; letter++)
			if (seen(s, *letter) && !(*letter == 'i' && seen(s, 'd')))
				named[n++] = *letter;
		named[n] = '\0';
		return emi_fail(s->err, EM_ERR_INVAL, "options '-%s' are incompatible", named);
	}
	if (seen(s, 'R'))
		return bad_spec(s, "random order is not supported");
	return EM_OK;
}

static void set_letters(parser *s)
{
	em_text_key *const key = &s->key;

	key->kind = seen(s, 'n') ? EM_TEXT_NUMERIC :
		    seen(s, 'g') ? EM_TEXT_GENERAL :
		    seen(s, 'h') ? EM_TEXT_HUMAN :
		    seen(s, 'M') ? EM_TEXT_MONTH :
		    seen(s, 'V') ? EM_TEXT_VERSION : EM_TEXT_BYTES;
	if (seen(s, 'f'))
		key->flags |= EM_TEXT_FOLD;
	if (seen(s, 'd'))
		key->flags |= EM_TEXT_DICTIONARY;
	else if (seen(s, 'i'))
		key->flags |= EM_TEXT_PRINTING;
}

static em_status parse(parser *s)
{
	em_status status;

	s->key.first_char = 1;
	status = parse_place(s, "at field start", &s->key.first_field, &s->key.first_char);
	if (status != EM_OK)
		return status;
	if (s->key.first_char == 0)
		return bad_spec(s, "character offset is zero");
	parse_letters(s, EM_TEXT_SKIP_START);
	if (*s->p == ',') {
		s->p++;
		status = parse_place(s, "after ','", &s->key.last_field, &s->key.last_char);
		if (status != EM_OK)
			return status;
		parse_letters(s, EM_TEXT_SKIP_END);
	}
	if (*s->p != '\0')
		return bad_spec(s, "stray character in field spec");
	status = check_letters(s);
	if (status == EM_OK)
		set_letters(s);
	return status;
}

em_status em_text_key_parse(em_text_key *out, int *own, const char *text, em_errinfo *err)
{
	em_errinfo detail = { 0 };
	em_status status;
	parser s;

	memset(&s, 0, sizeof(s));
	s.text = s.p = text;
	s.err = &detail;
	if (out == NULL)
		status = emi_fail(&detail, EM_ERR_INVAL, "key: out is NULL");
	else if (text == NULL)
		status = emi_fail(&detail, EM_ERR_INVAL, "key: text is NULL");
	else
		status = parse(&s);
	if (status == EM_OK) {
		*out = s.key;
		if (own != NULL)
			*own = s.letters;
	} else if (err != NULL) {
		*err = detail;
	}
	return status;
}
