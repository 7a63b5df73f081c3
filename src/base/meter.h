/* SPDX-License-Identifier: BSL-1.0 */
/*
 * meter.h -- counting requests and the time they take, for a file, a disk or a context.
 *
 * A meter has no lock: who calls begin, end and read holds one.  Times are nanoseconds of emi_now_ns().
 */
#ifndef EMI_METER_H
#define EMI_METER_H

#include <extmem/sys/io_stats.h>

enum { EMI_METER_READ, EMI_METER_WRITE, EMI_METER_BOTH, EMI_METERED };

typedef struct emi_meter {
	uint64_t requests[EMI_METER_BOTH];
	uint64_t bytes[EMI_METER_BOTH];
	uint64_t serial_ns[EMI_METER_BOTH];
	uint64_t busy_ns[EMI_METERED];
	uint64_t wait_ns[EMI_METER_BOTH]; /* atomic */
	uint32_t active[EMI_METERED];
	uint64_t since[EMI_METERED];    /* when active became more than 0 */
	uint32_t queue, queue_most;
} emi_meter;

/* A request was submitted, is handed on, was handed on and is done, is done without that. */
void emi_meter_submit(emi_meter *m);
void emi_meter_begin(emi_meter *m, int write, uint64_t now);
void emi_meter_end(emi_meter *m, int write, uint64_t bytes, uint64_t begun, uint64_t now);
void emi_meter_leave(emi_meter *m);

/* One that was handed on was refused, and waits again. */
void emi_meter_back(emi_meter *m, int write, uint64_t now);

/* Somebody waited; without a lock. */
void emi_meter_wait(emi_meter *m, int write, uint64_t ns);

void emi_meter_read(const emi_meter *m, uint64_t now, em_io_stats *stats);

/* Copy to a caller's struct, as far as he knows it: EM_ERR_INVAL when its size is not legal. */
em_status emi_io_stats_give(em_io_stats *theirs, const em_io_stats *ours);

uint64_t emi_now_ns(void);

#endif
