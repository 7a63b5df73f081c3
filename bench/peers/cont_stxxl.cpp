// SPDX-License-Identifier: BSL-1.0
// STXXL containers. --work stack2|stack1|queue|deque|vector --rec 4|32 (bytes) --bytes 4G
//   stack2 = grow_shrink_stack2 (pool 4 prefetch + 4 write blocks), stack1 = normal_stack
//   (2 pages of 4 blocks), queue = queue (4 write + 4 prefetch blocks), deque;
//   vector: u64, fill/scan through iterators and buffered streams, then --reads 1000000
//   random reads through a 4 MiB cache (64 pages of one 64 KiB block).
#include "stxxl_setup.hpp"
#include <stxxl/deque>
#include <stxxl/queue>
#include <stxxl/stack>
#include <stxxl/vector>
#define BLOCK (2 * 1024 * 1024)
template <int N> struct rec { uint32_t w[N / 4]; };
template <int N> inline std::ostream &operator<<(std::ostream &o, const rec<N> &r) { return o << r.w[0]; }
template <int N> inline rec<N> mk(uint64_t i)
{
        rec<N> r;
        for (int j = 0; j < N / 4; j++)
                r.w[j] = (uint32_t)i + (uint32_t)j;
        return r;
}
static std::string io;
static uint64_t bytes;
static stxxl::stats_data *B;
static peer_mark m;
static void beg() { delete B; B = new stxxl::stats_data(STX_NOW()); phase_begin(&m); }
static void end(const char *peer, const char *work, uint64_t n, uint64_t rs, uint64_t mem, const char *ph)
{ phase_end(&m, peer, work, n, rs, mem, ph, stxxl_extra(*B, io).c_str()); }

template <int R, class S> void stack(S &s, const char *peer, uint64_t mem)
{
    uint64_t n = bytes / R, a = 0, b = 0;
    beg();
    for (uint64_t i = 0; i < n; i++) { s.push(mk<R>(i)); a += (uint32_t)i; }
    end(peer, "stack", n, R, mem, "push");
    beg();
    for (uint64_t i = n; i-- > 0; ) { b += s.top().w[0]; if (s.top().w[0] != (uint32_t)i) peer_die("lifo"); s.pop(); }
    end(peer, "stack", n, R, mem, "pop");
    if (a != b || !s.empty()) peer_die("checksum");
}
template <int R> void run(const std::string &w)
{
    typedef rec<R> T;
    uint64_t n = bytes / R;
    if (w == "stack2") {
        typedef typename stxxl::STACK_GENERATOR<T, stxxl::external, stxxl::grow_shrink2, 1, BLOCK>::result S;
        stxxl::read_write_pool<typename S::block_type> pool(4, 4);
        S s(pool);
        s.set_prefetch_aggr(4);
        stack<R>(s, "stxxl_grow_shrink2", 9ull * BLOCK);
    } else if (w == "stack1") {
        typedef typename stxxl::STACK_GENERATOR<T, stxxl::external, stxxl::normal, 4, BLOCK>::result S;
        S s;
        stack<R>(s, "stxxl_normal_stack", 8ull * BLOCK);
    } else if (w == "queue") {
        stxxl::queue<T, BLOCK> q(4, 4);
        uint64_t a = 0;
        beg();
        for (uint64_t i = 0; i < n; i++) q.push(mk<R>(i));
        end("stxxl_queue", "queue", n, R, 10ull * BLOCK, "push");
        beg();
        for (uint64_t i = 0; i < n; i++) {
                if (q.front().w[0] != (uint32_t)i) peer_die("fifo");
                a += q.front().w[0];
                q.pop();
        }
        end("stxxl_queue", "queue", n, R, 10ull * BLOCK, "pop");
    } else if (w == "deque") {
        stxxl::deque<T> q;
        beg();
        for (uint64_t i = 0; i < n; i++) q.push_back(mk<R>(i));
        end("stxxl_deque", "deque", n, R, 0, "push_back");
        beg();
        for (uint64_t i = 0; i < n; i++) { if (q.front().w[0] != (uint32_t)i) peer_die("fifo"); q.pop_front(); }
        end("stxxl_deque", "deque", n, R, 0, "pop_front");
    }
}
static void vec(uint64_t reads)
{
    typedef stxxl::VECTOR_GENERATOR<uint64_t, 4, 8, BLOCK>::result V;
    uint64_t n = bytes / 8, a = 0, b = 0, c = 0;
    {
        V v(n);
        beg();
        {
                V::bufwriter_type w(v);
                for (uint64_t i = 0; i < n; i++) { uint64_t x = peer_mix(i); a += x; w << x; }
                w.finish();
        }
        end("stxxl_vector", "vector", n, 8, 64ull << 20, "fill_buffered");
        beg();
        { V::bufreader_type r(v); for (; !r.empty(); ++r) b += *r; }
        end("stxxl_vector", "vector", n, 8, 64ull << 20, "scan_buffered");
        if (a != b) peer_die("sum");
        beg();
        const V &cv = v;
        for (V::const_iterator it = cv.begin(); it != cv.end(); ++it) c += *it;
        end("stxxl_vector", "vector", n, 8, 64ull << 20, "scan_iterator");
        if (a != c) peer_die("sum");
        beg();
        for (V::iterator it = v.begin(); it != v.end(); ++it) *it = 1;
        v.flush();
        end("stxxl_vector", "vector", n, 8, 64ull << 20, "fill_iterator");
    }
    {   // random reads: small pages
        typedef stxxl::VECTOR_GENERATOR<uint64_t, 1, 64, 65536>::result W;
        W v(n);
        uint64_t s = 0, t = 0;
        { W::bufwriter_type w(v); for (uint64_t i = 0; i < n; i++) w << peer_mix(i); w.finish(); }
        beg();
        const W &cv = v;
        for (uint64_t i = 0; i < reads; i++) { uint64_t k = peer_mix(~i) % n; s += cv[k]; t += peer_mix(k); }
        end("stxxl_vector", "vector", reads, 8, 4ull << 20, "random_read_64k");
        if (s != t) peer_die("random");
    }
}
int main(int argc, char **argv)
{
    io = stxxl_setup(argc, argv);
    std::string w = peer_arg(argc, argv, "work", "stack2");
    bytes = peer_size(peer_arg(argc, argv, "bytes", "4G"));
    if (w == "vector") vec(peer_size(peer_arg(argc, argv, "reads", "1000000")));
    else if (atoi(peer_arg(argc, argv, "rec", "4")) == 4) run<4>(w);
    else run<32>(w);
}
