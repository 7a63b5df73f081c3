/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scarce.h -- a machine with few threads, or many processors, for the tests that say so.
 *
 * A program that has scarce.c among its sources starts threads and counts processors through the functions there, which
 * come before the system's.  Where that cannot be done test_scarce() is 0, and what needs it is skipped.
 */
#ifndef EM_TEST_SCARCE_H
#define EM_TEST_SCARCE_H

#include <stdint.h>

/* Can this be had here? */
int test_scarce(void);

/* From now on so many threads can be started, and then no more (EAGAIN).  Negative: any number. */
void test_threads_left(int64_t n);

/* So many processors this process may use.  0: those that there are. */
void test_cpus(uint32_t n);

#endif
