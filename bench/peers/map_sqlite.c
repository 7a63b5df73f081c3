/* SPDX-License-Identifier: BSL-1.0 */
/* SQLite 3 WITHOUT ROWID, 32 KiB pages, journal off, one transaction per phase. */
#include "peer_common.h"
#include <sqlite3.h>
#define BE_NAME "sqlite"
static sqlite3 *D;
static sqlite3_stmt *I, *L, *S, *X;
static int intx;
static void map_key(uint64_t, char *);
static void map_data(uint64_t, char *);
static uint64_t map_bulk_id(uint64_t, uint64_t);
static void ex(const char *q)
{
	char *e = NULL;
	if (sqlite3_exec(D, q, NULL, NULL, &e)) {
		fprintf(stderr, "%s: %s\n", q, e);
		exit(1);
	}
}
static void be_open(const char *dir, uint64_t cache)
{
	char p[4200], q[128];
	snprintf(p, sizeof p, "%s/m.sqlite", dir);
	if (sqlite3_open(p, &D))
		peer_die("open");
	snprintf(q, sizeof q, "PRAGMA cache_size=-%llu", (unsigned long long)(cache / 1024));
	ex("PRAGMA page_size=32768");
	ex("PRAGMA journal_mode=OFF");
	ex("PRAGMA synchronous=OFF");
	ex("PRAGMA locking_mode=EXCLUSIVE");
	ex(q);
	ex("PRAGMA mmap_size=0");
	ex("CREATE TABLE m(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID");
	sqlite3_prepare_v2(D, "INSERT OR REPLACE INTO m VALUES(?,?)", -1, &I, NULL);
	sqlite3_prepare_v2(D, "SELECT k,v FROM m WHERE k>=? ORDER BY k LIMIT 1", -1, &L, NULL);
	sqlite3_prepare_v2(D, "SELECT v FROM m WHERE k>=? ORDER BY k LIMIT ?", -1, &S, NULL);
	sqlite3_prepare_v2(D, "DELETE FROM m WHERE k=?", -1, &X, NULL);
}
static void begin(void)
{
	if (!intx) {
		ex("BEGIN");
		intx = 1;
	}
}
static void be_commit(void)
{
	if (intx) {
		ex("COMMIT");
		intx = 0;
	}
}
static void be_insert(const char *k, const char *d)
{
	begin();
	sqlite3_bind_blob(I, 1, k, 8, SQLITE_STATIC);
	sqlite3_bind_blob(I, 2, d, 32, SQLITE_STATIC);
	if (sqlite3_step(I) != SQLITE_DONE)
		peer_die("insert");
	sqlite3_reset(I);
}
static void be_bulk(uint64_t n)
{
	uint64_t i;
	char k[8], d[32];
	for (i = 0; i < n; i++) {
		uint64_t id = map_bulk_id(i, n);
		map_key(id, k);
		map_data(id, d);
		be_insert(k, d);
	}
}
static int be_locate(const char *k, char *ok, char *od)
{
	int r;
	sqlite3_bind_blob(L, 1, k, 8, SQLITE_STATIC);
	r = sqlite3_step(L) == SQLITE_ROW;
	if (r) {
		memcpy(ok, sqlite3_column_blob(L, 0), 8);
		memcpy(od, sqlite3_column_blob(L, 1), 32);
	}
	sqlite3_reset(L);
	return r;
}
static uint64_t be_scan(const char *k, uint64_t count, uint64_t *sum)
{
	uint64_t c = 0, h;
	sqlite3_bind_blob(S, 1, k, 8, SQLITE_STATIC);
	sqlite3_bind_int64(S, 2, (sqlite3_int64)count);
	while (sqlite3_step(S) == SQLITE_ROW) {
		memcpy(&h, sqlite3_column_blob(S, 0), 8);
		*sum += h;
		c++;
	}
	sqlite3_reset(S);
	return c;
}
static int be_erase(const char *k)
{
	begin();
	sqlite3_bind_blob(X, 1, k, 8, SQLITE_STATIC);
	if (sqlite3_step(X) != SQLITE_DONE)
		peer_die("delete");
	sqlite3_reset(X);
	return sqlite3_changes(D);
}
static void be_sync(void)
{
	be_commit();
	sync();
}
static void be_close(void)
{
	sqlite3_finalize(I);
	sqlite3_finalize(L);
	sqlite3_finalize(S);
	sqlite3_finalize(X);
	sqlite3_close(D);
}
static const char *be_note(void)
{
	return "direct=0";
}
#include "map_work.h"
