/* SPDX-License-Identifier: BSL-1.0 */
/*
 * The one interface that all languages are made from: the public headers, read by SWIG.
 *
 *   handles.i     which types are handles
 *   buffers.i     which arguments are records, memory, results, paths, options
 *   callbacks.i   which are functions of the caller's
 *   names.i       what is left out, and why
 *
 * They say what arguments are, and apply typemaps with names in capital letters to them.  How a language has these
 * is in LANGUAGE/typemaps.i, and what is natural there in a facade over the module, which is private.
 */
%module extmem

#ifdef SWIGPYTHON
#pragma SWIG nowarn=314
#endif

/* Not stdint.i: it would say which type of C each is, and what is generated is for all machines. */
%apply unsigned char { uint8_t };
%apply int { int32_t };
%apply unsigned int { uint32_t };
%apply unsigned long long { uint64_t };

%{
#include "call.h"
#include "kinds.h"
#include "fields.h"
#include "keys.h"
#include "lend.h"
#ifndef SWIGPYTHON
#include <extmem/runs.h>
#include <extmem/sink.h>
#include <extmem/stream_lines.h>
#include "again.h"
#endif
%}

#ifdef SWIGPYTHON
%include "python/typemaps.i"
#endif
#if defined(SWIGLUA) || defined(SWIGPERL) || defined(SWIGRUBY) || defined(SWIGTCL)
#define EMB_SCRIPT
#pragma SWIG nowarn=453
%include "script/typemaps.i"
#endif
/* Languages whose facades hand over numbers and bytes. */
#ifdef EM_FLAT
%include "typemaps.i"
%include "flat/names.i"
#endif

%include "handles.i"
%include "buffers.i"
%include "callbacks.i"
%include "names.i"

%include "extmem/base.h"
%include "status.i"
%include "extmem/batch.h"
%include "extmem/ctx.h"
%include "extmem/disk.h"
%include "extmem/order.h"
%include "extmem/text.h"
%include "extmem/format.h"
%include "extmem/progress.h"
%include "extmem/sort.h"
%include "extmem/top.h"
%include "extmem/unique.h"
%include "extmem/shuffle.h"
%include "extmem/check.h"
%include "extmem/container.h"
%include "extmem/vector.h"
%include "extmem/vector_scan.h"
%include "extmem/deque.h"
%include "extmem/stack.h"
%include "extmem/queue.h"
%include "extmem/pq.h"
%include "extmem/radix_heap.h"
%include "extmem/btree.h"
%include "extmem/sys/io_stats.h"
#ifdef EMB_SCRIPT
%include "script/names.i"
#endif
#ifndef SWIGPYTHON
%include "stream.i"
#endif
%{
#include "walk.h"
%}
em_status emb_btree_walk(em_btree_cursor *cursor, const void *from, const void *to, int begin, int back,
			 void *record);
#ifndef EMB_SCRIPT
em_status emb_order_options(em_order **out, em_ctx *ctx, const char *text, em_errinfo *err);
em_status emb_stream_sums(em_stream **out, em_stream *in, const char *field, em_errinfo *err);
#endif
%rename(em_sorter_back) emb_sorter_back;
%rename(em_top_back) emb_top_back;
%rename(em_stream_back) emb_stream_back;
em_status emb_sorter_back(const em_sorter *s, uint64_t mark, uint64_t n, uint64_t *got);
em_status emb_top_back(const em_top *t, uint64_t mark, uint64_t n, uint64_t *got);
em_status emb_stream_back(const em_stream *s, uint64_t mark, uint64_t n, uint64_t *got);
em_status emb_btree_for_each_many(em_btree *t, const void *from, uint64_t nfrom, const void *to, uint64_t nto,
				  em_btree_visit_fn fn, void *user);
#ifdef EM_FLAT
%apply (void *EM_ROOM, uint64_t EM_N) { (void *records, uint64_t n) };
em_status emb_read(em_sorter *s, void *records, uint64_t n, uint64_t *got);
#elif !defined(EMB_SCRIPT)
%include "extmem/stream.h"
%include "extmem/sink.h"
%include "extmem/stream_nodes.h"
%include "extmem/stream_containers.h"
%include "extmem/stream_lines.h"
%include "extmem/runs.h"
%include "extmem/sys/backend.h"
%include "extmem/sys/file.h"
/* Memory of requests, which keep it. */
%apply (void *EM_HELD, size_t EM_BYTES) { (void *buf, size_t bytes) };
%apply (const void *EM_HELD, size_t EM_BYTES) { (const void *buf, size_t bytes) };
%include "extmem/sys/request.h"
%include "extmem/sys/placement.h"
%include "extmem/sys/block.h"
%include "extmem/sys/pool.h"
%include "extmem/sys/block_stream.h"
%clear (void *buf, size_t bytes);
%clear (const void *buf, size_t bytes);
%apply (void *EM_BUF, size_t EM_NBYTES) { (void *buf, size_t bytes) };
%apply (const void *EM_BYTES, size_t EM_NBYTES) { (const void *buf, size_t bytes) };
%rename(em_stream_iterate) emb_stream_iterate;
em_status emb_stream_iterate(em_stream **out, em_ctx *ctx, uint64_t record_bytes, uint64_t count, PyObject *iterator,
			     em_errinfo *err);
%rename(em_stream_join) emb_stream_join;
%apply const char *EM_PATH { const char *left, const char *right };
em_status emb_stream_join(em_stream **out, em_stream *a, em_stream *b, uint32_t kind, const char *left,
			  const char *right, uint64_t memory_bytes, uint64_t record_bytes, void *user,
			  void (*user_free)(void *user), em_errinfo *err);
%rename(em_stream_lines_join) emb_stream_lines_join;
em_status emb_stream_lines_join(em_stream **out, em_stream *a, em_stream *b, uint32_t kind, const em_order *left,
				const em_order *right, uint64_t memory_bytes, uint32_t separator, void *user,
				void (*user_free)(void *user), em_errinfo *err);
%rename(em_sink_function) emb_sink_function;
em_status emb_sink_function(em_sink **out, em_ctx *ctx, uint64_t record_bytes, void *user,
			    void (*user_free)(void *user), em_errinfo *err);
%rename(em_sink_push_lines) emb_sink_push_lines;
em_status emb_sink_push_lines(em_sink *k, const void *records, const uint64_t *ends, uint64_t n);
%rename(em_runs_open) emb_runs_open;
em_status emb_runs_open(em_runs **out, em_ctx *ctx, const em_order *order, const em_runs_opts *opts, void *user,
			void (*user_free)(void *user), em_errinfo *err);
%rename(em_runs_feed) emb_runs_feed;
em_status emb_runs_feed(em_runs *r, em_stream *s, uint32_t flags, em_errinfo *err);
%rename(em_runs_merge) emb_runs_merge;
em_status emb_runs_merge(em_stream **out, em_runs *r, const void *from, const void *to, uint64_t skip, uint64_t take,
			 uint64_t memory, em_errinfo *err);
%rename(em_block_reader_back) emb_block_reader_back;
em_status emb_block_reader_back(const em_block_reader *r, uint64_t mark, uint64_t n, uint64_t *got);
em_status emb_block_pool_read(em_block_pool *p, em_bid bid, void *buf, size_t bytes);
%include "extmem/sys/cache.h"
em_status emb_cache_read(em_cache *c, em_bid bid, void *buf, size_t bytes);
em_status emb_cache_write(em_cache *c, em_bid bid, const void *buf, size_t bytes);
#endif
