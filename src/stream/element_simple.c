/* SPDX-License-Identifier: BSL-1.0 */
/*
 * element_simple.c -- streams with a system call for each element.
 *
 * There is no window and no memory.  Whether this is a child after a fork is not looked at here: that would be a second
 * system call.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "stream/element_kind.h"

static uint64_t unit(uint64_t element, uint64_t buffer)
{
	(void)buffer;
	return element;
}

static em_status nothing(emi_element_stream *s)
{
	(void)s;
	return EM_OK;
}

static em_status read_one(emi_element_stream *s, void *element)
{
	em_status status = emi_element_pread(s, element, s->element, s->at);

	if (status == EM_OK)
		s->at += s->element;
	return status;
}

static em_status write_one(emi_element_stream *s, const void *element)
{
	em_status status = emi_element_pwrite(s, element, s->element, s->at);

	if (status == EM_OK)
		s->at += s->element;
	return status;
}

static void close_nothing(emi_element_stream *s)
{
	(void)s;
}

const emi_element_kind emi_element_simple = {
	"simple", 0, 0, unit, nothing, read_one, write_one, nothing, close_nothing,
};
