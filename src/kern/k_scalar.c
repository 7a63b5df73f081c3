/* SPDX-License-Identifier: BSL-1.0 */
/* k_scalar.c -- the block kernels in plain C, for every processor. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define K_ISA "scalar"
#define K_TABLE emi_kernels_scalar
#include "kern/k_inst.h"
