/* SPDX-License-Identifier: BSL-1.0 */
/*
 * element_kind.h -- what the four kinds of element streams are made of.
 *
 * A stream (element_stream.c) is a file, a position in it and a window: bytes in memory that elements are taken from,
 * or put into, without asking anybody.  A kind is asked when the window is used up; one without a window each time.
 *
 *	file     0 ............ at - left ............. at .......... size
 *	window                     cur |<----- left ---->|
 *
 * cur and left move with each element, at only when the kind is asked; the position is at - left.
 */
#ifndef EMI_ELEMENT_KIND_H
#define EMI_ELEMENT_KIND_H

#include <stdio.h>
#include <string.h>

#include <extmem/sys/element_stream.h>

#include "base/object.h"

typedef struct emi_element_stream emi_element_stream;

typedef struct emi_element_kind {
	const char *name;
	int32_t windowed;       /* B is for this one */
	int32_t maps;           /* a writer must be able to read, too */

	/* Bytes moved at a time, for B' bytes. */
	uint64_t (*unit)(uint64_t element, uint64_t buffer);
	/* Take the memory.  A reader's file is open and its size known, a writer's is not open yet. */
	em_status (*open)(emi_element_stream *s);
	/* The next element; there is one, and it is not in the window. */
	em_status (*read)(emi_element_stream *s, void *element);
	/* Append one for which the window has no room. */
	em_status (*write)(emi_element_stream *s, const void *element);
	/* Nothing is to be left in the window. */
	em_status (*flush)(emi_element_stream *s);
	/* Give the memory back, and write nothing. */
	void (*close)(emi_element_stream *s);
} emi_element_kind;

struct emi_element_stream {
	emi_object object;
	/* the window */
	char *cur;
	size_t left;
	size_t element;         /* bytes */
	uint64_t at;

	const emi_element_kind *kind;
	uint32_t kind_number;   /* EM_ELEMENT_... */
	int32_t writing;
	int32_t finished;
	uint32_t flags;
	char *path;
	int fd;                 /* -1: not open */
	size_t buffer;          /* bytes moved at a time */
	uint64_t size;          /* reader: of the file when it was opened */
	uint64_t ios, bytes;    /* counters */
	em_errinfo err;         /* of the first failure, which stays */

	/* the kind's own */
	char *area;             /* buffer or mapping */
	size_t area_bytes;
	uint64_t done;          /* bytes of the file that stdio has moved, or that were allocated for a mapping */
	FILE *file;
};

extern const emi_element_kind emi_element_simple;
extern const emi_element_kind emi_element_buffer;
extern const emi_element_kind emi_element_bufferb;
extern const emi_element_kind emi_element_mapping;

/* In the order of EM_ELEMENT_..., of which the first is 1. */
extern const emi_element_kind *const emi_element_kinds[];

/* Check the caller's options and fill in what they leave open; *unit is how many bytes are moved at a time. */
em_status emi_element_opts(em_element_opts *o, const em_element_opts *opts, uint64_t *unit, em_errinfo *err);

/* Move bytes between memory and the file at offset, all of them, and count that; a failure is kept in s->err. */
em_status emi_element_pread(emi_element_stream *s, void *buf, size_t bytes, uint64_t offset);
em_status emi_element_pwrite(emi_element_stream *s, const void *buf, size_t bytes, uint64_t offset);

/* Pages are what mappings are made of. */
size_t emi_element_page(void);

static inline void emi_element_copy(void *to, const void *from, size_t n)
{
	if (n == 4)
		memcpy(to, from, 4);
	else if (n == 8)
		memcpy(to, from, 8);
	else
		memcpy(to, from, n);
}

/* Take an element from the window, which has one; put one in, for which there is room. */
static inline void emi_element_take(emi_element_stream *s, void *element)
{
	emi_element_copy(element, s->cur, s->element);
	s->cur += s->element;
	s->left -= s->element;
}

static inline void emi_element_put(emi_element_stream *s, const void *element)
{
	emi_element_copy(s->cur, element, s->element);
	s->cur += s->element;
	s->left -= s->element;
}

#endif
