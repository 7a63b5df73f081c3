/* SPDX-License-Identifier: BSL-1.0 */
/*
 * null_case.h -- each argument of a function is NULL in its turn (extmem/base.h): the call is refused, the detail names
 * the argument, and the object can be used as before.
 */
#ifndef EM_ABI_NULL_CASE_H
#define EM_ABI_NULL_CASE_H

#include <stdint.h>

#include <extmem.h>
#include <extmem/sys/block.h>

#define B 4096u

/* From null_open() to null_close(), which are a group's fixture. */
extern em_ctx *null_ctx;
extern em_order *null_order;    /* of numbers of 8 bytes */
extern em_disks *null_disks;
extern char *null_in;           /* a file of null_numbers; ... */
extern char *null_out;          /* ... and one that may be made */
extern const uint64_t null_numbers[3];

int null_open(void **state);
int null_close(void **state);

/* Where calls that are refused put their details. */
extern em_errinfo null_err;

/* A call was refused, and what is in null_err names the argument. */
void refused(em_status st, const char *argument);

/* The same of a call on an object, which goes on: the detail is what it tells. */
void told(em_status st, const char *argument, void (*error)(const void *object, em_errinfo *to), const void *object);

/* KIND_error() of told(). */
#define NULL_ERROR_OF(kind) static void kind##_error(const void *o, em_errinfo *e) { em_##kind##_error(o, e); }

#endif
