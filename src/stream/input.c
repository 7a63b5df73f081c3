/* SPDX-License-Identifier: BSL-1.0 */
/*
 * input.c -- looking at input files.
 *
 * What is sorted is what was there when the sort began: sizes are taken here, once.  A file that grows later is read
 * up to that size, one that shrinks is an error when it is read.  Nothing stays open here, so thousands of
 * files cost no descriptors, but whatever can be wrong with them is said before any work is done.
 *
 * A file without a true size (true_size.h) is a stream: it is read to its end, like a pipe.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "stream/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "stream/true_size.h"

#define SMALL_OF ((uint64_t)512 << 10)
#define SMALL_SHARE 8u

static int is_stdin(const char *path)
{
	return strcmp(path, "-") == 0;
}

const char *emi_input_name(const emi_input *in)
{
	return in->path != NULL ? in->path : "standard input";
}

int emi_input_small(const emi_input *in, const em_ctx *ctx, size_t transfer_bytes)
{
	const uint64_t usual = transfer_bytes < SMALL_OF ? transfer_bytes : SMALL_OF;

	return in->kind == EMI_INPUT_FILE && in->size <= usual / SMALL_SHARE && ctx->direct != EM_DIRECT_ON;
}

/* One string for all paths: the caller's need not live as long as the source. */
static em_status copy_names(emi_inputs *in, em_ctx *ctx, const char *const *paths, em_errinfo *err)
{
	size_t bytes = 1, at = 0;
	uint32_t i;

	for (i = 0; i < in->n; i++) {
		size_t len;

		if (paths[i] == NULL)
			return emi_fail(err, EM_ERR_INVAL, "input %" PRIu32 " has no name", i);
		len = strlen(paths[i]) + 1;
		if (len > SIZE_MAX - bytes)
			return emi_fail(err, EM_ERR_NOMEM, "the names of the inputs are too long");
		bytes += len;
	}
	in->names = emi_alloc(ctx, bytes, err);
	if (in->names == NULL)
		return err != NULL ? err->status : EM_ERR_NOMEM;
	in->names_bytes = bytes;
	for (i = 0; i < in->n; i++) {
		size_t len = strlen(paths[i]) + 1;

		memcpy(in->names + at, paths[i], len);
		in->item[i].path = is_stdin(paths[i]) ? NULL : in->names + at;
		at += len;
	}
	return EM_OK;
}

/* What is left of a redirected standard input behind its current offset. */
static uint64_t left_of_stdin(uint64_t size)
{
	const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);

	if (at <= 0)
		return size;
	return (uint64_t)at < size ? size - (uint64_t)at : 0;
}

/* Has it as many bytes as it says? */
static em_status size_is_true(const emi_input *in, em_ctx *ctx, const struct stat *sb, int *is, em_errinfo *err)
{
	em_status st;
	int fd;

	*is = emi_size_stored(in->path, STDIN_FILENO, sb);
	if (!*is || sb->st_size != 0)
		return EM_OK;
	if ((st = emi_input_fd(in, ctx, &fd, err)) != EM_OK)
		return st;
	*is = emi_reads_nothing(fd);
	emi_input_drop(in, ctx, fd);
	return EM_OK;
}

static em_status look(emi_input *in, em_ctx *ctx, uint64_t record_bytes, em_errinfo *err)
{
	const char *name = emi_input_name(in);
	int is_true = 0;
	struct stat sb;
	em_status st;

	if ((in->path != NULL ? stat(in->path, &sb) : fstat(STDIN_FILENO, &sb)) != 0)
		return emi_fail_io(err, EM_OK, errno, "open", name, UINT64_MAX, 0);
	if (S_ISDIR(sb.st_mode))
		return emi_fail_io(err, EM_ERR_INVAL, EISDIR, "open", name, UINT64_MAX, 0);
	if (in->path != NULL && faccessat(AT_FDCWD, in->path, R_OK, AT_EACCESS) != 0)
		return emi_fail_io(err, EM_OK, errno, "open", name, UINT64_MAX, 0);
	if (S_ISREG(sb.st_mode) && (st = size_is_true(in, ctx, &sb, &is_true, err)) != EM_OK)
		return st;
	if (!is_true) {
		in->kind = EMI_INPUT_STREAM;
		in->size = UINT64_MAX;
		return EM_OK;
	}
	in->size = (uint64_t)sb.st_size;
	if (in->path == NULL) {
		in->kind = EMI_INPUT_STREAM;
		in->size = left_of_stdin(in->size);
	}
	if (in->size % record_bytes != 0)
		return emi_fail_record(err, EM_ERR_FORMAT, name, in->size / record_bytes + 1, 0,
				       "%s: its %" PRIu64 " bytes are no multiple of the record size %" PRIu64, name,
				       in->size, record_bytes);
	return EM_OK;
}

em_status emi_inputs_init(emi_inputs *in, em_ctx *ctx, const char *const *paths, uint32_t n, uint64_t record_bytes,
			  em_errinfo *err)
{
	em_errinfo scratch;
	em_status st;
	uint32_t i;
	int seen_stdin = 0;

	/* The status of a failed allocation is only told through an errinfo. */
	memset(&scratch, 0, sizeof scratch);
	if (err == NULL)
		err = &scratch;
	memset(in, 0, sizeof *in);
	if (n == 0)
		return EM_OK;
	in->item = emi_alloc_array(ctx, n, sizeof *in->item, err);
	if (in->item == NULL)
		return err->status;
	in->n = n;
	if ((st = copy_names(in, ctx, paths, err)) != EM_OK)
		goto out;
	for (i = 0; i < n; i++) {
		emi_input *item = &in->item[i];

		if (item->path == NULL && seen_stdin) {
			/* It can be read once; the second time it is at its end. */
			item->kind = EMI_INPUT_STREAM;
			continue;
		}
		seen_stdin |= item->path == NULL;
		if ((st = look(item, ctx, record_bytes, err)) != EM_OK)
			goto out;
		if (item->size == UINT64_MAX || in->bytes == UINT64_MAX) {
			in->bytes = UINT64_MAX;
		} else if (item->size >= UINT64_MAX - in->bytes) {
			st = emi_fail(err, EM_ERR_RANGE, "the inputs are longer than 2^64 bytes together");
			goto out;
		} else {
			in->bytes += item->size;
		}
	}
out:
	if (st != EM_OK)
		emi_inputs_free(in, ctx);
	return st;
}

void emi_inputs_free(emi_inputs *in, em_ctx *ctx)
{
	if (in->item != NULL)
		emi_free_array(ctx, in->item, in->n, sizeof *in->item);
	if (in->names != NULL)
		emi_free(ctx, in->names, in->names_bytes);
	memset(in, 0, sizeof *in);
}

em_status emi_input_fd(const emi_input *in, em_ctx *ctx, int *fd, em_errinfo *err)
{
	em_status st;

	*fd = STDIN_FILENO;
	if (in->path == NULL)
		return EM_OK;
	if ((st = emi_fd_take(ctx, in->path, err)) != EM_OK)
		return st;
	/* A FIFO that nobody writes to yet is waited for where it is read, so the order in which both sides open
	 * several does not matter. */
	do {
		*fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	} while (*fd < 0 && errno == EINTR);
	if (*fd >= 0)
		return EM_OK;
	st = emi_fail_io(err, EM_OK, errno, "open", in->path, UINT64_MAX, 0);
	emi_fd_drop(ctx);
	return st;
}

void emi_input_drop(const emi_input *in, em_ctx *ctx, int fd)
{
	if (fd < 0 || in->path == NULL)
		return;
	(void)close(fd);
	emi_fd_drop(ctx);
}
