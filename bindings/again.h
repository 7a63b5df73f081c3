/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Calls that make objects, which are made twice where the memory of the context is full.  A collector sees none of that
 * memory; so what nobody has any more may still be open.
 */
#ifndef EMB_AGAIN_H
#define EMB_AGAIN_H

#include "call.h"

/** Have the collector close what nobody has any more, if there is one: 1. */
static int emb_collected(void);

static EMB_OF_THREAD em_status emb_once;

#define EMB_AGAIN(call) ((emb_once = (call)) == EM_ERR_MEMLIMIT && emb_collected() ? (call) : emb_once)

/* A name is not replaced within what it stands for.  Orders by functions are not among these: they give up the function
 * when they fail. */
#define em_order_keys(...) EMB_AGAIN(em_order_keys(__VA_ARGS__))
#define em_order_parse(...) EMB_AGAIN(em_order_parse(__VA_ARGS__))
#define em_order_text(...) EMB_AGAIN(em_order_text(__VA_ARGS__))
#define emb_order_options(...) EMB_AGAIN(emb_order_options(__VA_ARGS__))
#define em_sorter_open(...) EMB_AGAIN(em_sorter_open(__VA_ARGS__))
#define em_top_open(...) EMB_AGAIN(em_top_open(__VA_ARGS__))
#define em_vector_open(...) EMB_AGAIN(em_vector_open(__VA_ARGS__))
#define em_vector_reader_open(...) EMB_AGAIN(em_vector_reader_open(__VA_ARGS__))
#define em_vector_writer_open(...) EMB_AGAIN(em_vector_writer_open(__VA_ARGS__))
#define em_deque_open(...) EMB_AGAIN(em_deque_open(__VA_ARGS__))
#define em_deque_reader_open(...) EMB_AGAIN(em_deque_reader_open(__VA_ARGS__))
#define em_stack_open(...) EMB_AGAIN(em_stack_open(__VA_ARGS__))
#define em_queue_open(...) EMB_AGAIN(em_queue_open(__VA_ARGS__))
#define em_pq_open(...) EMB_AGAIN(em_pq_open(__VA_ARGS__))
#define em_radix_heap_open(...) EMB_AGAIN(em_radix_heap_open(__VA_ARGS__))
#define em_btree_open(...) EMB_AGAIN(em_btree_open(__VA_ARGS__))
#define em_btree_open_file(...) EMB_AGAIN(em_btree_open_file(__VA_ARGS__))
#define em_btree_cursor_open(...) EMB_AGAIN(em_btree_cursor_open(__VA_ARGS__))
#define em_btree_loader_open(...) EMB_AGAIN(em_btree_loader_open(__VA_ARGS__))
#define em_runs_open(...) EMB_AGAIN(em_runs_open(__VA_ARGS__))
#define em_stream_vector(...) EMB_AGAIN(em_stream_vector(__VA_ARGS__))
#define em_stream_deque(...) EMB_AGAIN(em_stream_deque(__VA_ARGS__))
#define em_stream_stack(...) EMB_AGAIN(em_stream_stack(__VA_ARGS__))
#define em_stream_queue(...) EMB_AGAIN(em_stream_queue(__VA_ARGS__))
#define em_stream_btree(...) EMB_AGAIN(em_stream_btree(__VA_ARGS__))
#define em_stream_file(...) EMB_AGAIN(em_stream_file(__VA_ARGS__))
#define em_stream_lines(...) EMB_AGAIN(em_stream_lines(__VA_ARGS__))
#define em_sink_vector(...) EMB_AGAIN(em_sink_vector(__VA_ARGS__))
#define em_sink_btree(...) EMB_AGAIN(em_sink_btree(__VA_ARGS__))
#define em_sink_file(...) EMB_AGAIN(em_sink_file(__VA_ARGS__))
#define em_sink_lines(...) EMB_AGAIN(em_sink_lines(__VA_ARGS__))

#endif
