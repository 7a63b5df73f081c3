/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disks.h -- what the files of extmem disks share.
 *
 * Options (disks.c) make a list of disks; each is looked at (disks_look.c), if wanted measured (disks_measure.c), and
 * printed (disks_print.c).
 */
#ifndef CLI_DISKS_H
#define CLI_DISKS_H

#include <extmem/disk.h>
#include <extmem/sys/file.h>

#include "cli/context_options.h"
#include "cli/interrupt.h"
#include "cli/mount_type.h"

enum { DISKS_TEXT, DISKS_CSV, DISKS_JSON };

/* What a path is; what is not there yet will be made. */
enum { DISK_DIRECTORY, DISK_FILE, DISK_DEVICE, DISK_NEW, DISK_OTHER };

/* Block sizes that are measured, each twice the one before. */
enum { MEASURE_SIZES = 8, MEASURE_LEAST = 64 << 10 };

typedef struct disk_look {
	em_disk_opts opts;      /* as they are in effect: backend or custom, direct and queue are not left open */
	int kind;               /* DISK_... */
	int in_memory;          /* the backend keeps it in memory, whatever the path is on */
	char fs[MOUNT_TYPE];    /* "": none, or not known */
	const char *backend;
	int direct;             /* 1 yes, 0 no, -1 not known */
	uint64_t capacity;      /* bytes; 0: any number */
	uint64_t free;          /* bytes that it could take now; UINT64_MAX: not known */
	double write[MEASURE_SIZES], read[MEASURE_SIZES]; /* bytes per second; 0: not measured */
	uint32_t write_depth[MEASURE_SIZES], read_depth[MEASURE_SIZES]; /* transfers in flight */
} disk_look;

typedef struct disks_command {
	const char *command;
	context_options context;
	int format;             /* DISKS_... */
	uint64_t measure;       /* bytes to be written to each disk; 0: not measured */
	em_ctx *ctx;            /* with these disks */
	disk_look *disk;        /* owned */
	uint32_t n;
	uint64_t best;          /* the block size to be recommended; 0: none */
	interrupt in;
} disks_command;

/* Look at a disk, whose opts are set but for what they leave open.  0, or -1 after a message: what is known is filled
 * in. */
int disks_look(const disks_command *dc, disk_look *d);

/* Open it as a sort would, with a context of its own; what is refused there is refused.  NULL after a message. */
em_file *disks_open(const disks_command *dc, const disk_look *d, em_ctx **ctx);

/* Have nothing of it stay, and close both; NULL is allowed. */
void disks_close(const disks_command *dc, const disk_look *d, em_ctx *ctx, em_file *f);

/* Measure all disks and find the best block size.  0, or -1 after a message or when a signal came. */
int disks_measure(disks_command *dc);

/* The bytes of the i-th block size. */
uint64_t disks_block(uint32_t i);

void disks_print(const disks_command *dc);

#endif
