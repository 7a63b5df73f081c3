/* SPDX-License-Identifier: BSL-1.0 */
/*
 * read_full.h -- reading all that there is of a file that is open.
 */
#ifndef CLI_READ_FULL_H
#define CLI_READ_FULL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Fill buf as far as the file reaches.  Returns the bytes, or -1 with errno. */
ssize_t read_full(int fd, void *buf, size_t bytes);

/* What a file has from here on, as far as that is known, or 0: one without blocks may only say so, as those of /sys
 * do.  Who can read less than this has not read all of it. */
uint64_t size_left(int fd);

#endif
