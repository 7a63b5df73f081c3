// SPDX-License-Identifier: BSL-1.0
// stxxl::map (B+-tree), 32 KiB nodes and leaves; cache split 1/8 nodes, 7/8 leaves.
#include "stxxl_setup.hpp"
#include <stxxl/map>
#include <iterator>
#define BE_NAME "stxxl_map"
struct mkey {
	char c[8];
};
struct mdat {
	char c[32];
};
inline std::ostream &operator<<(std::ostream &o, const mkey &)
{
	return o;
}
inline std::ostream &operator<<(std::ostream &o, const mdat &)
{
	return o;
}
struct mcmp {
	bool operator()(const mkey &a, const mkey &b) const
	{
		return memcmp(a.c, b.c, 8) < 0;
	}
	static mkey max_value()
	{
		mkey k;
		memset(k.c, 0x7f, 8);
		return k;
	}
};
inline bool operator==(const mkey &a, const mkey &b)
{
	return !memcmp(a.c, b.c, 8);
}
inline bool operator!=(const mkey &a, const mkey &b)
{
	return memcmp(a.c, b.c, 8) != 0;
}
#ifndef NODE
#define NODE 32768
#endif
typedef stxxl::map<mkey, mdat, mcmp, NODE, NODE> map_t;
static map_t *M;
static uint64_t C;
static std::string IO;
#define BE_SETUP(c, v) (IO = stxxl_setup(c, v))
static void map_key(uint64_t, char *);
static void map_data(uint64_t, char *);
static uint64_t map_bulk_id(uint64_t, uint64_t);
struct gen_it : public std::iterator<std::input_iterator_tag, std::pair<mkey, mdat>> {
	uint64_t i, n;
	std::pair<mkey, mdat> v;
	gen_it(uint64_t i_, uint64_t n_) : i(i_), n(n_)
	{
		set();
	}
	void set()
	{
		if (i < n) {
			uint64_t id = map_bulk_id(i, n);
			map_key(id, v.first.c);
			map_data(id, v.second.c);
		}
	}
	const std::pair<mkey, mdat> &operator*() const
	{
		return v;
	}
	const std::pair<mkey, mdat> *operator->() const
	{
		return &v;
	}
	gen_it &operator++()
	{
		++i;
		set();
		return *this;
	}
	gen_it operator++(int)
	{
		gen_it t = *this;
		++*this;
		return t;
	}
	bool operator==(const gen_it &o) const
	{
		return i == o.i;
	}
	bool operator!=(const gen_it &o) const
	{
		return i != o.i;
	}
};
static void be_open(const char *, uint64_t cache)
{
	C = cache;
	M = NULL;
}
static map_t &mm()
{
	if (!M)
		M = new map_t(C / 8, C / 8 * 7);
	return *M;
}
static void be_bulk(uint64_t n)
{
	M = new map_t(gen_it(0, n), gen_it(n, n), C / 8, C / 8 * 7, true);
}
static void be_insert(const char *k, const char *d)
{
	std::pair<mkey, mdat> p;
	memcpy(p.first.c, k, 8);
	memcpy(p.second.c, d, 32);
	mm().insert(p);
}
static int be_locate(const char *k, char *ok, char *od)
{
	mkey q;
	memcpy(q.c, k, 8);
	map_t::const_iterator it = static_cast<const map_t &>(mm()).lower_bound(q);
	if (it == static_cast<const map_t &>(mm()).end())
		return 0;
	memcpy(ok, it->first.c, 8);
	memcpy(od, it->second.c, 32);
	return 1;
}
static uint64_t be_scan(const char *k, uint64_t count, uint64_t *sum)
{
	mkey q;
	memcpy(q.c, k, 8);
	const map_t &m = mm();
	map_t::const_iterator it = m.lower_bound(q), e = m.end();
	uint64_t c = 0, h;
	for (; c < count && it != e; ++it, ++c) {
		memcpy(&h, it->second.c, 8);
		*sum += h;
	}
	return c;
}
static int be_erase(const char *k)
{
	mkey q;
	memcpy(q.c, k, 8);
	return (int)mm().erase(q);
}
static void be_commit()
{
}
static void be_sync()
{
}
static void be_close()
{
	delete M;
	M = NULL;
}
static const char *be_note()
{
	static std::string s;
	s = "direct=1 io=" + IO;
	return s.c_str();
}
static uint64_t be_bytes()
{
	return stxxl::block_manager::get_instance()->get_current_allocation();
}
#define BE_BYTES be_bytes
#include "map_work.h"
