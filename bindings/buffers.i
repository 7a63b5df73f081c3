/* SPDX-License-Identifier: BSL-1.0 */
/* Which arguments of the headers are what. */

/* Options, by name; and what is told of an object. */
EM_OPTIONS(em_ctx_opts)
EM_OPTIONS(em_text_opts)
EM_OPTIONS(em_format)
EM_OPTIONS(em_sort_opts)
EM_OPTIONS(em_unique_opts)
EM_OPTIONS(em_shuffle_opts)
EM_OPTIONS(em_check_opts)
EM_OPTIONS(em_container_opts)
EM_OPTIONS(em_vector_opts)
EM_OPTIONS(em_vector_stream_opts)
EM_OPTIONS(em_deque_reader_opts)
EM_OPTIONS(em_pq_opts)
EM_OPTIONS(em_radix_heap_opts)
EM_OPTIONS(em_btree_opts)
EM_OPTIONS(em_btree_load_opts)
EM_OPTIONS(em_file_opts)
EM_OPTIONS(em_disks_opts)
EM_OPTIONS(em_block_pool_opts)
EM_OPTIONS(em_cache_opts)
EM_OPTIONS(em_tee_opts)
EM_OPTIONS(em_runs_opts)
EM_OPTIONS(em_block_writer_opts)
EM_OPTIONS(em_block_reader_opts)

%apply em_sort_stats *EM_SORT_STATS { em_sort_stats *stats };
EM_TOLD(em_sort_plan_info, info)
EM_TOLD(em_check_info, info)
EM_TOLD(em_container_stats, stats)
EM_TOLD(em_vector_stats, stats)
EM_TOLD(em_pq_stats, stats)
EM_TOLD(em_pq_plan_info, info)
EM_TOLD(em_radix_heap_stats, stats)
EM_TOLD(em_radix_heap_plan_info, info)
EM_TOLD(em_btree_stats, stats)
EM_TOLD(em_io_stats, stats)
EM_TOLD(em_disks_stats, stats)
EM_TOLD(em_block_pool_stats, stats)
EM_TOLD(em_cache_stats, stats)
EM_TOLD(em_block_list_info, info)
EM_TOLD(em_runs_info, info)
EM_TOLD(em_stream_graph_info, info)

/* Records of the receiver's size, side by side; room for them. */
%apply (const void *EM_RECORDS, uint64_t EM_N) { (const void *records, uint64_t n), (const void *records, size_t n) };
%apply (void *EM_ROOM, uint64_t EM_N) { (void *records, uint64_t n) };
%apply (const void *EM_KEYS, uint64_t EM_N) { (const void *keys, uint64_t n) };
%apply (const void *EM_KEYS, uint64_t EM_N, void *EM_FOUND, uint8_t *EM_IS) {
	(const void *keys, uint64_t n, void *records, uint8_t *found)
};
%apply (const uint64_t *EM_POSITIONS, uint64_t EM_N, void *EM_FOUND) {
	(const uint64_t *positions, uint64_t n, void *records)
};
%apply (const void *EM_RECORDS, const uint64_t *EM_ENDS, uint64_t EM_N) {
	(const void *records, const uint64_t *ends, uint64_t n)
};

/* One record in, one out; one key. */
%apply const void *EM_RECORD {
	const void *record, const void *bound, const void *pushed, const void *a, const void *b
};
%apply void *EM_RECORD_OUT { void *record, void *popped };
%apply const void *EM_KEY { const void *key, const void *from, const void *to };
%apply const em_batch **EM_BATCH { const em_batch **batch };

/* Bytes. */
%apply (const void *EM_BYTES, size_t EM_NBYTES) {
	(const void *a, size_t na), (const void *b, size_t nb), (const void *record, size_t n),
	(const void *data, size_t n), (const void *buf, size_t bytes), (const void *records, size_t bytes)
};
%apply (void *EM_BUF, size_t EM_NBYTES) { (void *buf, size_t bytes) };

/* Numbers that are results.  EM_DONE is known after a failure, too. */
%apply uint64_t *EM_DONE {
	uint64_t *moved, uint64_t *end, uint64_t *pushed, uint64_t *popped, uint64_t *erased, uint64_t *inserted };
%apply uint64_t *EM_NUMBER {
	uint64_t *n, uint64_t *got, uint64_t *n_found, uint64_t *left, uint64_t *position, uint64_t *count,
	uint64_t *middle
};
%apply uint64_t *EM_NUMBER { uint64_t *bytes, uint64_t *out };
%apply size_t *EM_SIZE { size_t *begin, size_t *end, size_t *moved };
%apply int *EM_INT { int *result };

