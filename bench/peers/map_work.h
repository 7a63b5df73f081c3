/* SPDX-License-Identifier: BSL-1.0 */
/*
 * map_work.h -- the works of bench_btree, shared by the drivers of other libraries' maps.
 *
 * A driver defines BE_NAME and the be_*() functions below, and includes this last.  It has main():
 *
 *	map_NAME [--n 2^24] [--ops 100000] [--ins 1000000] [--scans 1000] [--cache 128M] [--cold 1] [--full 1]
 *		[--unsorted 0] [--limit 600] [--dir DIR]
 *
 * Keys are 8 characters a to z, and data 32 bytes.  Phases and their numbers are those of bench_btree.c; `sum' must be
 * the same for all.  What was changed is flushed at the end of insert, erase and unsorted, and that is timed.
 *
 *   --cold 1        files leave the page cache before each phase
 *   --full 1        also `fullscan'
 *   --unsorted 1    also `unsorted': n records in no order enter an empty map one by one, for at most --limit seconds;
 *                   `ops' is how many did; 2: nothing before it
 *
 * A driver that defines BE_BYTES tells how much of a disk it has in use; else it is what its files take.
 */
#include <dirent.h>

static void map_key(uint64_t v, char *k)
{
	int i;
	for (i = 7; i >= 0; i--) {
		k[i] = (char)('a' + v % 26);
		v /= 26;
	}
}
#define MAP_SPACE 208827064576ull /* 26^8 */
static uint64_t map_bulk_id(uint64_t i, uint64_t n)
{
	uint64_t gap = MAP_SPACE / n;
	return i * gap + peer_mix(i) % gap;
}
static void map_data(uint64_t id, char *d)
{
	uint64_t h = peer_mix(id);
	memcpy(d, &h, 8);
	memcpy(d + 8, &id, 8);
	memset(d + 16, (int)('a' + id % 26), 16);
}

/* provided by the driver */
static void be_open(const char *dir, uint64_t cache);
static void be_bulk(uint64_t n);
static void be_insert(const char *k, const char *d);
static int be_locate(const char *k, char *ok, char *od); /* lower bound */
static uint64_t be_scan(const char *k, uint64_t count, uint64_t *sum); /* sum of first 8 data bytes */
static int be_erase(const char *k);
static void be_commit(void); /* end of an update phase, timed */
static void be_sync(void); /* flush, not timed */
static void be_close(void);
static const char *be_note(void);

static char map_dir[4096];
static void map_each_file(int rm)
{
	DIR *d = opendir(map_dir);
	struct dirent *e;
	char p[8192];
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(p, sizeof p, "%s/%s", map_dir, e->d_name);
		if (rm)
			unlink(p);
		else
			peer_drop(p);
	}
	if (d)
		closedir(d);
	if (rm)
		rmdir(map_dir);
}
static uint64_t map_bytes(void)
{
	DIR *d = opendir(map_dir);
	struct dirent *e;
	struct stat st;
	char p[8192];
	uint64_t s = 0;
	while (d && (e = readdir(d))) {
		snprintf(p, sizeof p, "%s/%s", map_dir, e->d_name);
		if (e->d_name[0] != '.' && !stat(p, &st))
			s += (uint64_t)st.st_blocks * 512;
	}
	if (d)
		closedir(d);
	return s;
}

#ifndef BE_BYTES
#define BE_BYTES map_bytes
#endif

typedef struct map_settings {
	uint64_t n, ops, ins, cache, scans, limit;
	int cold, full, unsorted;
} map_settings;

static map_settings set;

static void map_report(const peer_mark *m, uint64_t n, const char *phase, uint64_t count, uint64_t sum)
{
	char extra[512];

	snprintf(extra, sizeof extra, "ops=%llu sum=%llu cold=%d %s", (unsigned long long)count,
		 (unsigned long long)sum, set.cold, be_note());
	phase_end(m, BE_NAME, "map", n, 40, set.cache, phase, extra);
}

static void map_begin(peer_mark *m)
{
	be_sync();
	if (set.cold)
		map_each_file(0);
	phase_begin(m);
}

static void map_space(const char *phase)
{
	peer_mark m;

	be_sync();
	phase_begin(&m);
	map_report(&m, set.n, phase, 0, BE_BYTES());
}

