/* SPDX-License-Identifier: BSL-1.0 */
/*
 * gnu_sort.h -- the installed sort as a model.
 *
 * What a text key means is what GNU sort makes of it in the C locale.  Where there is another sort, or none, tests that
 * ask it are skipped (common/gnu_version.h).
 */
#ifndef EM_GNU_SORT_H
#define EM_GNU_SORT_H

/* Run it in the C locale with arguments, of which the first is "sort" and behind the last is NULL.  Errors go to a
 * file, or nowhere when it is NULL.  Returns the exit status; fails the test when there is none. */
int gnu_sort(char *const argv[], const char *errors);

/* A file with n bytes, and all bytes of a file, for free(). */
void write_file(const char *path, const void *bytes, size_t n);
char *read_file(const char *path, size_t *n);

#endif
