/* SPDX-License-Identifier: BSL-1.0 */
/* Berkeley DB 5.3 BTREE, private env, no transactions, 32 KiB pages. */
#include "peer_common.h"
#include <db.h>
#define BE_NAME "bdb_btree"
static DB_ENV *E;
static DB *D;
static DBC *CU;
static int direct;
static void map_key(uint64_t, char *);
static void map_data(uint64_t, char *);
static uint64_t map_bulk_id(uint64_t, uint64_t);
static void ck(int r, const char *w)
{
	if (r) {
		fprintf(stderr, "%s: %s\n", w, db_strerror(r));
		exit(1);
	}
}
static void be_open(const char *dir, uint64_t cache)
{
	ck(db_env_create(&E, 0), "env");
	ck(E->set_cachesize(E, (uint32_t)(cache >> 30), (uint32_t)(cache & 0x3fffffff), 1), "cache");
	direct = E->set_flags(E, DB_DIRECT_DB, 1) == 0;
	if (E->open(E, dir, DB_CREATE | DB_INIT_MPOOL | DB_PRIVATE, 0600)) {
		direct = 0;
		E->close(E, 0);
		ck(db_env_create(&E, 0), "env");
		ck(E->set_cachesize(E, (uint32_t)(cache >> 30), (uint32_t)(cache & 0x3fffffff), 1), "cache");
		ck(E->open(E, dir, DB_CREATE | DB_INIT_MPOOL | DB_PRIVATE, 0600), "env open");
	}
	ck(db_create(&D, E, 0), "db");
	ck(D->set_pagesize(D, 32768), "page");
	ck(D->open(D, NULL, "m.db", NULL, DB_BTREE, DB_CREATE, 0600), "open");
	ck(D->cursor(D, NULL, &CU, 0), "cursor");
}
static void put(const char *k, const char *d)
{
	DBT a, b;
	memset(&a, 0, sizeof a);
	memset(&b, 0, sizeof b);
	a.data = (void *)k;
	a.size = 8;
	b.data = (void *)d;
	b.size = 32;
	ck(D->put(D, NULL, &a, &b, 0), "put");
}
static void be_bulk(uint64_t n)
{
	uint64_t i;
	char k[8], d[32];
	for (i = 0; i < n; i++) {
		uint64_t id = map_bulk_id(i, n);
		map_key(id, k);
		map_data(id, d);
		put(k, d);
	}
}
static void be_insert(const char *k, const char *d)
{
	put(k, d);
}
static int be_locate(const char *k, char *ok, char *od)
{
	DBT a, b;
	int r;
	memset(&a, 0, sizeof a);
	memset(&b, 0, sizeof b);
	a.data = (void *)k;
	a.size = 8;
	r = CU->get(CU, &a, &b, DB_SET_RANGE);
	if (r == DB_NOTFOUND)
		return 0;
	ck(r, "get");
	memcpy(ok, a.data, 8);
	memcpy(od, b.data, 32);
	return 1;
}
static uint64_t be_scan(const char *k, uint64_t count, uint64_t *sum)
{
	DBT a, b;
	uint64_t c = 0, h;
	int r;
	memset(&a, 0, sizeof a);
	memset(&b, 0, sizeof b);
	a.data = (void *)k;
	a.size = 8;
	for (r = CU->get(CU, &a, &b, DB_SET_RANGE); !r && c < count; r = CU->get(CU, &a, &b, DB_NEXT)) {
		memcpy(&h, b.data, 8);
		*sum += h;
		c++;
	}
	return c;
}
static int be_erase(const char *k)
{
	DBT a;
	memset(&a, 0, sizeof a);
	a.data = (void *)k;
	a.size = 8;
	return D->del(D, NULL, &a, 0) == 0;
}
static void be_commit(void)
{
}
static void be_sync(void)
{
	ck(E->memp_sync(E, NULL), "sync");
}
static void be_close(void)
{
	CU->close(CU);
	D->close(D, 0);
	E->close(E, 0);
}
static const char *be_note(void)
{
	return direct ? "direct=1" : "direct=0";
}
#include "map_work.h"
