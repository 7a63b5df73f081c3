// SPDX-License-Identifier: BSL-1.0
// Highway's vqsort as three functions of a shared object, which bench/kernels loads with --peer and times in turn with
// ours: bare keys in place, and pairs of a key and a payload by the key.  It sorts in place and is not stable; ours is
// stable and takes as much room again.
#include <hwy/contrib/sort/vqsort.h>
#include <cstddef>
#include <cstdint>

// Since 1.0.7 there is a function that needs no object; linking only the kernels that are used takes that one.
#ifdef HWY_FROM_SOURCE
#define SORT(keys, n) hwy::VQSort(keys, n, hwy::SortAscending())
#else
static const hwy::Sorter sorter;
#define SORT(keys, n) sorter(keys, n, hwy::SortAscending())
#endif

extern "C" {
extern const char peer_name[] = "vqsort";
extern const std::size_t peer_pair_key = offsetof(hwy::K64V64, key);
}

extern "C" void peer_sort_u32(void *a, std::size_t n)
{
    SORT(static_cast<std::uint32_t *>(a), n);
}

extern "C" void peer_sort_u64(void *a, std::size_t n)
{
    SORT(static_cast<std::uint64_t *>(a), n);
}

extern "C" void peer_sort_pair(void *a, std::size_t n)
{
    SORT(static_cast<hwy::K64V64 *>(a), n);
}
