/* SPDX-License-Identifier: BSL-1.0 */
/*
 * free_space.h -- how much a file system has left.
 */
#ifndef EMI_FREE_SPACE_H
#define EMI_FREE_SPACE_H

#include <stdint.h>

/* Bytes that files beside the open one may still take, or UINT64_MAX when nobody can know: where what is written is
 * compressed, or is kept by another machine, or in layers, more may fit than there is said to be. */
uint64_t emi_free_space(int fd);

#endif
