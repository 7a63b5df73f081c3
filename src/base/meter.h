/* SPDX-License-Identifier: BSL-1.0 */
/*
 * meter.h -- counting requests and the time they take, for a file, a disk or a context.
 *
 * The meters of a file and of its disk have no lock: who calls these functions holds that of the disk's queue, which he
 * has anyway.  That of a context, where the disks meet, would need one of its own for every request.  So it is shared:
 * counts are atomic, and a disk tells it only when it begins to be busy and when that is over, under the lock of the
 * context's input and output.
 *
 * Times are nanoseconds of emi_now_ns().  A thread may look at the clock, and tell the time later than others that
 * looked after it.  What happens is then counted at the latest time that the meter has heard of, and all three meters
 * count the same one.  So a context is never less busy than one of its disks, nor a disk than one of its files, and no
 * moment is counted twice.
 */
#ifndef EMI_METER_H
#define EMI_METER_H

#include <pthread.h>

#include <extmem/sys/io_stats.h>

enum { EMI_METER_READ, EMI_METER_WRITE, EMI_METER_BOTH, EMI_METERED };

typedef struct emi_meter {
	int shared;             /* what is not about being busy is counted by several threads at a time */
	uint64_t requests[EMI_METER_BOTH];
	uint64_t bytes[EMI_METER_BOTH];
	uint64_t serial_ns[EMI_METER_BOTH];
	uint64_t wait_ns[EMI_METER_BOTH]; /* atomic */
	uint32_t queue, queue_most;
	/* being busy: */
	uint64_t busy_ns[EMI_METERED];
	uint64_t since[EMI_METERED];    /* when active became more than 0 */
	uint32_t active[EMI_METERED];
	uint64_t latest;                /* the time that was told last */
} emi_meter;

/* Those that count a transfer. */
typedef struct emi_meters {
	emi_meter *file, *disk;
	emi_meter *all;         /* the context's */
	pthread_mutex_t *lock;  /* of that */
} emi_meters;

/* A request was submitted; it is done, after ns nanoseconds; it is done without having been handed on. */
void emi_meter_submit(emi_meter *m);
void emi_meter_done(emi_meter *m, int write, uint64_t bytes, uint64_t ns);
void emi_meter_leave(emi_meter *m);

/* Somebody waited; without a lock. */
void emi_meter_wait(emi_meter *m, int write, uint64_t ns);

/* A transfer is under way; it no longer is. */
void emi_meters_begin(const emi_meters *m, int write, uint64_t now);
void emi_meters_end(const emi_meters *m, int write, uint64_t now);

/* A snapshot; with the lock. */
void emi_meter_read(const emi_meter *m, uint64_t now, em_io_stats *stats);

/* Copy to a caller's struct, as far as he knows it: as emi_struct_give(). */
em_status emi_io_stats_give(em_io_stats *theirs, const em_io_stats *ours);

uint64_t emi_now_ns(void);

/* Nanoseconds that the processor worked for this thread; where nobody tells, of any clock. */
uint64_t emi_thread_ns(void);

#endif
