/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/stream_nodes.h  Nodes: streams that are made of other streams.
 *
 * What is true of all streams, who owns inputs, what fails how, and how large batches are, is in extmem/stream.h.
 * Sorting is in extmem/stream_containers.h.
 *
 *     em_stream_map(&s, in, sizeof(struct edge), to_edges, &graph, NULL);
 *
 * Functions of the caller's get many records at a time, which lie one behind the other at any address, and the `user'
 * that was given with them, which user_free frees (extmem/stream.h).  They return 0; anything else is a failure, and
 * the pull EM_ERR_USER.  They may use other objects, but not the graph that is calling them.
 *
 * Making a node returns, beside what is said there, EM_ERR_INVAL (a pointer is NULL, an input is of another context
 * than the others or comes twice), EM_ERR_STATE (it is the input of another node), and EM_ERR_BUSY (it is at work).
 * Orders are of the context of the inputs and for their records (EM_ERR_INVAL).  Records of any length, and a text
 * order of them (extmem/text.h), are EM_ERR_NOTSUP, but for nodes that say that they take them.
 *
 * Inputs may come from one tee (em_stream_tee()).  Where one path reads to the end before it lends, by a sort or
 * em_stream_reverse(), or where inputs are read one after the other, as by em_stream_concat(), the tee would have to
 * keep the whole stream for another path.  If its buffer may be too small for that, and has no EM_TEE_SPILL, the node
 * is not made: EM_ERR_MEMLIMIT, with a detail that names the outputs and what is on the paths.  Nor may a path have
 * em_stream_ahead(), as two threads would use the tee: EM_ERR_INVAL.
 *
 * Costs: no I/O but that of inputs, and a buffer of 16 KiB, unless something else is said.  Where an order is needed,
 * inputs must be sorted by it; of others the output is some, and there is no failure.
 */
#ifndef EXTMEM_STREAM_NODES_H
#define EXTMEM_STREAM_NODES_H

#include <extmem/order.h>
#include <extmem/stream.h>
#include <extmem/unique.h>

EM_BEGIN_DECLS

struct em_sink; /* extmem/sink.h */

/*
 * Record by record.
 */

/** Write for each of n records one to `to', where there is room for n of the size that was said. */
typedef int (*em_map_fn)(void *user, const void *records, size_t n, void *to);

/** One record of record_bytes for each record of a stream. */
EM_API EM_NODISCARD em_status em_stream_map(em_stream **out, em_stream *in, uint64_t record_bytes, em_map_fn fn,
					    void *user, void (*user_free)(void *user), em_errinfo *err);

/** Flags of em_stream_parallel_map(). */
#define EM_MAP_UNORDERED 1u /**< Batches are lent as they are ready, in any order. */

/**
 * The same as em_stream_map(), with a function that is called on all threads of the context, by several at a time and
 * in any order, for batches of up to 64 KiB, which are copied.  Records come in the order of the input, unless flags
 * say EM_MAP_UNORDERED.  Closing waits for what has begun.  EM_ERR_INVAL: a flag is unknown.  Memory: four batches for
 * each thread.
 */
EM_API EM_NODISCARD em_status em_stream_parallel_map(em_stream **out, em_stream *in, uint64_t record_bytes,
						     em_map_fn fn, void *user, void (*user_free)(void *user),
						     uint32_t flags, em_errinfo *err);

/** Say which of n records stay: keep[i] is 1, others are 0.  All are 0 before. */
typedef int (*em_filter_fn)(void *user, const void *records, size_t n, unsigned char *keep);

/** The records of a stream that a function keeps.  It gets at most 1024 of them at a time. */
EM_API EM_NODISCARD em_status em_stream_filter(em_stream **out, em_stream *in, em_filter_fn fn, void *user,
					       void (*user_free)(void *user), em_errinfo *err);

/** Look at n records that are on their way. */
typedef int (*em_inspect_fn)(void *user, const void *records, size_t n);

/** The records of a stream as they are, shown to a function before they are lent: to count, to add up, to check.  None
 *  is copied. */
EM_API EM_NODISCARD em_status em_stream_inspect(em_stream **out, em_stream *in, em_inspect_fn fn, void *user,
						void (*user_free)(void *user), em_errinfo *err);

