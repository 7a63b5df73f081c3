/* SPDX-License-Identifier: BSL-1.0 */
/* The kinds of handles: type, shared, part, cancel, error, bytes of a record and of a key.  Functions are called
 * through those that take a void *, as C wants it. */
#ifndef EMB_KINDS_H
#define EMB_KINDS_H

#include "call.h"

#define EMB_CLOSE(t) static void emb_close_##t(void *p) { t##_close((t *)p); }
#define EMB_ERROR(t) static void emb_error_##t(const void *p, em_errinfo *e) { t##_error((const t *)p, e); }
#define EMB_CANCEL(t) static void emb_cancel_##t(void *p) { t##_cancel((t *)p); }
#define EMB_BYTES(t, what) static uint64_t emb_##what##_##t(const void *p) { return t##_##what((const t *)p); }

/* Of what has records: a container. */
#define EMB_HOLDER(t) EMB_CLOSE(t) EMB_ERROR(t) EMB_BYTES(t, record_bytes)

/* A request goes on when it is closed, and its memory must live: it is waited for. */
static void emb_close_em_request(void *p)
{
	(void)!em_request_wait((em_request *)p);
	em_request_close((em_request *)p);
}

EMB_CLOSE(em_ctx)
EMB_CLOSE(em_order)
EMB_BYTES(em_order, record_size)
EMB_CLOSE(em_sorter)
EMB_ERROR(em_sorter)
EMB_CANCEL(em_sorter)
EMB_CLOSE(em_top)
EMB_ERROR(em_top)
EMB_CANCEL(em_top)
EMB_HOLDER(em_vector)
EMB_CANCEL(em_vector)
EMB_CLOSE(em_vector_reader)
EMB_ERROR(em_vector_reader)
EMB_CLOSE(em_vector_writer)
EMB_ERROR(em_vector_writer)
EMB_HOLDER(em_deque)
EMB_CANCEL(em_deque)
EMB_CLOSE(em_deque_reader)
EMB_ERROR(em_deque_reader)
EMB_HOLDER(em_stack)
EMB_CANCEL(em_stack)
EMB_HOLDER(em_queue)
EMB_CANCEL(em_queue)
EMB_HOLDER(em_pq)
EMB_CANCEL(em_pq)
EMB_HOLDER(em_radix_heap)
EMB_CANCEL(em_radix_heap)
EMB_HOLDER(em_btree)
EMB_CANCEL(em_btree)
EMB_BYTES(em_btree, key_bytes)
EMB_CLOSE(em_btree_cursor)
EMB_ERROR(em_btree_cursor)
EMB_CLOSE(em_btree_loader)
EMB_ERROR(em_btree_loader)
EMB_CLOSE(em_runs)
EMB_ERROR(em_runs)
EMB_CANCEL(em_runs)
EMB_CLOSE(em_stream)
EMB_ERROR(em_stream)
EMB_BYTES(em_stream, record_bytes)
EMB_CLOSE(em_sink)
EMB_ERROR(em_sink)
EMB_BYTES(em_sink, record_bytes)
EMB_CLOSE(em_disks)
EMB_ERROR(em_disks)
EMB_CLOSE(em_block_list)
EMB_ERROR(em_block_list)
EMB_CLOSE(em_block_writer)
EMB_ERROR(em_block_writer)
EMB_CLOSE(em_block_reader)
EMB_ERROR(em_block_reader)
EMB_CLOSE(em_file)
EMB_ERROR(em_file)
EMB_ERROR(em_request)
EMB_CLOSE(em_block_pool)
EMB_ERROR(em_block_pool)
EMB_CANCEL(em_block_pool)
EMB_CLOSE(em_cache)
EMB_ERROR(em_cache)
EMB_CANCEL(em_cache)
EMB_CANCEL(em_ctx)

#define EMB_NAME(t) static const struct emb_kind emb_kind_##t
#define EMB_KIND(t, s, p, c, e, r, k) EMB_NAME(t) = { #t, s, p, 0, emb_close_##t, c, e, r, k };
#define EMB_WATCHED(t, s, p, c, e, r, k) EMB_NAME(t) = { #t, s, p, 1, emb_close_##t, c, e, r, k };

EMB_KIND(em_ctx, 1, 0, emb_cancel_em_ctx, NULL, NULL, NULL)
EMB_KIND(em_order, 1, 0, NULL, NULL, emb_record_size_em_order, NULL)
EMB_WATCHED(em_sorter, 0, 0, emb_cancel_em_sorter, emb_error_em_sorter, NULL, NULL)
EMB_WATCHED(em_top, 0, 0, emb_cancel_em_top, emb_error_em_top, NULL, NULL)
EMB_KIND(em_vector, 0, 0, emb_cancel_em_vector, emb_error_em_vector, emb_record_bytes_em_vector, NULL)
EMB_KIND(em_vector_reader, 0, 1, NULL, emb_error_em_vector_reader, NULL, NULL)
EMB_KIND(em_vector_writer, 0, 1, NULL, emb_error_em_vector_writer, NULL, NULL)
EMB_KIND(em_deque, 0, 0, emb_cancel_em_deque, emb_error_em_deque, emb_record_bytes_em_deque, NULL)
EMB_KIND(em_deque_reader, 0, 1, NULL, emb_error_em_deque_reader, NULL, NULL)
EMB_KIND(em_stack, 0, 0, emb_cancel_em_stack, emb_error_em_stack, emb_record_bytes_em_stack, NULL)
EMB_KIND(em_queue, 0, 0, emb_cancel_em_queue, emb_error_em_queue, emb_record_bytes_em_queue, NULL)
EMB_KIND(em_pq, 0, 0, emb_cancel_em_pq, emb_error_em_pq, emb_record_bytes_em_pq, NULL)
EMB_KIND(em_radix_heap, 0, 0, emb_cancel_em_radix_heap, emb_error_em_radix_heap, emb_record_bytes_em_radix_heap, NULL)
EMB_KIND(em_btree, 0, 0, emb_cancel_em_btree, emb_error_em_btree, emb_record_bytes_em_btree, emb_key_bytes_em_btree)
EMB_KIND(em_btree_cursor, 0, 1, NULL, emb_error_em_btree_cursor, NULL, NULL)
EMB_KIND(em_btree_loader, 0, 1, NULL, emb_error_em_btree_loader, NULL, NULL)
EMB_KIND(em_runs, 0, 0, emb_cancel_em_runs, emb_error_em_runs, NULL, NULL)
EMB_KIND(em_stream, 0, 0, NULL, emb_error_em_stream, emb_record_bytes_em_stream, NULL)
EMB_KIND(em_sink, 0, 0, NULL, emb_error_em_sink, emb_record_bytes_em_sink, NULL)
EMB_KIND(em_disks, 1, 0, NULL, emb_error_em_disks, NULL, NULL)
EMB_KIND(em_block_list, 0, 0, NULL, emb_error_em_block_list, NULL, NULL)
EMB_KIND(em_block_writer, 0, 0, NULL, emb_error_em_block_writer, NULL, NULL)
EMB_KIND(em_block_reader, 0, 1, NULL, emb_error_em_block_reader, NULL, NULL)
EMB_KIND(em_file, 1, 0, NULL, emb_error_em_file, NULL, NULL)
EMB_KIND(em_request, 1, 0, NULL, emb_error_em_request, NULL, NULL)
EMB_KIND(em_cache, 0, 0, emb_cancel_em_cache, emb_error_em_cache, NULL, NULL)
EMB_KIND(em_block_pool, 0, 0, emb_cancel_em_block_pool, emb_error_em_block_pool, NULL, NULL)

#endif
