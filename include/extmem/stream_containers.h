/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/stream_containers.h  Streams and sinks of sorters and containers.
 *
 * What is true of all streams and sinks is in extmem/stream.h and extmem/sink.h.  The context of a stream is that of
 * its container, and so is the size of its records.
 *
 * Containers and sorters stay the caller's, and live as long as the stream or sink.  A function of the caller's that
 * works for a container may not pull a stream of it, or push to a sink.  That is EM_ERR_BUSY, changes nothing, and the
 * next pull or push goes on.  What a pull or push returns is what the call of the container does that is named here;
 * the detail is that of the container.
 */
#ifndef EXTMEM_STREAM_CONTAINERS_H
#define EXTMEM_STREAM_CONTAINERS_H

#include <extmem/btree.h>
#include <extmem/deque.h>
#include <extmem/order.h>
#include <extmem/pq.h>
#include <extmem/queue.h>
#include <extmem/sink.h>
#include <extmem/sort.h>
#include <extmem/stack.h>
#include <extmem/stream.h>
#include <extmem/vector.h>

EM_BEGIN_DECLS

/*
 * Sorting.
 */

/**
 * A node: the records of a stream, sorted.  With the first pull it reads all of its input and forms runs, and has the
 * input give back its memory; from then on it merges while it is pulled.  opts may be NULL; its errinfo is not used.
 * With EM_SORT_UNIQUE there is one record of each group of equal ones.
 *
 * Where opts->memory is 0 the sorts of a graph share what the context has left when the first of them begins, less what
 * else the nodes take that live at the same time (em_stream_graph_info_get()).  So a sort that feeds another one leaves
 * it half.
 *
 * Returns also EM_ERR_INVAL (in or order is NULL, they are of two contexts or two sizes of records, a forced value of
 * opts is illegal), EM_ERR_NOTSUP (the order is of records of any length, and the stream is not; opts->compress),
 * EM_ERR_VERSION.
 * Pulling returns what em_sorter_open(), em_sorter_push(), em_sorter_finish() and em_sorter_next() do.
 * I/O: a write and a read of each record for each pass (em_sort_plan(), less the input and the output); nothing of what
 * fits in memory.
 */
EM_API EM_NODISCARD em_status em_stream_sort(em_stream **out, em_stream *in, const em_order *order,
					     const em_sort_opts *opts, em_errinfo *err);

/** Fill stats of the sort that a stream made by em_stream_sort() is, also after its end.  All zero before the first
 *  pull.  EM_OK; EM_ERR_INVAL: a pointer is NULL, or s is another kind of stream; EM_ERR_VERSION. */
EM_API EM_NODISCARD em_status em_stream_sort_stats_get(const em_stream *s, em_sort_stats *stats);

/** The records that a sorter is going to lend (em_sorter_next()), where they are, behind what is left in the window of
 *  its cursor.  It may still have to be finished, before the first pull.  EM_ERR_NOTSUP: they have any length. */
EM_API EM_NODISCARD em_status em_stream_sorter(em_stream **out, em_sorter *sorter, em_errinfo *err);

/** Push to a sorter (em_sorter_push()); em_sink_finish() is em_sorter_finish(). */
EM_API EM_NODISCARD em_status em_sink_sorter(em_sink **out, em_sorter *sorter, em_errinfo *err);

/*
 * Vectors.
 */

/**
 * The n records of a vector from a position on, or, with EM_VECTOR_REVERSE, the same from the last to the first; an n
 * of UINT64_MAX: all up to the end that the vector has now.  Reads as em_vector_reader_open() says, by a reader that is
 * open from the first pull to the end; backwards, records are copied once.
 *
 * Returns also EM_ERR_RANGE (the range is not in the vector), EM_ERR_INVAL (there is no such direction).
 * I/O: scan(n), ahead.
 */
EM_API EM_NODISCARD em_status em_stream_vector(em_stream **out, em_vector *v, uint64_t from, uint64_t n,
					       uint32_t direction, em_errinfo *err);

