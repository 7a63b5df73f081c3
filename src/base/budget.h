/* SPDX-License-Identifier: BSL-1.0 */
/*
 * budget.h -- what this machine and the limits of this process leave us.
 */
#ifndef EMI_BUDGET_H
#define EMI_BUDGET_H

#include <stdint.h>

/* Bytes of physical memory; UINT64_MAX: unknown. */
uint64_t emi_physical_memory(void);

/* Something that limits the memory of this process. */
typedef struct emi_bound {
	uint64_t bytes;         /* that it leaves us; UINT64_MAX: any number */
	const char *what;       /* behind "the %d bytes": "of physical memory" */
} emi_bound;

enum { EMI_BOUNDS = 4 };

/* All that there are: physical memory, control groups (see below), and the limits of the process on its address space
 * and its data, less what is in use of them already. */
void emi_memory_bounds(emi_bound bounds[EMI_BOUNDS]);

/* A limit of the process that allocating may have met, the least of those that are set: its name and value.
 * NULL: none is set. */
const char *emi_memory_rlimit(uint64_t *bytes);

/* The memory limit of the control group of this process (version 1 or 2) or of one above it, whichever is least;
 * UINT64_MAX: none.  root is put in front of every path that is looked at: "", but in tests. */
uint64_t emi_cgroup_memory(const char *root);

/* Processors that this process may run on, at least 1. */
uint32_t emi_usable_cores(void);

/* Descriptors that this process may still open. */
uint32_t emi_free_descriptors(void);

#endif
