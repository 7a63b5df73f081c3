/* SPDX-License-Identifier: BSL-1.0 */
/*
 * stream.h -- what all streams have in common, and how nodes are made.
 *
 * A stream is a sorted source (sort/sorted_source.h), whether it is sorted or not: it lends windows of records, and
 * whoever takes some moves `at'.  So the merge over sorted sources (sort/kway.h) merges streams as they are, and all
 * other nodes go by the same rule: have records of an input in hand with emi_stream_need(), look at what is between
 * s->source.at and s->source.end, and move `at'.
 *
 * A kind of stream is a struct that begins with em_stream, and an emi_stream_kind: one function that has the next
 * window come, and one that gives back what the stream has.  Everything else is here: the public calls, inputs and who
 * owns them, limits to a window (em_stream_batch()), failures, and a buffer for records that a node makes.
 *
 *	emi_stream_new(...)             checks inputs, and takes their flags
 *	... fill in the kind's fields ...
 *	emi_stream_made(s, out)         owns the inputs from now on
 *
 * The calls of a program on an input are refused, as its node works with it.  So one flag is enough to tell that a
 * function of the caller's calls the graph that is calling it: that of the last node.  Those that make nodes enter
 * their inputs, and so find out, too.
 *
 * Of records of any length the window is where each of them ends (lines.h), so that all that counts records, or takes
 * some of them, is the same.
 *
 * At the end of its records, and after a failure, a stream gives back what it has, and so do its inputs, which may have
 * had more: memory is free for the phase that comes.  What is left then are the structs, as long as the graph lives.
 */
#ifndef EMI_FLOW_STREAM_H
#define EMI_FLOW_STREAM_H

#include <extmem/stream.h>
#include <extmem/stream_nodes.h>

#include "base/cursor.h"
#include "base/object.h"
#include "base/user.h"
#include "sort/sorted_source.h"

/* Bytes of a node's buffer, unless the program says how many records it has. */
#define EMI_STREAM_ROOM ((size_t)16 << 10)

typedef struct emi_stream_kind {
	/* Have the next window come: set source.at and source.end.  EM_OK, and they differ; EM_END; or a failure.  err
	 * is not NULL, and without a failure.  A failure is final, but for a mild one, which changed nothing: a
	 * container was at work.  Then the next pull tries again.  So what was made of records that were taken is
	 * lent before a failure of an input is told. */
	em_status (*next)(em_stream *s, em_errinfo *err);
	/* Give back all it has beside its inputs and its buffer.  Once; NULL: that is nothing. */
	void (*retire)(em_stream *s);
	const char *name;       /* for people */
	unsigned flags;         /* EMI_STREAM_... */
} emi_stream_kind;

/* What is to be known of a kind when paths between a tee and a node are checked (paths.h). */
#define EMI_STREAM_BLOCKS  1u /* it reads its input to the end before it lends */
#define EMI_STREAM_IN_TURN 2u /* it reads an input to the end before it looks at the next one */
#define EMI_STREAM_THREAD  4u /* its input is pulled by a thread of its own */
#define EMI_STREAM_VARIED  8u /* it takes records of any length */

/* What a program hears of a graph (graph.h). */
typedef struct emi_stream_progress {
	em_progress_fn fn;      /* NULL: nobody listens */
	emi_user user;
	double last;            /* when it was called */
} emi_stream_progress;

struct em_stream {
	emi_object object;
	emi_sorted_source source; /* the window; its functions are the same for all kinds */
	const emi_stream_kind *kind;
	emi_cursor cursor;
	em_batch batch;         /* that was lent last */
	const char *held;       /* where the window ends that the kind made; source.end may be before it */
	size_t record;          /* bytes; of any length: of an end */
	int varied;             /* records have any length (lines.h) */
	const char *text;       /* of any length: where ends count from, ... */
	const uint64_t *first;  /* ... and that of the record that begins there */
	size_t bytes;           /* of the struct */
	size_t most;            /* records of a window at most; 0: any number */
	uint64_t left;          /* records that were in no window yet; EM_STREAM_UNKNOWN */
	em_stream *owner;       /* the node that it is an input of; NULL: it is the caller's */
	em_stream **input;
	uint32_t inputs;
	uint32_t users;         /* of the stem of a tee: outputs that are not freed */
	em_stream *stem;        /* of an output of a tee, which the last of them closes; else NULL */
	em_stream *above;       /* of the stem of a tee: the output that stands for it in the graph; else NULL */
	uint64_t claim;         /* bytes that it takes, or is going to; of a sort only those that its options name */
	uint64_t budget;        /* of a last node: what its graph shares (graph.h); 0: not known yet */
	uint64_t lent;          /* records of the windows so far */
	emi_stream_progress progress; /* of the graph while it is pulled */
	int sorts;              /* it reads all of its input before it lends anything: a sort */
	int named;              /* ... whose options name its memory */
	int formed;             /* ... and which has read all */
	int in_turn;            /* one input after the other is pulled */
	int apart;              /* inputs are pulled by a thread of its own */
	int begun;              /* it was pulled */
	int mild;               /* what its function fails with now is not final */
	int retired;
	char *room;             /* the buffer of what it makes; NULL: none yet */
	size_t room_records;
	em_status status;       /* how it ended, as it goes on to say */
	em_errinfo failure;     /* the detail of that */
	emi_user owned;         /* freed when it is closed, ... */
	emi_user watching;      /* ... and that of progress, where both are given */
};