static void map_load(void)
{
	peer_mark m;

	phase_begin(&m);
	be_bulk(set.n);
	be_commit();
	be_sync();
	map_report(&m, set.n, "bulk", set.n, 0);
	map_space("filesize");
}

/* Insert records that random numbers make; for so many seconds. */
static void map_insert(uint64_t n, uint64_t count, uint64_t seed, uint64_t limit, const char *phase)
{
	char k[8], d[32];
	uint64_t i;
	peer_mark m;

	map_begin(&m);
	for (i = 0; i < count && (i % 4096 != 0 || peer_now() - m.t < (double)limit); i++) {
		const uint64_t id = peer_mix(i ^ seed) % MAP_SPACE;

		map_key(id, k);
		map_data(id, d);
		be_insert(k, d);
	}
	be_commit();
	be_sync();
	map_report(&m, n, phase, i, 0);
}

static void map_locate(void)
{
	uint64_t i, h, sum = 0;
	char k[8], found[8], d[32];
	peer_mark m;

	map_begin(&m);
	for (i = 0; i < set.ops; i++) {
		map_key(peer_mix(i ^ 0x2222) % MAP_SPACE, k);
		if (!be_locate(k, found, d))
			continue;
		if (memcmp(found, k, 8) < 0)
			peer_die("lower bound");
		memcpy(&h, d, 8);
		sum += h;
	}
	map_report(&m, set.n, "locate", set.ops, sum);
}

static void map_scan(void)
{
	uint64_t i, sum = 0, count = 0;
	peer_mark m;
	char k[8];

	if (set.full) {
		map_begin(&m);
		count = be_scan("aaaaaaaa", UINT64_MAX / 2, &sum);
		map_report(&m, set.n, "fullscan", count, sum);
	}
	sum = count = 0;
	map_begin(&m);
	for (i = 0; i < set.scans; i++) {
		map_key(peer_mix(i ^ 0x3333) % MAP_SPACE, k);
		count += be_scan(k, set.n / set.scans, &sum);
	}
	map_report(&m, set.n, "scan", count, sum);
}

static void map_erase(void)
{
	uint64_t i, erased = 0;
	peer_mark m;
	char k[8];

	map_begin(&m);
	for (i = 0; i < set.ops; i++) {
		map_key(map_bulk_id(peer_mix(i ^ 0x4444) % set.n, set.n), k);
		erased += (uint64_t)be_erase(k);
	}
	be_commit();
	be_sync();
	map_report(&m, set.n, "erase", set.ops, erased);
	map_space("filesize_erase");
}

static void map_open(void)
{
	if (access(map_dir, F_OK) != 0 && mkdir(map_dir, 0700) != 0)
		peer_die("mkdir");
	be_open(map_dir, set.cache);
}

static void map_close(void)
{
	be_close();
	map_each_file(1);
}

int main(int argc, char **argv)
{
	set.n = peer_size(peer_arg(argc, argv, "n", "2^24"));
	set.ops = peer_size(peer_arg(argc, argv, "ops", "100000"));
	set.ins = peer_size(peer_arg(argc, argv, "ins", "1000000"));
	set.cache = peer_size(peer_arg(argc, argv, "cache", "128M"));
	set.scans = peer_size(peer_arg(argc, argv, "scans", "1000"));
	set.limit = peer_size(peer_arg(argc, argv, "limit", "600"));
	set.cold = atoi(peer_arg(argc, argv, "cold", "1"));
	set.full = atoi(peer_arg(argc, argv, "full", "1"));
	set.unsorted = atoi(peer_arg(argc, argv, "unsorted", "0"));
#ifdef BE_SETUP
	BE_SETUP(argc, argv);
#endif
	snprintf(map_dir, sizeof map_dir, "%s/map.%d", peer_tmpdir(argc, argv), (int)getpid());
	if (set.n != 0 && set.unsorted < 2) {
		map_open();
		map_load();
		map_insert(set.n, set.ops, 0x1111, UINT64_MAX, "insert");
		map_space("filesize_insert");
		map_locate();
		map_scan();
		map_erase();
		map_close();
	}
	if (set.n != 0 && set.unsorted) {
		map_open();
		map_insert(set.n, set.n, 0x8888, set.limit, "unsorted");
		map_close();
	}
	if (set.ins != 0) {
		map_open();
		map_insert(set.ins, set.ins, 0x5555, UINT64_MAX, "pointinsert");
		map_close();
	}
	return 0;
}
