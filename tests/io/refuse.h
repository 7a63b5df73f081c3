/* SPDX-License-Identifier: BSL-1.0 */
/*
 * refuse.h -- a kernel that refuses system calls, or is older than this one: this one under a filter, which stays with
 * a process.
 */
#ifndef EM_IO_REFUSE_H
#define EM_IO_REFUSE_H

#include <linux/bpf_common.h>
#include <stdint.h>

/* What a function returns that cannot do its work in a child. */
enum { CHILD_CANNOT = 77 };

/* Run a function in a child: skip when it says that it cannot be, fail when it fails. */
void run_in_child(int (*fn)(void));

/* From now on this process is refused a system call, with that errno, if its argument compares (BPF_JGE, BPF_JSET) with
 * k. */
int refuse(int call, unsigned arg, unsigned compare, uint32_t k, int e);

#endif
