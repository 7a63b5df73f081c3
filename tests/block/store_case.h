/* SPDX-License-Identifier: BSL-1.0 */
/*
 * store_case.h -- a store of each kind, and in memory what it should have, for tests of all that stand on stores.
 */
#ifndef EM_STORE_CASE_H
#define EM_STORE_CASE_H

#include "block/fixture.h"
#include "block/store.h"

enum { CASE_BLOCK = 4096, CASE_MOST = 80 };

/* Scratch disks, one and several; an array on them; a file; one whose last block is not whole; the same, but nobody may
 * change it. */
typedef enum store_kind {
	STORE_DISK,
	STORE_DISKS,
	STORE_ARRAY,
	STORE_FILE,
	STORE_ODD_FILE,
	STORE_READ_ONLY,
	STORE_KINDS
} store_kind;

typedef struct store_case {
	fixture f;
	store_kind kind;
	emi_store *store;
	em_file *file;
	char *dir, *path;       /* of the file */
	uint32_t n;             /* blocks; of an array or a file those that there were at first */
	em_bid bid[CASE_MOST];
	uint64_t length;        /* bytes of them that there are now */
	char *mem;              /* what is in them: zeros behind the length */
	char *buf;              /* all of them again, for transfers */
} store_case;

/* A store of n blocks, some of which were written. */
void store_case_open(store_case *s, store_kind kind, uint32_t n);

/* When nobody is on the store any more: look at what is in it, and close it. */
void store_case_close(store_case *s);

int store_case_changes(const store_case *s);

/* What block i should be, and how many of its bytes there are. */
char *store_case_block(store_case *s, uint32_t i);
size_t store_case_there(const store_case *s, uint32_t i);

/* Block i should be something else from now on, and this is how it is changed in memory that has it. */
void store_case_change(store_case *s, uint32_t i, char *buf);

/* Blocks are as they should be: in memory, or in the store as it is, past those who keep some in memory. */
void store_case_check(store_case *s, uint32_t i, const char *buf);
void store_case_check_store(store_case *s, uint32_t first, uint32_t n);

/* Have another length, of an array or a file: EM_ERR_STATE is returned. */
em_status store_case_resize(store_case *s, uint64_t length);

/* n blocks that lie one behind the other: n is made less where they do not. */
emi_span store_case_span(const store_case *s, uint32_t first, uint32_t *n);

#endif
