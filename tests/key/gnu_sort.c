/* SPDX-License-Identifier: BSL-1.0 */
/* gnu_sort.c -- see gnu_sort.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "gnu_sort.h"

extern char **environ;

int gnu_sort(char *const argv[], const char *errors)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;

	assert_int_equal(setenv("LC_ALL", "C", 1), 0);
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_addopen(&actions, 2, errors != NULL ? errors : "/dev/null",
							  O_WRONLY | O_CREAT | O_TRUNC, 0600), 0);
	assert_int_equal(posix_spawnp(&pid, "sort", &actions, NULL, argv, environ), 0);
	assert_true(waitpid(pid, &status, 0) == pid);
	assert_true(WIFEXITED(status));
	posix_spawn_file_actions_destroy(&actions);
	return WEXITSTATUS(status);
}

void write_file(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_true(fwrite(bytes, 1, n, f) == n);
	assert_int_equal(fclose(f), 0);
}

char *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *bytes;
	long end;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	end = ftell(f);
	assert_true(end >= 0);
	rewind(f);
	*n = (size_t)end;
	bytes = malloc(*n + 1);
	assert_non_null(bytes);
	assert_true(fread(bytes, 1, *n, f) == *n);
	bytes[*n] = '\0';
	fclose(f);
	return bytes;
}
