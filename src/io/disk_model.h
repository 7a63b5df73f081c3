/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk_model.h -- how long a disk takes.
 *
 * A pure function of a disk's parameters, its state, and a request: it neither sleeps nor asks for the time.  Times are
 * nanoseconds of any clock that starts with or after 0.
 */
#ifndef EMI_DISK_MODEL_H
#define EMI_DISK_MODEL_H

#include <extmem/sys/simdisk.h>

/* A ring of the disk: where it begins, in bytes and in nanoseconds of streaming from the beginning of the disk. */
typedef struct emi_disk_zone {
	uint64_t offset;
	uint64_t ns;
	uint64_t rate;          /* bytes per second */
} emi_disk_zone;

typedef struct emi_disk_model {
	uint64_t capacity;      /* INT64_MAX: no end */
	uint64_t total_ns;      /* to stream the whole disk; 0: no end */
	uint64_t turn_ns;       /* of one revolution; 0: it need not turn */
	uint64_t rate_interface; /* 0: no limit */
	uint64_t buffer;
	uint64_t seek_track_ns, seek_average_ns, write_ns;
	int64_t seek_root_ns;   /* a seek over the part x of the disk takes seek_track + seek_root * sqrt(x) +
	                           seek_linear * x */
	int64_t seek_linear_ns;
	uint32_t zones;
	emi_disk_zone zone[EM_SIMDISK_MAX_ZONES];
} emi_disk_model;

typedef enum emi_disk_last { EMI_DISK_NONE, EMI_DISK_READ, EMI_DISK_WRITE } emi_disk_last;

/* Zeroed, it is a disk that has nothing to do, its arm at the outer edge. */
typedef struct emi_disk_state {
	uint64_t free_ns;       /* when it has read or written all that it was asked for */
	uint64_t done_ns;       /* when the last request is complete: then, or later, if what was read ahead is asked
	                           for late */
	uint64_t at;            /* offset where the last of them ended */
	emi_disk_last last;     /* what it was */
} emi_disk_state;

/* What a request took. */
typedef struct emi_disk_service {
	uint64_t done_ns;       /* when it is complete */
	uint64_t seek_ns, turn_ns, transfer_ns; /* moving the arm, waiting for the disk to turn, transferring */
	int positioned;         /* it did not begin where the last one ended */
} emi_disk_service;

/* Check the parameters and make a model of them.  EM_ERR_INVAL.  m may be NULL, to check only. */
em_status emi_disk_model_make(emi_disk_model *m, const em_simdisk *p, em_errinfo *err);

/* When a disk is done with a request that comes now, for bytes > 0 within its capacity; a disk is told of its requests
 * in the order in which they come. */
emi_disk_service emi_disk_serve(const emi_disk_model *m, emi_disk_state *s, uint64_t now, uint64_t offset,
				uint64_t bytes, int write);

/* What serving takes at least: streaming from the beginning of the disk to offset; and moving the arm between two
 * offsets. */
uint64_t emi_disk_stream_ns(const emi_disk_model *m, uint64_t offset);
uint64_t emi_disk_seek_ns(const emi_disk_model *m, uint64_t from, uint64_t to);

#endif
