/* SPDX-License-Identifier: BSL-1.0 */
/* subjects_case.h -- what those who make subjects (subjects.h) share. */
#ifndef EM_ABI_SUBJECTS_CASE_H
#define EM_ABI_SUBJECTS_CASE_H

#include "abi/subjects.h"

/* What calls are made with. */
typedef struct subjects_given {
	em_ctx *ctx;
	em_order *order;        /* of numbers of 8 bytes, ... */
	em_order *by_line;      /* ... and of lines */
	em_disks *disks;
	char *dir;
	char *in;               /* a file of subjects_numbers; ... */
	char *out;              /* ... and one that may be made */
} subjects_given;

extern subjects_given given;
extern const uint64_t subjects_numbers[3];

subject subjects_make(const char *name, size_t first, em_status (*use)(void *theirs), int told);
#define MAKE(type, use, told) subjects_make(#type, first_##type, use, told)

/* Write those of a part of the library from s on, and return how many they are. */
size_t subjects_io(subject *s);
size_t subjects_blocks(subject *s);
size_t subjects_sorts(subject *s);
size_t subjects_containers(subject *s);
size_t subjects_streams(subject *s);

#endif
