/* SPDX-License-Identifier: BSL-1.0 */
/*
 * hooks.h -- rename(), stat(), close() and so on of a test's own, which stand before the C library's and fail, or do
 * something else first, when it says so: what a system does only now and then.
 */
#ifndef EM_HOOKS_H
#define EM_HOOKS_H

/* errno with which functions fail; 0: they work. */
typedef struct hooks {
	int rename, fchown, fallocate, stat, close, fsync;
	int stats;              /* of so many calls of stat() the last one does it, and those behind it; 0: none */
	const char *over;       /* what is renamed over the file that is looked at, before that */
	int elsewhere;          /* stat() finds another file at each name */
	int interrupts;         /* of calls that open or write each other one is interrupted, and the rest is short */
	unsigned calls;
} hooks;

extern hooks hook;

/* All work again. */
void unhook(void);

#endif
