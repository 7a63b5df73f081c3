/* SPDX-License-Identifier: BSL-1.0 */
/*
 * path.h -- what a path names, for those who do not open it before they know.
 */
#ifndef EMI_PATH_H
#define EMI_PATH_H

#include <stdint.h>

typedef enum emi_path_kind {
	EMI_PATH_UNKNOWN,       /* nothing, or what cannot be looked at: opening it tells */
	EMI_PATH_DIRECTORY,
	EMI_PATH_FILE,          /* a regular one */
	EMI_PATH_DEVICE,        /* a block device */
	EMI_PATH_OTHER
} emi_path_kind;

emi_path_kind emi_path_look(const char *path);

/* Bytes that are free where a directory is, and what tells its file system from others: 0 where that is not known, or
 * what is written may take less there. */
int emi_path_room(const char *path, uint64_t *bytes, uint64_t *fs);

/* Remove the name of a file.  0 or an errno. */
int emi_path_remove(const char *path);

#endif