static inline em_stream *emi_stream_of(emi_sorted_source *source)
{
	return (em_stream *)(void *)((char *)source - offsetof(em_stream, source));
}

/* Have records of an input in hand: EM_OK, EM_END, or a failure, with err filled. */
static inline em_status emi_stream_need(em_stream *s, em_errinfo *err)
{
	return s->source.at != s->source.end ? EM_OK : emi_sorted_next(&s->source, err);
}

/* Records in hand. */
static inline size_t emi_stream_hand(const em_stream *s)
{
	return (size_t)(s->source.end - s->source.at) / s->record;
}

/* Is that a size of records?  EM_ERR_RANGE. */
em_status emi_stream_check_record(uint64_t record_bytes, em_errinfo *err);

/* n records that begin there are in memory: EM_ERR_INVAL. */
em_status emi_stream_check_records(const void *records, uint64_t n, size_t record, em_errinfo *err);

/* A struct of so many zeroed bytes, for records of a size, with inputs that were checked: given, of this context,
 * nobody's input, each of them once, and not at work.  count: what em_stream_count() says.  NULL, with err filled.
 * ctx may be NULL where there are inputs. */
em_stream *emi_stream_new(em_ctx *ctx, size_t bytes, const emi_stream_kind *kind, uint64_t record_bytes,
			  em_stream *const *inputs, uint32_t n, uint64_t count, em_errinfo *err);

/* What is in the window of its cursor was not taken: it comes next. */
void emi_stream_put_back(em_stream *s);

/* Its records have any length: a struct that was made for records of sizeof(uint64_t) bytes. */
void emi_stream_vary(em_stream *s);

/* It is made: own the inputs, and give it to the caller. */
void emi_stream_made(em_stream *s, em_stream **out);

/* What a function that makes one ends with: give it to the caller if st is EM_OK, and s is not NULL; tell failures. */
em_status emi_stream_end(em_stream *s, em_stream **out, em_status st, em_errinfo *theirs, const em_errinfo *err);

/* The same of one that has a function of the caller's: user is freed with the stream, or now if there is none. */
em_status emi_stream_end_user(em_stream *s, em_stream **out, em_status st, void *user, void (*user_free)(void *user),
			      em_errinfo *theirs, const em_errinfo *err);

/* It could not be made: free it, and leave the inputs alone. */
void emi_stream_drop(em_stream *s);

/* What a function that makes a source begins with: no detail, *out is NULL.  EM_ERR_INVAL: out is NULL. */
em_status emi_stream_begin(em_stream **out, em_errinfo *err);

/* The same of a node: *out becomes NULL unless an input stands there, which the caller still has if there is no node in
 * the end.  inputs may be NULL. */
em_status emi_stream_begin_node(em_stream **out, em_stream *const *inputs, uint32_t n, em_errinfo *err);

/* The same of one with one input, which is not NULL, and, for the second, with a function that is given. */
em_status emi_stream_begin_one(em_stream **out, em_stream *in, em_errinfo *err);
em_status emi_stream_begin_by(em_stream **out, em_stream *in, int given, em_errinfo *err);

/* A buffer for some records, as many as s->most or EMI_STREAM_ROOM says, if there is none yet. */
em_status emi_stream_room(em_stream *s, em_errinfo *err);

/* The window is the first n records of the buffer: EM_OK; EM_END: n is 0. */
em_status emi_stream_show(em_stream *s, size_t n);

/* The same of n records that were made when an input ended or failed, which it says again: they come first. */
static inline em_status emi_stream_show_made(em_stream *s, size_t n, em_status st)
{
	return n != 0 || st >= EM_OK ? emi_stream_show(s, n) : st;
}

/* Give back what it and its inputs have; it has no more records. */
void emi_stream_retire(em_stream *s);

/* How many records are still to be lent; and their bytes, where they have one size.  EM_STREAM_UNKNOWN. */
uint64_t emi_stream_left(const em_stream *s);
uint64_t emi_stream_left_bytes(const em_stream *s);

/* A function of the caller's has failed, which does what is said: EM_ERR_USER. */
em_status emi_stream_user_failed(const char *does, int returned, em_errinfo *err);

/* What a function of the caller's returned that may return EM_OK, a negative status, or, if ends, EM_END: with what it
 * filled err, or else `what' has failed. */
em_status emi_stream_user_status(em_status st, int ends, const char *what, em_errinfo *err);

/* It is a sort, whose options name so many bytes, or 0. */
void emi_stream_is_sort(em_stream *s, uint64_t named);

#endif
