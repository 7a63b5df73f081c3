/* SPDX-License-Identifier: BSL-1.0 */
/* read_full.c -- see read_full.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/read_full.h"

ssize_t read_full(int fd, void *buf, size_t bytes)
{
	size_t have = 0;
	ssize_t n;

	while (have < bytes) {
		n = read(fd, (char *)buf + have, bytes - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

uint64_t size_left(int fd)
{
	struct stat sb;
	off_t at;

	if (fstat(fd, &sb) || !S_ISREG(sb.st_mode) || sb.st_blocks == 0)
		return 0;
	at = lseek(fd, 0, SEEK_CUR);
	return at >= 0 && at < sb.st_size ? (uint64_t)(sb.st_size - at) : 0;
}
