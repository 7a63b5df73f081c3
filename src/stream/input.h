/* SPDX-License-Identifier: BSL-1.0 */
/*
 * input.h -- the files that a source reads: looked at once, opened when needed.
 */
#ifndef EMI_INPUT_H
#define EMI_INPUT_H

#include "io/file.h"

enum {
	EMI_INPUT_FILE = 0,     /* regular: read with requests */
	EMI_INPUT_STREAM = 1    /* pipe, device, standard input, a file without a true size: read() */
};

typedef struct emi_input {
	const char *path;       /* NULL: standard input */
	uint64_t size;          /* bytes to read, UINT64_MAX: to its end */
	int32_t kind;
} emi_input;

typedef struct emi_inputs {
	emi_input *item;
	uint32_t n;
	uint64_t bytes;         /* of all, UINT64_MAX: not known */
	char *names;            /* the strings that the paths point to */
	size_t names_bytes;
} emi_inputs;

/* Look at the files: that they exist, can be read and hold whole records.  See emi_source_open() for what may
 * be wrong.  in is all zeroes on failure. */
em_status emi_inputs_init(emi_inputs *in, em_ctx *ctx, const char *const *paths, uint32_t n, uint64_t record_bytes,
			  em_errinfo *err);
void emi_inputs_free(emi_inputs *in, em_ctx *ctx);

/* Is it a file that is read sooner than it is made ready for direct transfers and handed to another thread?  It is a
 * small part of a usual transfer then, or of 512 KiB; such a file is opened buffered and read by who needs it. */
int emi_input_small(const emi_input *in, const em_ctx *ctx, size_t transfer_bytes);

/* What to call it in a message. */
const char *emi_input_name(const emi_input *in);

/* A descriptor to read() a stream from, which does not wait, and giving it back. */
em_status emi_input_fd(const emi_input *in, em_ctx *ctx, int *fd, em_errinfo *err);
void emi_input_drop(const emi_input *in, em_ctx *ctx, int fd);

#endif
