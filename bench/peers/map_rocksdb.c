/* SPDX-License-Identifier: BSL-1.0 */
/* RocksDB C API: no WAL, no compression, 32 KiB blocks, O_DIRECT reads and
 * compaction, 3/4 of --cache block cache + 1/4 write buffer; bulk by SST ingest. */
#include "peer_common.h"
#include <rocksdb/c.h>
#define BE_NAME "rocksdb"
static rocksdb_t *D;
static rocksdb_options_t *O;
static rocksdb_writeoptions_t *W;
static rocksdb_readoptions_t *R;
static char base[4096];
static void map_key(uint64_t, char *);
static void map_data(uint64_t, char *);
static uint64_t map_bulk_id(uint64_t, uint64_t);
static void ck(char *e, const char *w)
{
	if (e) {
		fprintf(stderr, "%s: %s\n", w, e);
		exit(1);
	}
}
static void be_open(const char *dir, uint64_t cache)
{
	char *e = NULL;
	rocksdb_block_based_table_options_t *b = rocksdb_block_based_options_create();
	O = rocksdb_options_create();
	rocksdb_options_set_create_if_missing(O, 1);
	rocksdb_options_set_compression(O, rocksdb_no_compression);
	rocksdb_options_set_write_buffer_size(O, cache / 8);
	rocksdb_options_set_max_write_buffer_number(O, 2);
	rocksdb_options_set_use_direct_reads(O, 1);
	rocksdb_options_set_use_direct_io_for_flush_and_compaction(O, 1);
	rocksdb_options_increase_parallelism(O, 2);
	rocksdb_block_based_options_set_block_size(b, 32768);
	rocksdb_block_based_options_set_block_cache(b, rocksdb_cache_create_lru(cache / 4 * 3));
	rocksdb_block_based_options_set_cache_index_and_filter_blocks(b, 1);
	rocksdb_options_set_block_based_table_factory(O, b);
	W = rocksdb_writeoptions_create();
	rocksdb_writeoptions_disable_WAL(W, 1);
	R = rocksdb_readoptions_create();
	rocksdb_readoptions_set_verify_checksums(R, 1);
	snprintf(base, sizeof base, "%s", dir);
	D = rocksdb_open(O, dir, &e);
	ck(e, "open");
}
static void be_bulk(uint64_t n)
{
	uint64_t i;
	char k[8], d[32], p[4200], *e = NULL;
	const char *l[1];
	rocksdb_envoptions_t *eo = rocksdb_envoptions_create();
	rocksdb_sstfilewriter_t *w = rocksdb_sstfilewriter_create(eo, O);
	rocksdb_ingestexternalfileoptions_t *io = rocksdb_ingestexternalfileoptions_create();
	snprintf(p, sizeof p, "%s/bulk.sst", base);
	rocksdb_sstfilewriter_open(w, p, &e);
	ck(e, "sst");
	for (i = 0; i < n; i++) {
		uint64_t id = map_bulk_id(i, n);
		map_key(id, k);
		map_data(id, d);
		rocksdb_sstfilewriter_put(w, k, 8, d, 32, &e);
		if (e)
			ck(e, "sst put");
	}
	rocksdb_sstfilewriter_finish(w, &e);
	ck(e, "finish");
	rocksdb_ingestexternalfileoptions_set_move_files(io, 1);
	l[0] = p;
	rocksdb_ingest_external_file(D, l, 1, io, &e);
	ck(e, "ingest");
	rocksdb_sstfilewriter_destroy(w);
	rocksdb_envoptions_destroy(eo);
	rocksdb_ingestexternalfileoptions_destroy(io);
	unlink(p);
}
static void be_insert(const char *k, const char *d)
{
	char *e = NULL;
	rocksdb_put(D, W, k, 8, d, 32, &e);
	if (e)
		ck(e, "put");
}
static int be_locate(const char *k, char *ok, char *od)
{
	size_t l;
	int r;
	rocksdb_iterator_t *it = rocksdb_create_iterator(D, R);
	rocksdb_iter_seek(it, k, 8);
	r = rocksdb_iter_valid(it);
	if (r) {
		memcpy(ok, rocksdb_iter_key(it, &l), 8);
		memcpy(od, rocksdb_iter_value(it, &l), 32);
	}
	rocksdb_iter_destroy(it);
	return r;
}
static uint64_t be_scan(const char *k, uint64_t count, uint64_t *sum)
{
	size_t l;
	uint64_t c = 0, h;
	rocksdb_iterator_t *it = rocksdb_create_iterator(D, R);
	for (rocksdb_iter_seek(it, k, 8); c < count && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
		memcpy(&h, rocksdb_iter_value(it, &l), 8);
		*sum += h;
		c++;
	}
	rocksdb_iter_destroy(it);
	return c;
}
static int be_erase(const char *k)
{
	char *e = NULL;
	rocksdb_delete(D, W, k, 8, &e);
	if (e)
		ck(e, "del");
	return 1;
}
static void be_commit(void)
{
}
static void be_sync(void)
{
	char *e = NULL;
	rocksdb_flushoptions_t *f = rocksdb_flushoptions_create();
	rocksdb_flush(D, f, &e);
	ck(e, "flush");
	rocksdb_flushoptions_destroy(f);
}
static void be_close(void)
{
	rocksdb_close(D);
}
static const char *be_note(void)
{
	return "direct=1 blind_writes=1";
}
#include "map_work.h"