/**
 * Make any number of records out of each: take some of *n records, and write some to `to', where there is room for
 * *room.  *n becomes how many were taken, and *room how many were written.  One record of which more is made than there
 * is room for is taken when the last of them is written; the function remembers how far it got.  At the end of the
 * input it is called with *n = 0, until it writes nothing.  Before that, to take and to write nothing is a failure.
 */
typedef int (*em_flat_map_fn)(void *user, const void *records, size_t *n, void *to, size_t *room);

/** Any number of records of record_bytes for each record of a stream. */
EM_API EM_NODISCARD em_status em_stream_flat_map(em_stream **out, em_stream *in, uint64_t record_bytes,
						 em_flat_map_fn fn, void *user, void (*user_free)(void *user),
						 em_errinfo *err);

/** What one of several inputs has in hand. */
typedef struct em_transform_in {
	const void *records;  /**< The next ones, ... */
	size_t n;             /**< ... and how many they are; 0 with `over'. */
	size_t taken;         /**< The function says how many of them it took; 0 before. */
	uint32_t over;        /**< There are none, and will be none. */
	uint32_t reserved;    /**< 0. */
} em_transform_in;

/** The same with n inputs, each of which has records in hand or is over.  When all are over it is called until it
 *  writes nothing. */
typedef int (*em_transform_fn)(void *user, em_transform_in *in, uint32_t n, void *to, size_t *room);

/** Records of record_bytes that a function makes of those of n streams, n > 0. */
EM_API EM_NODISCARD em_status em_stream_transform(em_stream **out, em_stream *const *inputs, uint32_t n,
						  uint64_t record_bytes, em_transform_fn fn, void *user,
						  void (*user_free)(void *user), em_errinfo *err);

/**
 * The records of a stream as they are, pulled ahead by a thread of its own: whatever is below this node works while the
 * program does something else with what came before; also of any length.  buffer_bytes: of what is pulled ahead, three
 * parts of it; 0: 192 KiB.  At least three records.  Of any length a fourth of it is for 8 bytes a record, and the rest
 * for what they have, at least three times 16 KiB, or a longer record.  If the system has no thread to give, nothing is
 * pulled ahead.
 *
 * From the first pull to the end of the stream, or until it is closed, what is below belongs to that thread: functions
 * of the caller's are called there, containers and sinks that it uses are not to be used, and its streams are not to be
 * told of.  The thread has a stack of 256 KiB, and gets no signals.  Closing waits for the function that it is in.
 * EM_ERR_RANGE: buffer_bytes is more than memory can have.
 */
EM_API EM_NODISCARD em_status em_stream_ahead(em_stream **out, em_stream *in, uint64_t buffer_bytes, em_errinfo *err);

/*
 * Several streams, and parts of one.
 */

/** The records of n streams, n > 0, one stream after the other; also of any length.  A stream is not pulled before its
 *  turn.  EM_ERR_INVAL: records of two sizes.  None is copied. */
EM_API EM_NODISCARD em_status em_stream_concat(em_stream **out, em_stream *const *inputs, uint32_t n, em_errinfo *err);

/** The i-th records of n streams, n > 0, one behind the other as one record, without gaps; up to the end of the
 *  shortest stream, of which others are read some records further.  Not of any length: nothing would tell where one
 *  ends and the next one begins. */
EM_API EM_NODISCARD em_status em_stream_zip(em_stream **out, em_stream *const *inputs, uint32_t n, em_errinfo *err);

/** All records of a stream, also of any length, but for the first `skip', and of these the first `take';
 *  EM_STREAM_UNKNOWN: all.  Those that are skipped are read; those behind the last are not.  None is copied. */
EM_API EM_NODISCARD em_status em_stream_slice(em_stream **out, em_stream *in, uint64_t skip, uint64_t take,
					      em_errinfo *err);

/** The records of a stream from the last to the first.  With the first pull it reads all of its input to a stack
 *  (extmem/stack.h) of memory_bytes; 0: as em_stack_open() chooses.  Pulling returns also what that does, and pushing
 *  and popping.  I/O: a write and a read of what does not fit there. */
EM_API EM_NODISCARD em_status em_stream_reverse(em_stream **out, em_stream *in, uint64_t memory_bytes,
						em_errinfo *err);

/** Say where n records go: to[i] is 0: it is lent; or k: it is pushed to sinks[k - 1].  All are 0 before. */
typedef int (*em_split_fn)(void *user, const void *records, size_t n, uint32_t *to);

