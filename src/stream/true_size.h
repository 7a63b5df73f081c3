/* SPDX-License-Identifier: BSL-1.0 */
/*
 * true_size.h -- does a regular file have as many bytes as it says?
 *
 * Files whose content is made when it is read do not know how much that is going to be.  Those of /proc and tracefs say
 * 0, those of /sys say a page, others whatever somebody thought of.  They can only be read to their end.
 */
#ifndef EMI_TRUE_SIZE_H
#define EMI_TRUE_SIZE_H

#include <sys/stat.h>

/* Does its file system store something?  0: it has no blocks, and neither has the file, so its size means nothing.  fd
 * is that of the file if there is no path.  Nothing is read: reading such a file may take away what is read. */
int emi_size_stored(const char *path, int fd, const struct stat *sb);

/* A file that says it has no bytes: does reading it at its offset say so, too? */
int emi_reads_nothing(int fd);

#endif
