/* SPDX-License-Identifier: BSL-1.0 */
/*
 * free_space.h -- how much a file system has left.
 */
#ifndef EMI_FREE_SPACE_H
#define EMI_FREE_SPACE_H

#include <stdint.h>

/* Bytes that files beside the open one may still take, or UINT64_MAX when nobody can know: where what is written is
 * compressed, or is kept by another machine, or in layers, more may fit than there is said to be.  Where that is less
 * than `wanted', and the file system frees blocks behind the back of who removed a file (XFS), it is asked again for
 * half a second. */
uint64_t emi_free_space(int fd, uint64_t wanted);

#endif
