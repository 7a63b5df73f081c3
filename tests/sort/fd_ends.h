/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fd_ends.h -- what the tests of sorting files do around the call: somebody at the other end of a pipe, descriptors
 * that are others for a while, and what is left in a directory.
 */
#ifndef EM_FD_ENDS_H
#define EM_FD_ENDS_H

#include <stddef.h>

/* The other end of a pipe, for a thread, which closes it. */
typedef struct pipe_end {
	int fd;
	const char *path;       /* opened by the thread when fd < 0 */
	unsigned char *data;
	size_t bytes, room;     /* in data; room: that fit, when reading */
} pipe_end;

/* Read up to the end or until it is full; write all, in small pieces. */
void *pipe_drain(void *end);
void *pipe_feed(void *end);

/* Let a descriptor be another one, which is closed, for a while. */
int replace_fd(int fd, int by);
void restore_fd(int fd, int saved);

/* How many files are in a directory. */
unsigned entries(const char *dir);

#endif