/**
 * The records of a stream that a function keeps, while it sends others to n sinks, n > 0, which it gets at most 1024 at
 * a time for.  Records of a sink come in their order, before the stream lends any behind them.  The array is copied.
 * Sinks stay the caller's, who finishes them when the stream is at its end.  They live as long as the stream.
 * What a push fails with is what the pull does, and stays.  Of records of any length: em_stream_lines_split().
 *
 * Returns also EM_ERR_INVAL (there are no sinks; one is NULL, of another context or size of records, or comes twice).
 */
EM_API EM_NODISCARD em_status em_stream_split(em_stream **out, em_stream *in, struct em_sink *const *sinks, uint32_t n,
					      em_split_fn fn, void *user, void (*user_free)(void *user),
					      em_errinfo *err);

/** Flags of a tee. */
#define EM_TEE_SPILL 1u /**< What does not fit in its buffer goes to scratch. */

typedef struct em_tee_opts {
	uint32_t size;          /**< sizeof(em_tee_opts); set by the initialiser. */
	uint32_t flags;         /**< EM_TEE_... */
	uint64_t buffer_bytes;  /**< For records that one output did not lend yet and another one did; 0: a 64th of the
	                             context's memory.  At least a record.  Records of any length take 8 bytes more
	                             than they have, and so many of them as come together 16. */
} em_tee_opts;
#define EM_TEE_OPTS_INIT { sizeof(em_tee_opts), 0, 0 }
/** As EM_TEE_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_tee_opts_init(em_tee_opts *out, size_t bytes);

/**
 * The records of a stream several times: out[] are n streams, n > 0, each of which has all of them.  They are closed
 * one by one, or are inputs of other nodes.  opts may be NULL.
 *
 * What one output has read and another one has not is kept in a buffer for each.  When it is full the pull that would
 * need more fails with EM_ERR_MEMLIMIT, which stays for that output, and the others go on; or, with EM_TEE_SPILL, the
 * records go to a queue on scratch disks, for one write and one read each.  An output that was closed needs none.
 *
 * A graph in which one output has to be read to its end before another one, such as a sort beside a merge, needs
 * EM_TEE_SPILL, or a buffer for all.  Where outputs come together in a node, making that finds out (see above).
 *
 * Of records of any length (extmem/stream_lines.h) one that is longer than the buffer cannot be kept, either.
 *
 * After a failure out[] are NULL.  EM_ERR_VERSION, EM_ERR_RANGE (buffer_bytes is less than a record of one size).
 */
EM_API EM_NODISCARD em_status em_stream_tee(em_stream **out, uint32_t n, em_stream *in, const em_tee_opts *opts,
					    em_errinfo *err);

/*
 * Sorted streams.
 */

/** The records of n sorted streams, n > 0, sorted; equal ones in the order of the inputs; also of any length.  Memory:
 *  64 KiB or more, by the order and n; of records of any length for each input 20 KiB, or its longest record with its
 *  key. */
EM_API EM_NODISCARD em_status em_stream_merge(em_stream **out, em_stream *const *inputs, uint32_t n,
					      const em_order *order, em_errinfo *err);

/** The first record of each group of equal neighbours; also of any length.  flags: EM_UNIQUE_COUNT (extmem/unique.h):
 *  followed by how many they were, a uint64_t in the byte order of the machine, without a gap; so records have 8 bytes
 *  more.  One of any length is preceded by its count in decimal digits and one tab, as em_unique_files() writes lines:
 *  "3<TAB>line"; memory for these is 48 KiB, or three times the longest record with its key. */
EM_API EM_NODISCARD em_status em_stream_unique(em_stream **out, em_stream *in, const em_order *order, uint32_t flags,
					       em_errinfo *err);

/** Add n records, n > 0, which are equal to `sum', to it. */
typedef int (*em_reduce_fn)(void *user, void *sum, const void *records, size_t n);

/** One record for each group of equal neighbours: a copy of the first one, to which a function adds the others.  Of
 *  records of any length: em_stream_lines_reduce() (extmem/stream_lines.h). */
EM_API EM_NODISCARD em_status em_stream_reduce(em_stream **out, em_stream *in, const em_order *order, em_reduce_fn fn,
					       void *user, void (*user_free)(void *user), em_errinfo *err);

/** What to take of two sorted streams, of which equal records count as often as they come (as C++'s std::set_union()
 *  and others do). */