/** Write a vector from a position on, which is at most its length: over what is there, and behind the end
 *  (em_vector_writer_open()).  The writer is open from the first push to finish.  EM_ERR_RANGE: the position is behind
 *  the end.  I/O: scan(n), behind. */
EM_API EM_NODISCARD em_status em_sink_vector(em_sink **out, em_vector *v, uint64_t from, em_errinfo *err);

/**
 * Have all records of a stream in a vector, from a position on, which is at most its length: STXXL's materialize().
 * *end, which may be NULL, is the position behind the last one, also after a failure; to have nothing else behind them,
 * em_vector_resize(v, *end) chops.  The stream is left open, at its end.
 *
 * Returns: EM_OK; EM_ERR_INVAL (s or v is NULL, their records have two sizes); EM_ERR_RANGE; what em_stream_next() and
 * em_vector_writer_push() return.  em_stream_error(s) has the detail.
 */
EM_API EM_NODISCARD em_status em_stream_to_vector(em_stream *s, em_vector *v, uint64_t from, uint64_t *end);

/*
 * Stacks, queues, deques, priority queues.  Pulling takes records out, but for those of a deque.
 */

/** Pop from a stack (em_stack_pop_many()) until it is empty: what was pushed last comes first. */
EM_API EM_NODISCARD em_status em_stream_stack(em_stream **out, em_stack *stack, em_errinfo *err);
/** Push to it, the last record to the top (em_stack_push_many()). */
EM_API EM_NODISCARD em_status em_sink_stack(em_sink **out, em_stack *stack, em_errinfo *err);

/** Pop from a queue (em_queue_pop_many()) until it is empty. */
EM_API EM_NODISCARD em_status em_stream_queue(em_stream **out, em_queue *queue, em_errinfo *err);
/** Push to it (em_queue_push_many()). */
EM_API EM_NODISCARD em_status em_sink_queue(em_sink **out, em_queue *queue, em_errinfo *err);

/** Read n records of a deque from a position on, or backwards, as of a vector.  They stay.  A deque that was changed
 *  since the first pull has it end as em_deque_reader_next() says. */
EM_API EM_NODISCARD em_status em_stream_deque(em_stream **out, em_deque *deque, uint64_t from, uint64_t n,
					      uint32_t direction, em_errinfo *err);
/** Push behind its last record (em_deque_push_back_many()). */
EM_API EM_NODISCARD em_status em_sink_deque(em_sink **out, em_deque *deque, em_errinfo *err);

/** Drain a priority queue (em_pq_next()) until it is empty: records come sorted.  What is pushed meanwhile comes in its
 *  place among those that were not lent. */
EM_API EM_NODISCARD em_status em_stream_pq(em_stream **out, em_pq *queue, em_errinfo *err);
/** Push to it (em_pq_push_many()). */
EM_API EM_NODISCARD em_status em_sink_pq(em_sink **out, em_pq *queue, em_errinfo *err);

/*
 * B+-trees.
 */

/** The records of a tree from the first one whose key is not less than `from' to the last one whose key is less than
 *  `to', in order; NULL: from the first, to the last.  Keys (extmem/btree.h) are copied.  The tree may change meanwhile
 *  (em_btree_cursor_next_many()).  I/O: the way down, and a scan, ahead. */
EM_API EM_NODISCARD em_status em_stream_btree(em_stream **out, em_btree *tree, const void *from, const void *to,
					      em_errinfo *err);

/** Load a tree, which is empty when records come, with records in its order (em_btree_loader_push()); opts may be NULL,
 *  and its errinfo is not used.  EM_ERR_VERSION.  Without em_sink_finish() the tree is empty again.  I/O: a write for
 *  each block. */
EM_API EM_NODISCARD em_status em_sink_btree(em_sink **out, em_btree *tree, const em_btree_load_opts *opts,
					    em_errinfo *err);

EM_END_DECLS

#endif