/* Texts: of the file system, or names. */
%apply const char *EM_PATH { const char *path, const char *output, const char *field };
%apply (const char *const *EM_PATHS, uint32_t EM_N) { (const char *const *inputs, uint32_t ninputs) };

/* Streams that become a part of the one that is made, and are no longer the caller's. */
%apply em_stream *EM_INPUT { em_stream *in, em_stream *a, em_stream *b, em_stream *left, em_stream *right };
%apply (em_stream *const *EM_INPUTS, uint32_t EM_N) { (em_stream *const *inputs, uint32_t n) };
%apply const em_format *opts { const em_format *format };
#ifdef SWIGPYTHON
%apply (em_stream **EM_OUTS, uint32_t EM_N) { (em_stream **out, uint32_t n) };
%apply (struct em_sink *const *EM_SINKS, uint32_t EM_N) {
	(struct em_sink *const *sinks, uint32_t n), (em_sink *const *sinks, uint32_t n)
};
#endif
%apply (const char *const *EM_PATHS, uint32_t EM_N) { (const char *const *paths, uint32_t n) };

/* Keys. */
%apply (const em_key *EM_KEY_LIST, uint32_t EM_N) { (const em_key *keys, uint32_t n) };
%apply (const em_text_key *EM_TEXT_KEYS, uint32_t EM_N) { (const em_text_key *keys, uint32_t n) };

/* Ranges: the keys of either end may be missing, so each end has a number of its own. */
%rename(em_btree_for_each_many) emb_btree_for_each_many;
%ignore em_btree_for_each_many;
%apply (const void *EM_KEYS_OR_NONE, uint64_t EM_N) {
	(const void *from, uint64_t nfrom), (const void *to, uint64_t nto)
};
%{
static em_status emb_btree_for_each_many(em_btree *t, const void *from, uint64_t nfrom, const void *to, uint64_t nto,
					 em_btree_visit_fn fn, void *user)
{
	char why[100];

	if (from && to && nfrom != nto) {
		snprintf(why, sizeof why, "%llu ranges begin, and %llu end", (unsigned long long)nfrom,
			 (unsigned long long)nto);
		return emb_unfit_word(&emb_call.detail, why);
	}
	if (!from && !to)
		return emb_unfit_word(&emb_call.detail, "keys where ranges begin, or where they end, are wanted");
	return em_btree_for_each_many(t, from, to, from ? nfrom : nto, fn, user);
}
%}

/* Blocks. */
%apply (em_bid *EM_BIDS_OUT, size_t EM_N) { (em_bid *bid, size_t n) };
%apply (const em_bid *EM_BIDS, size_t EM_N) { (const em_bid *bid, size_t n) };
%apply (em_request *const *EM_REQUESTS, uint32_t EM_N) { (em_request *const *list, uint32_t n) };
/* A pool exchanges buffers for reading, which must be its own: here it is a copy. */
%rename(em_block_pool_read) emb_block_pool_read;
%ignore em_block_pool_read;
%{
static em_status emb_block_pool_read(em_block_pool *p, em_bid bid, void *buf, size_t bytes)
{
	em_status st;
	void *own;

	st = em_block_pool_lend(p, &own);
	if (st)
		return st;
	st = em_block_pool_read(p, &own, bid);
	if (!st && bytes <= emb_call.record_bytes)
		memcpy(buf, own, bytes);
	return em_block_pool_return(p, own) && !st ? EM_ERR_STATE : st;
}
%}
%apply void **EM_LENT { void **buf };
%apply void *EM_RETURNED { void *buf };

/* Blocks of a cache are pinned for as long as they are copied. */
%rename(em_cache_read) emb_cache_read;
%rename(em_cache_write) emb_cache_write;
%{
static em_status emb_cache_copied(const void *buf, size_t bytes)
{
	return bytes == emb_call.record_bytes && buf ? EM_OK : EM_ERR_INVAL;
}

static em_status emb_cache_read(em_cache *c, em_bid bid, void *buf, size_t bytes)
{
	void *block;
	em_status st = emb_cache_copied(buf, bytes);

	if (!st)
		st = em_cache_get(c, bid, EM_CACHE_READ, &block);
	if (st)
		return st;
	memcpy(buf, block, bytes);
	return em_cache_unpin(c, block, 0);
}

static em_status emb_cache_write(em_cache *c, em_bid bid, const void *buf, size_t bytes)
{
	void *block;
	em_status st = emb_cache_copied(buf, bytes);

	if (!st)
		st = em_cache_get(c, bid, EM_CACHE_FRESH, &block);
	if (st)
		return st;
	memcpy(block, buf, bytes);
	return em_cache_unpin(c, block, 1);
}
%}
