/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/io_stats.h  What was read and written, and how long that took.
 *
 * Every file counts its requests, every disk those of its files, and a context those of all. Snapshots are taken at any
 * time, from any thread; the difference of two is what happened between.
 *
 * There are two times. The *serial* one is the sum over all requests of what each took, from when it was handed to the
 * operating system to when it was done: divided by their number it is the service time. The *busy* one is the time
 * during which at least one was under way: divided by the time that passed it is how busy the disk was, and bytes
 * divided by it are the rate.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0 (see extmem/base.h).
 */
#ifndef EXTMEM_SYS_IO_STATS_H
#define EXTMEM_SYS_IO_STATS_H

#include <extmem/ctx.h>

EM_BEGIN_DECLS

typedef struct em_io_stats {
	uint32_t size;          /**< sizeof(em_io_stats); set by the initialiser, and by what fills it. */
	uint32_t queue;         /**< Requests that were not done at that moment; of a difference: those of the later
	                             snapshot. */
	uint32_t queue_most;    /**< The most there ever were; of a difference likewise. */
	uint32_t reserved;
	double time;            /**< When, in seconds of a clock that never goes back; of a difference: how much
	                             later. */
	uint64_t reads;         /**< Requests, not the attempts that they took. */
	uint64_t writes;
	uint64_t bytes_read;
	uint64_t bytes_written;
	double read_seconds;    /**< Serial time of reads. */
	double write_seconds;
	double read_busy;       /**< Busy with at least one read. */
	double write_busy;
	double busy;            /**< Busy with either. */
	double read_wait;       /**< Callers waited for reads: the sum over all of them.  Who waits for any of several
	                             requests waits for the one that is done first; when none is, for the first of the
	                             list. */
	double write_wait;
} em_io_stats;
#define EM_IO_STATS_INIT { sizeof(em_io_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_IO_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_io_stats_init(em_io_stats *out, size_t bytes);

/**
 * What all files of a context moved since it was made, those that are closed included.
 * Any thread.  Returns EM_OK, EM_ERR_INVAL (an argument is NULL), EM_ERR_VERSION (stats without its initialiser).
 */
EM_API EM_NODISCARD em_status em_ctx_io_stats_get(em_ctx *ctx, em_io_stats *stats);

/**
 * The same of the i-th disk that a file is open on now, from 0.  name, of bytes bytes, gets what tells it from others:
 * the path of its first file.  Any thread.  Returns EM_OK, EM_END (there are not so many), EM_ERR_INVAL,
 * EM_ERR_VERSION.
 */
EM_API EM_NODISCARD em_status em_ctx_disk_stats_get(em_ctx *ctx, uint32_t i, em_io_stats *stats, char *name,
						    size_t bytes);

/** now -= before: what happened between two snapshots of the same object.  NULL is allowed. */
EM_API void em_io_stats_since(em_io_stats *now, const em_io_stats *before);

/**
 * Write them as text of several lines, or as one JSON object whose keys are the names of the fields, like snprintf: up
 * to bytes - 1 characters and a zero; returns how many there would be: none if stats is NULL or was made without its
 * initialiser.  Any thread.
 */
EM_API size_t em_io_stats_text(const em_io_stats *stats, char *to, size_t bytes);
EM_API size_t em_io_stats_json(const em_io_stats *stats, char *to, size_t bytes);

EM_END_DECLS

#endif
