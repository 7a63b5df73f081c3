/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk_file.h -- the file that a scratch disk is: unnamed in a directory, named, or a device.
 */
#ifndef EMI_DISK_FILE_H
#define EMI_DISK_FILE_H

#include "base/context.h"
#include "io/file.h"

typedef struct emi_disk_file {
	em_file *file;
	uint64_t capacity;      /* bytes; 0: any number */
	int fixed;              /* space cannot go back: the device has it anyway */
	int empties;            /* it was there before, and is to be empty afterwards */
} emi_disk_file;

/* Open what was chosen.  What is there and must stay is EM_ERR_EXIST. */
em_status emi_disk_file_open(emi_disk_file *f, em_ctx *ctx, emi_disk_choice *choice, em_errinfo *err);

/* Never fails: what cannot be emptied stays.  In a forked child it only frees memory and the descriptor. */
void emi_disk_file_close(emi_disk_file *f, int forked);

/* Most bytes of memory that it takes in a context of so much. */
uint64_t emi_disk_file_memory(const em_ctx *ctx, uint64_t memory, const emi_disk_choice *choice);

#endif
