/* SPDX-License-Identifier: BSL-1.0 */
/*
 * locate_bdb.c -- examples/locate.c by Berkeley DB: 100,000 look-ups in a B-tree that is in a file, one after the other
 * (Dementiev, Kettner and Sanders 2007, listing 3).
 *
 *	locate_bdb [FILE [RECORDS]]
 *
 * The records, the keys, and what it prints of what was found are those of examples/locate.c.  FILE is made if it is
 * not there: random records are put into it one by one, as there is no other way.  Pages have 32 KiB, and the cache
 * 128 MiB.  Without arguments the file is removed again.
 */
#include "peer_common.h"

#include <db.h>

enum { KEY_SIZE = 8, DATA_SIZE = 32, PAGE = 32768, CACHE = 128 << 20 };
#define RECORDS 300000u
#define LOCATES 100000u

static void check(int r, const char *what)
{
	if (r == 0)
		return;
	fprintf(stderr, "locate_bdb: %s: %s\n", what, db_strerror(r));
	exit(1);
}

/* Letters that follow from a number. */
static void rand_key(uint64_t i, char *key)
{
	uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	unsigned k;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	for (k = 0; k < KEY_SIZE; k++, x /= 26)
		key[k] = (char)('a' + x % 26);
}

static DBT dbt(void *data, uint32_t n)
{
	DBT t;

	memset(&t, 0, sizeof t);
	t.data = data;
	t.size = n;
	return t;
}

static DB *open_tree(const char *path)
{
	DB *db;

	check(db_create(&db, NULL, 0), "create");
	check(db->set_cachesize(db, 0, CACHE, 1), "cache");
	check(db->set_pagesize(db, PAGE), "page");
	check(db->open(db, NULL, path, NULL, DB_BTREE, DB_CREATE, 0600), path);
	return db;
}

/* The first record of a key stays. */
static void make_tree(const char *path, uint64_t n)
{
	DB *db = open_tree(path);
	char key[KEY_SIZE], data[DATA_SIZE];
	uint64_t i;

	memset(data, 'x', sizeof data);
	for (i = 0; i < n; i++) {
		DBT k = dbt(key, KEY_SIZE), d = dbt(data, DATA_SIZE);
		int r;

		rand_key(i, key);
		r = db->put(db, NULL, &k, &d, DB_NOOVERWRITE);
		check(r == DB_KEYEXIST ? 0 : r, "put");
	}
	check(db->close(db, 0), "close");
}

static uint64_t locate(DB *db)
{
	uint64_t i, found = 0;
	char key[KEY_SIZE];
	DBC *cursor;

	check(db->cursor(db, NULL, &cursor, 0), "cursor");
	for (i = 0; i < LOCATES; i++) {
		DBT k = dbt(key, KEY_SIZE), d = dbt(NULL, 0);
		int r;

		rand_key(i * 7919 + 1, key);
		r = cursor->get(cursor, &k, &d, DB_SET_RANGE);
		check(r == DB_NOTFOUND ? 0 : r, "get");
		if (r == 0)
			found += ((const unsigned char *)k.data)[KEY_SIZE - 1] * (i + 1);
	}
	check(cursor->close(cursor), "close");
	return found;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "locate_bdb.db";
	uint64_t found;
	double start;
	DB *db;

	if (argc <= 1 || access(path, F_OK) != 0)
		make_tree(path, argc > 2 ? strtoull(argv[2], NULL, 10) : RECORDS);
	peer_drop(path);
	db = open_tree(path);
	start = peer_now();
	found = locate(db);
	printf("%u one by one: %.2f us each, found %llu\n", LOCATES, (peer_now() - start) * 1e6 / LOCATES,
	       (unsigned long long)found);
	check(db->close(db, 0), "close");
	if (argc <= 1)
		remove(path);
	return 0;
}
