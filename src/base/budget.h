/* SPDX-License-Identifier: BSL-1.0 */
/*
 * budget.h -- what this machine and the limits of this process leave us.
 */
#ifndef EMI_BUDGET_H
#define EMI_BUDGET_H

#include <stdint.h>

/* Bytes of physical memory; UINT64_MAX: unknown. */
uint64_t emi_physical_memory(void);

/* The memory limit of the control group of this process (version 1 or 2) or of one above it, whichever is least; UINT64_MAX: none.
 * root is put in front of every path that is looked at: "", but in tests. */
uint64_t emi_cgroup_memory(const char *root);

/* Processors that this process may run on, at least 1. */
uint32_t emi_usable_cores(void);

/* Descriptors that this process may still open. */
uint32_t emi_free_descriptors(void);

#endif
