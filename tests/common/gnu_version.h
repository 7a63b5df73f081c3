/* SPDX-License-Identifier: BSL-1.0 */
/*
 * gnu_version.h -- which version of GNU sort a command is.
 *
 * What is compared with GNU sort is what both do on purpose.  Some of that depends on the version, which is 100 times
 * the major and the minor number: 907 is that of Debian 13.
 */
#ifndef EM_GNU_VERSION_H
#define EM_GNU_VERSION_H

#define GNU_9_1 901     /* the one whose messages are compared */
#define GNU_9_2 902     /* the first whose orders are ours: R and Q are suffixes for -h, and for -V none is all of a
                           name */

/* Of a command, by a name that needs no quotes in the shell; 0: it is not GNU sort, or not there. */
int gnu_version(const char *sort);

#endif
