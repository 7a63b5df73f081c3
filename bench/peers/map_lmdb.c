/* SPDX-License-Identifier: BSL-1.0 */
/* LMDB: mmap, 4 KiB pages (not configurable), MDB_NOSYNC, bulk by MDB_APPEND.
 * There is no cache setting: the page cache is the cache. */
#include "peer_common.h"
#include <lmdb.h>
#define BE_NAME "lmdb"
static MDB_env *E;
static MDB_txn *T;
static MDB_dbi D;
static MDB_cursor *CU;
static uint64_t pend;
static void map_key(uint64_t, char *);
static void map_data(uint64_t, char *);
static uint64_t map_bulk_id(uint64_t, uint64_t);
static void ck(int r, const char *w)
{
	if (r) {
		fprintf(stderr, "%s: %s\n", w, mdb_strerror(r));
		exit(1);
	}
}
static void be_open(const char *dir, uint64_t cache)
{
	(void)cache;
	ck(mdb_env_create(&E), "env");
	ck(mdb_env_set_mapsize(E, (size_t)16 << 30), "size");
	ck(mdb_env_open(E, dir, MDB_NOSYNC | MDB_NORDAHEAD | MDB_NOMEMINIT, 0600), "open");
	ck(mdb_txn_begin(E, NULL, 0, &T), "txn");
	ck(mdb_dbi_open(T, NULL, 0, &D), "dbi");
	ck(mdb_txn_commit(T), "commit");
	T = NULL;
	CU = NULL;
}
static void wr(void)
{
	if (CU) {
		MDB_txn *r = mdb_cursor_txn(CU);
		mdb_cursor_close(CU);
		mdb_txn_abort(r);
		CU = NULL;
	}
	if (T && ++pend >= 100000) {
		ck(mdb_txn_commit(T), "commit");
		T = NULL;
		pend = 0;
	}
	if (!T)
		ck(mdb_txn_begin(E, NULL, 0, &T), "txn");
}
static void be_commit(void)
{
	if (T) {
		ck(mdb_txn_commit(T), "commit");
		T = NULL;
		pend = 0;
	}
}
static void rd(void)
{
	be_commit();
	if (!CU) {
		MDB_txn *r;
		ck(mdb_txn_begin(E, NULL, MDB_RDONLY, &r), "rtxn");
		ck(mdb_cursor_open(r, D, &CU), "cur");
	}
}
static void put(const char *k, const char *d, unsigned f)
{
	MDB_val a, b;
	wr();
	a.mv_data = (void *)k;
	a.mv_size = 8;
	b.mv_data = (void *)d;
	b.mv_size = 32;
	ck(mdb_put(T, D, &a, &b, f), "put");
}
static void be_bulk(uint64_t n)
{
	uint64_t i;
	char k[8], d[32];
	for (i = 0; i < n; i++) {
		uint64_t id = map_bulk_id(i, n);
		map_key(id, k);
		map_data(id, d);
		put(k, d, MDB_APPEND);
	}
}
static void be_insert(const char *k, const char *d)
{
	put(k, d, 0);
}
static int be_locate(const char *k, char *ok, char *od)
{
	MDB_val a, b;
	int r;
	rd();
	a.mv_data = (void *)k;
	a.mv_size = 8;
	r = mdb_cursor_get(CU, &a, &b, MDB_SET_RANGE);
	if (r == MDB_NOTFOUND)
		return 0;
	ck(r, "get");
	memcpy(ok, a.mv_data, 8);
	memcpy(od, b.mv_data, 32);
	return 1;
}
static uint64_t be_scan(const char *k, uint64_t count, uint64_t *sum)
{
	MDB_val a, b;
	int r;
	uint64_t c = 0, h;
	rd();
	a.mv_data = (void *)k;
	a.mv_size = 8;
	for (r = mdb_cursor_get(CU, &a, &b, MDB_SET_RANGE); !r && c < count; r = mdb_cursor_get(CU, &a, &b, MDB_NEXT)) {
		memcpy(&h, b.mv_data, 8);
		*sum += h;
		c++;
	}
	return c;
}
static int be_erase(const char *k)
{
	MDB_val a;
	wr();
	a.mv_data = (void *)k;
	a.mv_size = 8;
	return mdb_del(T, D, &a, NULL) == 0;
}
static void be_sync(void)
{
	be_commit();
	if (CU) {
		MDB_txn *r = mdb_cursor_txn(CU);
		mdb_cursor_close(CU);
		mdb_txn_abort(r);
		CU = NULL;
	}
	ck(mdb_env_sync(E, 1), "sync");
}
static void be_close(void)
{
	be_sync();
	mdb_env_close(E);
}
static const char *be_note(void)
{
	return "direct=0 mmap=1";
}
#include "map_work.h"
