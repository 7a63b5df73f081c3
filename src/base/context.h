/* SPDX-License-Identifier: BSL-1.0 */
/*
 * context.h -- what a context consists of, for the layers that hang things from it.
 */
#ifndef EMI_CONTEXT_H
#define EMI_CONTEXT_H

#include <pthread.h>

#include <extmem/ctx.h>

#include "base/meter.h"

struct emi_workers;             /* base/workers.c */
struct emi_kernels;             /* not known here */
struct em_backend;
struct emi_disk_set;
struct emi_queue;
struct emi_log_line;            /* base/log.c */
struct emi_leftover;            /* base/leftovers.h */

/* A scratch disk as it was asked for. */
typedef struct emi_disk_choice {
	char *path;             /* owned */
	uint64_t capacity;      /* bytes; 0: any number */
	const struct em_backend *backend;
	int32_t direct;
	uint32_t queue_depth;   /* 0: the context's */
	uint32_t flags;         /* EM_DISK_... */
	int directory;          /* the path can be nothing else */
	int ours;               /* a file that we made and kept: what is in it is nobody else's; under the context's
	                           lock */
} emi_disk_choice;

/* Memory that nobody has and that is kept for the next object, see base/pieces.h. */
#define EMI_PIECES_MOST 16u
typedef struct emi_pieces {
	pthread_mutex_t lock;   /* guards the rest; never held while another one is taken */
	uint64_t bytes;         /* in them; written under the lock, atomic */
	uint32_t n;
	struct {
		void *at;
		size_t bytes;
	} piece[EMI_PIECES_MOST]; /* the oldest first */
} emi_pieces;

struct em_ctx {
	/* budgets */
	uint64_t memory;        /* bytes allowed; atomic, and never less than before */
	uint64_t memory_most;   /* that they might become on this machine, see emi_memory_raise() */
	uint32_t lifted;        /* by so many as much may be taken, see emi_memory_lift(); atomic */
	int memory_given;       /* the caller said so; otherwise they are an upper bound */
	uint64_t memory_named;  /* what the caller said, too little for any context, until that is told; or 0; atomic */
	uint64_t enough;        /* for tests: bytes that a sort plans with below that bound; 0: its input decides */
	uint64_t used;          /* bytes in use; atomic */
	uint32_t sharers;       /* objects that are going to take a fair share of what is left; atomic */
	uint64_t peak;          /* most ever in use; atomic */
	uint32_t fds;           /* descriptors allowed */
	uint32_t fds_used;      /* atomic */
	uint32_t refs;          /* the caller's and those of objects; atomic */
	uint32_t threads;

	em_allocator allocator;
	em_log_fn log;
	void *log_user;
	void (*log_free)(void *user); /* for log_user, and likewise the allocator's, when the context ends; or NULL */
	void (*allocator_free)(void *user);
	struct emi_log_line *lines; /* that wait to be told, the newest first, see base/log.h; atomic, as is: */
	uint32_t lines_kept;    /* how many they are */
	uint32_t lines_lost;    /* that there was no room for */

	struct emi_workers *workers; /* NULL until the first emi_workers_start() */
	pthread_mutex_t lock;   /* guards workers and scratch being made */

	/* choices, made by em_ctx_open() in src/ctx */
	int64_t pid;            /* of the process that made it: fork detection */
	int canceled;           /* em_ctx_cancel(): it stays so; atomic */
	int32_t direct;         /* EM_DIRECT_... */
	uint32_t queue_depth;   /* 0: the backend's own */
	const struct em_backend *backend;
	const char *isa;        /* static */
	char *dir;              /* directory for scratch files, or the first disk's path; owned */
	emi_disk_choice *disk;  /* the scratch disks, owned; NULL: one, an unnamed file in dir */
	uint32_t ndisks;
	uint64_t scratch_max;   /* bytes that they may take together; 0: any number */
	uint64_t block_bytes;   /* of a block that nobody said a size of; 0: chosen */
	void *kept;             /* what the choices point to: parameters of simulated disks, owned; or NULL */
	size_t kept_bytes;
	int warned;             /* it was logged that scratch is in memory; under the lock */

	struct emi_disk_set *scratch; /* the scratch disks while anybody uses them; see block/disk.h */
	uint32_t scratch_users;

	/* input and output, see io/queue.h */
	pthread_mutex_t io_lock; /* guards the rest, but for what is atomic; taken last of all locks */
	pthread_cond_t io_done; /* something that is watched is done */
	uint32_t io_watchers;   /* threads that wait for any of several requests; atomic */
	struct emi_queue *queues; /* of the disks that files are open on */
	uint32_t io_threads;    /* most of each queue; 0: a small part of the memory is for their stacks; atomic */
	emi_meter meter;        /* all files' */
	int32_t priority;       /* EM_PRIORITY_... */

	uint32_t flags;         /* EM_CTX_... */

	emi_pieces pieces;

	pthread_mutex_t leftovers_lock; /* see base/leftovers.h; taken before io_lock and never with lock */
	struct emi_leftover *leftovers;
};

/* Free the choice of disks, of which so many have a path. */
void emi_ctx_free_disks(em_ctx *ctx, uint32_t paths);

/* Who made a context gave what these are called with, once.  NULL is allowed. */
void emi_ctx_free_users(void (*log_free)(void *user), void *log_user, void (*allocator_free)(void *user),
			void *allocator_user);

/* Take and drop a reference; the last one releases the context. */
void emi_ctx_ref(em_ctx *ctx);
void emi_ctx_unref(em_ctx *ctx);

/* May work go on?  EM_OK, or with err filled EM_ERR_FORK when this process did not make ctx, EM_ERR_CANCELED when it
 * was canceled.  What only gives back does not ask. */
em_status emi_ctx_check(const em_ctx *ctx, em_errinfo *err);

static inline int emi_ctx_canceled(const em_ctx *ctx)
{
	return __atomic_load_n(&ctx->canceled, __ATOMIC_RELAXED);
}

/* Is this a child of the process that made ctx? */
int emi_ctx_forked(const em_ctx *ctx);

/* Log a line, printf style, when there is a log (base/log.c). */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void emi_log(const em_ctx *ctx, int32_t level, const char *fmt, ...);

/* Count a descriptor that is about to be opened against the budget: EM_OK or EM_ERR_FDLIMIT; and one closed. */
em_status emi_fd_take(em_ctx *ctx, const char *path, em_errinfo *err);
void emi_fd_drop(em_ctx *ctx);

/* Seconds on the monotonic clock, and CPU seconds of the process. */
double emi_now(void);
double emi_cpu_now(void);

#endif
