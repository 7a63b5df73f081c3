// SPDX-License-Identifier: BSL-1.0
// Record kinds, generators and checksums for the sort drivers (C++11).
#ifndef SORT_RECORDS_HPP
#define SORT_RECORDS_HPP
#include "peer_common.h"
#include <limits>

struct kv16 {                       // u64 key + u64 payload
    uint64_t key, val;
};
struct rec100 {                     // gensort-like: 10-byte memcmp key, 90 bytes of payload
    unsigned char b[100];
};

template <class T> struct rec_traits;

template <> struct rec_traits<uint64_t> {
    static const char *name() { return "u64"; }
    typedef uint64_t key_type;
    static key_type key(const uint64_t &r) { return r; }
    static bool less(const uint64_t &a, const uint64_t &b) { return a < b; }
    static void gen(uint64_t i, uint64_t &r) { r = peer_mix(i) >> 1 | 1; }
    static uint64_t sum(const uint64_t &r) { return r; }
    static uint64_t min() { return 0; }
    static uint64_t max() { return ~(uint64_t)0; }
};
template <> struct rec_traits<uint32_t> {
    static const char *name() { return "u32"; }
    typedef uint32_t key_type;
    static key_type key(const uint32_t &r) { return r; }
    static bool less(const uint32_t &a, const uint32_t &b) { return a < b; }
    static void gen(uint64_t i, uint32_t &r) { r = (uint32_t)(peer_mix(i) >> 33) + 1u; }
    static uint64_t sum(const uint32_t &r) { return r; }
    static uint32_t min() { return 0; }
    static uint32_t max() { return ~(uint32_t)0; }
};
template <> struct rec_traits<kv16> {
    static const char *name() { return "kv16"; }
    typedef uint64_t key_type;
    static key_type key(const kv16 &r) { return r.key; }
    static bool less(const kv16 &a, const kv16 &b) { return a.key < b.key; }
    static void gen(uint64_t i, kv16 &r) { r.key = peer_mix(i) >> 1 | 1; r.val = i; }
    static uint64_t sum(const kv16 &r) { return r.key * 3 + (r.val ^ r.key); }
    static kv16 min() { kv16 r = { 0, 0 }; return r; }
    static kv16 max() { kv16 r = { ~(uint64_t)0, 0 }; return r; }
};
template <> struct rec_traits<rec100> {
    static const char *name() { return "rec100"; }
    typedef uint64_t key_type;
    static key_type key(const rec100 &r)
    {
        uint64_t k; memcpy(&k, r.b, 8); return __builtin_bswap64(k);
    }
    static bool less(const rec100 &a, const rec100 &b) { return memcmp(a.b, b.b, 10) < 0; }
    static void gen(uint64_t i, rec100 &r)
    {
        uint64_t h = peer_mix(i), g = peer_mix(h ^ i);
        h = h >> 1 | 1;
        uint64_t k = __builtin_bswap64(h);
        memcpy(r.b, &k, 8); memcpy(r.b + 8, &g, 8); memcpy(r.b + 16, &i, 8);
        memset(r.b + 24, (int)('A' + i % 26), 76);
    }
    static uint64_t sum(const rec100 &r)
    {
        uint64_t a, b, c, d; memcpy(&a, r.b, 8); memcpy(&b, r.b + 8, 8); memcpy(&c, r.b + 16, 8);
        memcpy(&d, r.b + 92, 8);
        return a * 3 + (b ^ c) * 5 + d;
    }
    static rec100 min() { rec100 r; memset(&r, 0, sizeof r); return r; }
    static rec100 max() { rec100 r; memset(&r, 0xff, sizeof r); return r; }
};

struct dup16 {                      // as kv16, but only 1024 distinct keys (ties!)
    uint64_t key, val;
};
template <> struct rec_traits<dup16> {
    static const char *name() { return "dup16"; }
    typedef uint64_t key_type;
    static key_type key(const dup16 &r) { return r.key; }
    static bool less(const dup16 &a, const dup16 &b) { return a.key < b.key; }
    static void gen(uint64_t i, dup16 &r) { r.key = peer_mix(i) % 1024 + 1; r.val = i; }
    static uint64_t sum(const dup16 &r) { return peer_mix(r.key * 3 ^ r.val << 20); }
    static dup16 min() { dup16 r = { 0, 0 }; return r; }
    static dup16 max() { dup16 r = { ~(uint64_t)0, 0 }; return r; }
};

template <class T> struct rec_less {
    bool operator()(const T &a, const T &b) const { return rec_traits<T>::less(a, b); }
    T min_value() const { return rec_traits<T>::min(); }
    T max_value() const { return rec_traits<T>::max(); }
};
template <class T> struct rec_key {          // for stxxl::ksort
    typedef typename rec_traits<T>::key_type key_type;
    key_type operator()(const T &a) const { return rec_traits<T>::key(a); }
    T min_value() const { return rec_traits<T>::min(); }
    T max_value() const { return rec_traits<T>::max(); }
};
#endif
