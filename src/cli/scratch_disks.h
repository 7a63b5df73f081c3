/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scratch_disks.h -- the options that say where scratch goes: -T and --disk, each as often as there are disks.
 */
#ifndef CLI_SCRATCH_DISKS_H
#define CLI_SCRATCH_DISKS_H

#include <extmem/ctx.h>
#include <extmem/disk.h>

typedef struct scratch_disk scratch_disk;

typedef struct scratch_disks {
	const char **dir;       /* of -T; the array is owned */
	uint32_t dirs;
	scratch_disk **disk;    /* of --disk; owned */
	const em_disk_opts **opts; /* of these, as em_ctx_opts wants them */
	uint32_t disks;
	int yields;             /* what is there is a configuration file's, and gives way to what comes */
	const char *from;       /* where it is from, after scratch_disks_apply(); not owned */
} scratch_disks;

/* Take an argument of -T; a directory that was given before is taken once.  0, or -1 after a message. */
int scratch_disks_directory(scratch_disks *s, const char *command, const char *arg);

/* Take an argument of --disk, however that option is called: PATH[,SIZE[,BACKEND[,OPTION]...]].  0, or -1 after a
 * message. */
int scratch_disks_take(scratch_disks *s, const char *command, const char *option, const char *arg);

/* Does a backend of that name work here?  0, or -1 after a message. */
int scratch_disks_backend(const char *command, const char *name);

/* What was taken is from a file, and gives way to what comes, or to $EXTMEM_TMPDIR. */
void scratch_disks_yield(scratch_disks *s, const char *file);

/* Tell a context's options what was taken, or the usual directory if nothing was.  s must outlive the context.  0, or
 * -1 after a message. */
int scratch_disks_apply(scratch_disks *s, const char *command, em_ctx_opts *opts);

void scratch_disks_free(scratch_disks *s);

#endif
