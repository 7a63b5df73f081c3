/* SPDX-License-Identifier: BSL-1.0 */
/*
 * memory_fs.h -- files in nothing but memory: tmpfs, ramfs.
 *
 * There is no way past the page cache for them, as they are in nothing else.  And space that is set aside for them is
 * memory that is cleared, which takes about as long as writing to it.
 */
#ifndef EMI_MEMORY_FS_H
#define EMI_MEMORY_FS_H

#include <stdint.h>

/* Is a file on such a file system? */
int emi_on_memory_fs(int fd);

/* Is it, and has the file system room for at least twice so many bytes more? */
int emi_memory_fs_has(int fd, uint64_t bytes);

#endif
