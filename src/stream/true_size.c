/* SPDX-License-Identifier: BSL-1.0 */
/* true_size.c -- see true_size.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "stream/true_size.h"

#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

int emi_size_stored(const char *path, int fd, const struct stat *sb)
{
	struct statvfs fs;

	if (sb->st_blocks != 0)
		return 1;
	/* Who cannot say what it is, is no reason for doubt. */
	return (path != NULL ? statvfs(path, &fs) : fstatvfs(fd, &fs)) != 0 || fs.f_blocks != 0;
}

int emi_reads_nothing(int fd)
{
	const off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t got;
	char byte;

	if (at < 0)
		return 0;
	do {
		got = pread(fd, &byte, 1, at);
	} while (got < 0 && errno == EINTR);
	/* What cannot be read is read again later, and its failure told then. */
	return got == 0;
}
