/* SPDX-License-Identifier: BSL-1.0 */
/* fd_ends.c -- see fd_ends.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sort/fd_ends.h"

void *pipe_drain(void *arg)
{
	pipe_end *p = arg;
	ssize_t got;

	if (p->fd < 0)
		p->fd = open(p->path, O_RDONLY);
	while (p->bytes < p->room && (got = read(p->fd, p->data + p->bytes, p->room - p->bytes)) > 0)
		p->bytes += (size_t)got;
	close(p->fd);
	return NULL;
}

void *pipe_feed(void *arg)
{
	pipe_end *p = arg;
	size_t at = 0;
	ssize_t put;

	if (p->fd < 0)
		p->fd = open(p->path, O_WRONLY);
	while (at < p->bytes && (put = write(p->fd, p->data + at, p->bytes - at < 700 ? p->bytes - at : 700)) > 0)
		at += (size_t)put;
	close(p->fd);
	return NULL;
}

int replace_fd(int fd, int by)
{
	int saved;

	fflush(NULL);
	saved = dup(fd);
	assert_true(saved >= 0);
	assert_true(dup2(by, fd) == fd);
	close(by);
	return saved;
}

void restore_fd(int fd, int saved)
{
	fflush(NULL);
	assert_true(dup2(saved, fd) == fd);
	close(saved);
}

unsigned entries(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	unsigned n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(d);
	return n;
}