enum {
	EM_SET_UNION = 0,        /**< A record that is m times in a and n times in b: max(m, n) times, first those of
	                              a; */
	EM_SET_INTERSECTION = 1, /**< min(m, n) times, those of a; */
	EM_SET_DIFFERENCE = 2,   /**< m - n times, if that is more than 0, the last of a; */
	EM_SET_SYMMETRIC = 3     /**< |m - n| times, the last of either. */
};

/** A set operation on two sorted streams; also of records of any length.  EM_ERR_INVAL: there is no such operation. */
EM_API EM_NODISCARD em_status em_stream_set(em_stream **out, em_stream *a, em_stream *b, const em_order *order,
					    uint32_t operation, em_errinfo *err);

/** Kinds of joins. */
enum {
	EM_JOIN_INNER = 0, /**< Each pair of a left and a right record with equal keys. */
	EM_JOIN_LEFT = 1,  /**< Those, and left records without a right one. */
	EM_JOIN_FULL = 2,  /**< Those, and right records without a left one. */
	EM_JOIN_SEMI = 3,  /**< Left records with a right one, once each. */
	EM_JOIN_ANTI = 4   /**< Left records without a right one. */
};

/** Make a record of a pair; left or right is NULL where there is none. */
typedef int (*em_join_fn)(void *user, const void *left, const void *right, void *to);

typedef struct em_join_opts {
	uint32_t size;          /**< sizeof(em_join_opts); set by the initialiser. */
	uint32_t kind;          /**< EM_JOIN_... */
	const em_key *left;     /**< The key of left records: nkeys fields, by which they are sorted, as by
	                             em_order_keys(). */
	const em_key *right;    /**< That of right ones: of the same types, widths and flags, at any offsets. */
	uint32_t nkeys;         /**< At least 1. */
	uint32_t reserved;
	uint64_t record_bytes;  /**< Of what fn makes; without it 0. */
	em_join_fn fn;          /**< NULL: the left record and then the right one, without a gap, zeros in the place of
	                             one that is missing; EM_JOIN_SEMI, EM_JOIN_ANTI: the left record. */
	void *user;             /**< Of fn. */
	uint64_t memory_bytes;  /**< For the right records of one key; 0: an eighth of the context's memory. */
	void (*user_free)(void *user); /**< Of user (extmem/stream.h), unless em_stream_join() fails with
	                             EM_ERR_VERSION; NULL: nothing is called. */
	void *reserved_last;    /**< NULL. */
} em_join_opts;
#define EM_JOIN_OPTS_INIT { sizeof(em_join_opts), 0, NULL, NULL, 0, 0, 0, NULL, NULL, 0, NULL, NULL }
/** As EM_JOIN_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_join_opts_init(em_join_opts *out, size_t bytes);

/**
 * Join two streams that are sorted by their keys.  Pairs come in the order of the keys, of one key by the left record
 * and then by the right one.  Right records of one key are kept in memory while left ones with that key come; more of
 * them than opts->memory_bytes hold is EM_ERR_MEMLIMIT: have the stream with fewer equal keys on the right.
 *
 * Returns also EM_ERR_INVAL (no such kind; keys are missing, illegal, or differ in more than their offsets;
 * record_bytes without fn, or fn without it), EM_ERR_RANGE (a key reaches past the end of a record), EM_ERR_VERSION.
 */
EM_API EM_NODISCARD em_status em_stream_join(em_stream **out, em_stream *left, em_stream *right,
					     const em_join_opts *opts, em_errinfo *err);

/*
 * Neighbours.
 */

/** The records of a stream, in each of which a field has become its sum with those of all records before.  type:
 *  EM_KEY_U64, EM_KEY_I64 (both wrap around) or EM_KEY_F64, in the byte order of the machine, at any offset.
 *  EM_ERR_INVAL: another type; EM_ERR_RANGE: the field reaches past the end of the record. */
EM_API EM_NODISCARD em_status em_stream_prefix_sum(em_stream **out, em_stream *in, uint64_t offset, int32_t type,
						   em_errinfo *err);

/** Each window of so many neighbours as one record, without gaps: the first begins with the first record, and each next
 *  one `step' records later; what is less than a window at the end is left out.  EM_ERR_RANGE: records or step is 0, or
 *  a window has more than EM_STREAM_RECORD_MAX bytes.  Memory: two windows more. */
EM_API EM_NODISCARD em_status em_stream_window(em_stream **out, em_stream *in, uint64_t records, uint64_t step,
					       em_errinfo *err);

EM_END_DECLS

#endif
