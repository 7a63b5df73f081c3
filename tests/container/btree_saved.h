/* SPDX-License-Identifier: BSL-1.0 */
/* btree_saved.h -- a tree and the file that it is saved to, for the tests of such files. */
#ifndef EM_BTREE_SAVED_H
#define EM_BTREE_SAVED_H

#include "container/btree_case.h"

enum { BLOCK = 4096 };

typedef struct saved {
	btree_case c;
	char *dir, *path;
} saved;

/* A tree, and a path at which there is no file yet. */
void saved_open(saved *s, btree_shape shape, uint32_t flags);
void saved_close(saved *s);

/* Random keys, and some of them taken out again. */
void saved_grow(saved *s, size_t n);

/* Save the tree and close it; and open its file, in a small cache. */
void saved_save(saved *s);
em_status saved_open_tree(saved *s);

/* Look at all of the file: at its header, at each record. */
em_status saved_look(saved *s, em_errinfo *err);

/* All of a file, for free(). */
size_t saved_read(const char *path, char **bytes);

#endif
