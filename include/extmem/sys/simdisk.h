/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/simdisk.h  Disks that only exist in time: experiments with many disks on one machine.
 *
 * A simulated disk is a backend that keeps temporary files in memory and makes each transfer take as long as a certain
 * disk with a moving arm would have needed.  Each file is a disk of its own.  What is in it is disk, and does not
 * count against the memory of a context.  Files with a name are real ones, at their real speed.  There is no page cache
 * to go past, so direct "on" is EM_ERR_NOTSUP, as for the memory backend.
 *
 *     em_simdisk disk;
 *     em_ctx_opts opts = EM_CTX_OPTS_INIT;
 *     if (em_simdisk_init(&disk, sizeof disk, "120gxp", &err) != EM_OK) ...
 *     disk.seek_average_ns = 9500000;
 *     opts.custom = em_simdisk_backend(&disk);
 *
 * What is simulated: a disk serves one request at a time, in the order in which they come.  A request that begins where
 * the one before ended goes on at the rate of its zone.  Any other waits for the arm, which takes as long as the way
 * is, and for the disk to turn to where the bytes are.  The disk reads ahead into its buffer and writes behind from it,
 * so that a continuation that comes late, by less than it takes to fill the buffer, finds that the disk has gone on.
 * What is not: reordering of requests, defects, the interface being shared by disks.
 *
 * All figures are integers, so that the same requests at the same times take the same time everywhere.
 *
 * The struct is the caller's and must outlive the contexts that use it; a copy is no disk until it was initialised.
 * Parameters are read when a file is opened.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0 (see extmem/base.h).
 */
#ifndef EXTMEM_SYS_SIMDISK_H
#define EXTMEM_SYS_SIMDISK_H

#include <extmem/status.h>
#include <extmem/sys/backend.h>

EM_BEGIN_DECLS

/** Most zones of a disk, most bytes per second, and the longest seek in nanoseconds. */
#define EM_SIMDISK_MAX_ZONES 64u
#define EM_SIMDISK_MAX_RATE UINT64_C(10000000000)
#define EM_SIMDISK_MAX_SEEK UINT64_C(1000000000)

typedef struct em_simdisk {
	uint32_t size;            /**< What em_simdisk_init() was told. */
	uint32_t rpm;             /**< Revolutions per minute, 60 to 1000000; 0: no waiting for the disk to turn. */
	uint32_t zones;           /**< Rings of equal width in which rate and track size are constant: 1 to
	                               EM_SIMDISK_MAX_ZONES. */
	uint32_t reserved;
	uint64_t capacity;        /**< Bytes; writing more is ENOSPC.  0: no end; then there is one zone, and all seeks
	                               are average. */
	uint64_t rate_outer;      /**< Sustained bytes per second at offset 0, 1 to EM_SIMDISK_MAX_RATE. */
	uint64_t rate_inner;      /**< And in the last zone; not more than that. */
	uint64_t rate_interface;  /**< Between buffer and memory; 0: no limit. */
	uint64_t buffer;          /**< Bytes read ahead and written behind, up to 2^40. */
	uint64_t seek_track_ns;   /**< To the next track. */
	uint64_t seek_average_ns; /**< Mean over all pairs of tracks. */
	uint64_t seek_full_ns;    /**< From the first track to the last. */
	uint64_t write_ns;        /**< What a seek takes longer when it is for writing. */
	/* Counters over all files; atomic, may be reset between calls. */
	uint64_t requests;        /**< Transfers, those of no bytes at the end of a file left out. */
	uint64_t bytes;           /**< Moved by them. */
	uint64_t seeks;           /**< Transfers that did not begin where the one before ended. */
	uint64_t busy_ns;         /**< Nanoseconds that the disks were moving, turning or transferring, summed over
	                               disks. */
	uint64_t table[64];       /**< The library's, for em_simdisk_backend(). */
} em_simdisk;

/**
 * Set all parameters of a disk of so many bytes, sizeof(em_simdisk), to those of a model, and the counters to zero:
 *
 *   plain   50 MB/s and 8 ms for each seek, no end: the model of the built-in backend "simdisk"
 *   120gxp  IBM Deskstar 120GXP of 80 GB: 48 to 24 MB/s in 30 zones, 7200 rpm, seeks of 1.1, 8.5 and 15 ms
 *   elite9  Seagate Elite-9 of 9 GB: 7.2 to 5 MB/s in 16 zones, 5400 rpm, seeks of 0.9, 11 and 23 ms, 1 ms more for
 *           writing
 *
 * model NULL is "plain".  err may be NULL.  Any thread.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL  disk is NULL, or there is no model of that name: err lists those that there are; disk is not changed
 *   EM_ERR_VERSION  no version of an em_simdisk has so few bytes; disk is not changed
 */
EM_API EM_NODISCARD em_status em_simdisk_init(em_simdisk *disk, size_t size, const char *model, em_errinfo *err);

/**
 * Change parameters of a disk after em_simdisk_init() by text: NAME=VALUE[,NAME=VALUE]...
 *
 *   model=NAME                                     all parameters, before those in the same text that are more special
 *   rate=SIZE, rate-outer=SIZE, rate-inner=SIZE    bytes per second: everywhere, in the first, in the last zone
 *   rate-interface=SIZE  capacity=SIZE  buffer=SIZE
 *   seek=TIME                                      of all seeks
 *   seek-track=TIME, seek-average=TIME, seek-full=TIME, write=TIME
 *   zones=N  rpm=N
 *
 * A SIZE is a number, with decimals if need be, and B, K, M, G, T (powers of 1024), kB, MB, GB or TB (of 1000); a TIME
 * has ns, us, ms or s.  Options are set in their order, then the whole is checked as by em_simdisk_check().  The empty
 * text is legal.  The counters stay.  err may be NULL.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL  disk or text is NULL, an option is not known, its value not legal, or parameters do not fit together:
 *                 err names the option; disk is not changed
 *   EM_ERR_VERSION  disk was not initialised
 */
EM_API EM_NODISCARD em_status em_simdisk_parse(em_simdisk *disk, const char *text, em_errinfo *err);

/**
 * Are the parameters legal, and do they fit together?  What is not makes opening a file fail with EINVAL.  err may be
 * NULL.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL  err names the parameter as em_simdisk_parse() does
 *   EM_ERR_VERSION  disk was not initialised
 */
EM_API EM_NODISCARD em_status em_simdisk_check(const em_simdisk *disk, em_errinfo *err);

/** The backend to give to a context, as em_ctx_opts.custom. */
EM_API const em_backend *em_simdisk_backend(const em_simdisk *disk);

EM_END_DECLS

#endif
