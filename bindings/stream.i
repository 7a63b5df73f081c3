/* SPDX-License-Identifier: BSL-1.0 */
/* Streams of all languages but Python: what stream.h makes beside the functions of the headers. */
%{
#include "stream.h"
%}
%constant int EMB_MAP = EMB_MAP;
%constant int EMB_FILTER = EMB_FILTER;
%constant int EMB_INSPECT = EMB_INSPECT;
%constant int EMB_FLAT_MAP = EMB_FLAT_MAP;
em_status emb_stream_source(em_stream **out, em_ctx *ctx, uint64_t record_bytes, uint64_t count,
			    emb_fn *EM_ASKED, em_errinfo *err);
em_status emb_stream_node(em_stream **out, em_stream *in, uint32_t what, uint64_t record_bytes,
			  emb_fn *EM_ASKED, em_errinfo *err);
em_status emb_stream_reduce(em_stream **out, em_stream *in, const em_order *order, emb_fn *EM_ASKED,
			    em_errinfo *err);
em_status emb_stream_progress(em_stream **out, em_stream *in, emb_fn *EM_ASKED, em_errinfo *err);
em_status emb_stream_join(em_stream **out, em_stream *left, em_stream *right, uint32_t kind,
			  const em_order *left_by, const em_order *right_by, uint64_t record_bytes,
			  const char *separator, uint64_t memory_bytes, emb_fn *EM_ASKED, em_errinfo *err);
em_status emb_stream_tee(em_stream **first, em_stream **second, em_stream *in, int spill, uint64_t buffer_bytes,
			 em_errinfo *err);
em_status emb_stream_window(em_stream **out, em_stream *in, uint64_t records, uint64_t step, em_errinfo *err);
em_status emb_stream_to_vector(em_stream *s, em_vector *to, uint64_t from, uint64_t *end, em_errinfo *err);
em_status emb_stream_to_sorter(em_stream *s, em_sorter *to, uint64_t *moved, em_errinfo *err);
em_status emb_stream_to_stack(em_stream *s, em_stack *to, uint64_t *moved, em_errinfo *err);
em_status emb_stream_to_queue(em_stream *s, em_queue *to, uint64_t *moved, em_errinfo *err);
em_status emb_stream_to_deque(em_stream *s, em_deque *to, uint64_t *moved, em_errinfo *err);
em_status emb_stream_to_pq(em_stream *s, em_pq *to, uint64_t *moved, em_errinfo *err);
em_status emb_stream_to_btree(em_stream *s, em_btree *to, uint64_t *moved, em_errinfo *err);
em_status emb_stream_to_file(em_stream *s, em_ctx *ctx, const char *path, uint64_t *moved, em_errinfo *err);
em_status emb_stream_split(em_stream **out, em_stream *in, em_sink *const *EM_SINKS, uint32_t EM_N, emb_fn *EM_ASKED,
			   em_errinfo *err);
em_status emb_stream_sort_reduce(em_stream **out, em_stream *in, const em_order *order, const em_sort_opts *opts,
				 emb_fn *EM_ASKED, em_errinfo *err);
em_status emb_stream_to_lines(em_stream *s, em_ctx *ctx, const char *path, const em_format *format, uint64_t *moved,
			      em_errinfo *err);
em_status emb_sink_function(em_sink **out, em_ctx *ctx, uint64_t record_bytes, emb_fn *EM_ASKED, em_errinfo *err);
em_status emb_sink_push_lines(em_sink *k, const void *records, const uint64_t *ends, uint64_t n);
em_status emb_runs_open(em_runs **out, em_ctx *ctx, const em_order *order, const em_runs_opts *opts,
			emb_fn *EM_ASKED, em_errinfo *err);
em_status emb_runs_feed(em_runs *r, em_stream *s, uint32_t flags, em_errinfo *err);
em_status emb_runs_merge(em_stream **out, em_runs *r, const void *from, const void *to, uint64_t skip, uint64_t take,
			 uint64_t memory, em_errinfo *err);
%include "extmem/sink.h"
%include "extmem/stream_lines.h"
%include "extmem/runs.h"
%include "extmem/stream.h"
%include "extmem/stream_nodes.h"
%include "extmem/stream_containers.h"
