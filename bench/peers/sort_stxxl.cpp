// SPDX-License-Identifier: BSL-1.0
// stxxl::sort / stxxl::ksort on a vector, stxxl::stream::sort pipelined.
// --algo sort|ksort|stream --rec u64|kv16|dup16|rec100|u32 --n N --mem 512M --io linuxaio|syscall
#include "stxxl_setup.hpp"
#include "sort_records.hpp"
#include <stxxl/ksort>
#include <stxxl/sort>
#include <stxxl/stream>
#include <stxxl/vector>

#ifndef BLOCK
#define BLOCK (2 * 1024 * 1024)
#endif

template <class T> struct gen_stream {
    typedef T value_type;
    uint64_t i, n, *sum;
    T cur;
    gen_stream(uint64_t n_, uint64_t *s) : i(0), n(n_), sum(s) { set(); }
    void set() { if (i < n) { rec_traits<T>::gen(i, cur); *sum += rec_traits<T>::sum(cur); } }
    bool empty() const { return i >= n; }
    const T &operator*() const { return cur; }
    const T *operator->() const { return &cur; }
    gen_stream &operator++() { ++i; set(); return *this; }
};

template <class T, bool K> struct do_ksort {
    template <class V> static void run(V &v, uint64_t mem) { stxxl::ksort(v.begin(), v.end(), rec_key<T>(), mem); }
};
template <class T> struct do_ksort<T, false> {
    template <class V> static void run(V &, uint64_t) { peer_die("ksort: key is not an integer"); }
};

template <class T, bool K> static void go(const std::string &algo, uint64_t n, uint64_t mem, const std::string &io)
{
    typedef rec_traits<T> R;
    typedef typename stxxl::VECTOR_GENERATOR<T, 2, 4, BLOCK>::result vec;
    std::string work = std::string("sort-") + R::name(), peer = "stxxl_" + algo;
    uint64_t s0 = 0, s1 = 0, cnt = 0;
    peer_mark m, all;
    T prev = R::min();
    stxxl::stats_data b = STX_NOW(), b0 = b;
    phase_begin(&all);
    if (algo == "stream") {
        gen_stream<T> in(n, &s0);
        phase_begin(&m);
        typedef stxxl::stream::runs_creator<gen_stream<T>, rec_less<T>, BLOCK> creator;
        creator rc(in, rec_less<T>(), mem);
        typename creator::sorted_runs_type runs = rc.result();
        phase_end(&m, peer.c_str(), work.c_str(), n, sizeof(T), mem, "runs", stxxl_extra(b, io).c_str());
        b = STX_NOW();
        phase_begin(&m);
        stxxl::stream::runs_merger<typename creator::sorted_runs_type, rec_less<T> > mg(runs, rec_less<T>(), mem);
        for (; !mg.empty(); ++mg) {
            const T &r = *mg;
            if (R::less(r, prev)) peer_die("order");
            prev = r; s1 += R::sum(r); cnt++;
        }
        phase_end(&m, peer.c_str(), work.c_str(), n, sizeof(T), mem, "merge", stxxl_extra(b, io).c_str());
        phase_end(&all, peer.c_str(), work.c_str(), n, sizeof(T), mem, "total", stxxl_extra(b0, io).c_str());
    } else {
        vec v(n);
        phase_begin(&m);
        {
            typename vec::bufwriter_type w(v);
            for (uint64_t i = 0; i < n; i++) { T r; R::gen(i, r); s0 += R::sum(r); w << r; }
            w.finish();
        }
        phase_end(&m, peer.c_str(), work.c_str(), n, sizeof(T), mem, "fill", stxxl_extra(b, io).c_str());
        b = STX_NOW();
        phase_begin(&m);
        if (algo == "sort") stxxl::sort(v.begin(), v.end(), rec_less<T>(), mem);
        else do_ksort<T, K>::run(v, mem);
        phase_end(&m, peer.c_str(), work.c_str(), n, sizeof(T), mem, "sort", stxxl_extra(b, io).c_str());
        b = STX_NOW();
        phase_begin(&m);
        {
            typename vec::bufreader_type rd(v);
            for (; !rd.empty(); ++rd) {
                const T &r = *rd;
                if (R::less(r, prev)) peer_die("order");
                prev = r; s1 += R::sum(r); cnt++;
            }
        }
        phase_end(&m, peer.c_str(), work.c_str(), n, sizeof(T), mem, "scan", stxxl_extra(b, io).c_str());
        phase_end(&all, peer.c_str(), work.c_str(), n, sizeof(T), mem, "total", stxxl_extra(b0, io).c_str());
    }
    if (cnt != n || s0 != s1) peer_die("checksum");
}

int main(int argc, char **argv)
{
    std::string io = stxxl_setup(argc, argv);
    std::string rec = peer_arg(argc, argv, "rec", "u64"), algo = peer_arg(argc, argv, "algo", "sort");
    uint64_t n = peer_size(peer_arg(argc, argv, "n", "2^27"));
    uint64_t mem = peer_size(peer_arg(argc, argv, "mem", "512M"));
    if (rec == "u64") go<uint64_t, true>(algo, n, mem, io);
    else if (rec == "u32") go<uint32_t, true>(algo, n, mem, io);
    else if (rec == "kv16") go<kv16, true>(algo, n, mem, io);
    else if (rec == "dup16") go<dup16, true>(algo, n, mem, io);
    else if (rec == "rec100") go<rec100, false>(algo, n, mem, io);
    else peer_die("--rec");
}
