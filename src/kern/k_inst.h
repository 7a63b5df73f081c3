/* SPDX-License-Identifier: BSL-1.0 */
/*
 * k_inst.h -- the block kernels of one instruction set.
 *
 * Each of k_scalar.c, k_avx2.c, ... includes this file once and is compiled with its
 * own flags.  It makes one instance of the templates for each kind of element and
 * defines the table K_TABLE, indexed by emi_elem; K_ISA is the name of the set.
 * Everything else here is static, so the sets do not meet.
 *
 * Code by hand for an instruction set goes into its .c file: functions defined there
 * before this file is included can be named in its table in place of those made here.
 */
#ifndef EMI_K_INST_H
#define EMI_K_INST_H

#include "kern/k_tables.h"
#include "kern/k_util.h"
#if defined(__AVX512F__) && defined(__AVX512BW__)
#include "kern/network_avx512.h"
#define K_NET_U32 net_yz32
#define K_NET_U64 net_yz64
#define K_NET_BYTES 64          /* of a register */
#elif defined(__AVX2__)
#include "kern/network_avx2.h"
#define K_NET_U32 net_y32
#define K_NET_U64 net_y64
#define K_NET_BYTES 32
#endif
#if defined(__AVX2__)
#include "kern/merge_avx2.h"
#define K_WIDE_MERGE merge_wide
#endif

#if defined(K_NET_U32)
#define K_NET K_NET_U32
#define K_NET_MOST (K_NET_REGS * K_NET_BYTES / sizeof(k_u32))
#define K_NET_WANT 16u
#if K_NET_BYTES == 64
#define K_NET_MIX 16u
#endif
#endif
#define K_FN(name) name##_u32
#define K_ELEM k_u32
#define K_KEY uint32_t
#define K_KEY_OF(p) (*(p))
#define K_HAS_VAL 0
#include "kern/partition.inc"
#include "kern/sort.inc"
#include "kern/merge_rounds.inc"
#if defined(K_NET_MIX)
#include "kern/merge_radix.inc"
#endif
#include "kern/merge_mix.inc"
#include "kern/merge.inc"
#undef K_WIDE_MERGE

#if defined(K_NET_U64)
#define K_NET K_NET_U64
#define K_NET_MOST (K_NET_REGS * K_NET_BYTES / sizeof(k_u64))
#define K_NET_WANT (K_NET_BYTES == 64 ? 8u : 6u)
#if K_NET_BYTES == 64
#define K_NET_MIX 8u
#endif
#endif
#define K_FN(name) name##_u64
#define K_ELEM k_u64
#define K_KEY uint64_t
#define K_KEY_OF(p) (*(p))
#define K_HAS_VAL 0
#include "kern/partition.inc"
#include "kern/sort.inc"
#include "kern/merge_rounds.inc"
#if defined(K_NET_MIX)
#include "kern/merge_radix.inc"
#endif
#include "kern/merge_mix.inc"
#include "kern/merge.inc"

#if defined(K_NET_PAIRS)
#define K_NET net_pair
#define K_NET_MOST K_NET_PAIRS
#define K_NET_MIX 8u
#endif
#define K_FN(name) name##_pair
#define K_ELEM k_pair
#define K_KEY uint64_t
#define K_KEY_OF(p) ((p)->key)
#define K_VAL_OF(p) ((p)->val)
#define K_HAS_VAL 1
#include "kern/partition.inc"
#include "kern/sort.inc"
#include "kern/merge_rounds.inc"
#if defined(K_NET_MIX)
#include "kern/merge_radix.inc"
#endif
#include "kern/merge_mix.inc"
#include "kern/merge.inc"

const emi_kernels K_TABLE[3] = {
	{ K_ISA, sizeof(k_u32), survey_u32, histogram_u32, scatter_u32, sort_u32, bound_u32,
	  merge_start_u32, merge_run_u32, mix_u32 },
	{ K_ISA, sizeof(k_u64), survey_u64, histogram_u64, scatter_u64, sort_u64, bound_u64,
	  merge_start_u64, merge_run_u64, mix_u64 },
	{ K_ISA, sizeof(k_pair), survey_pair, histogram_pair, scatter_pair, sort_pair, bound_pair,
	  merge_start_pair, merge_run_pair, mix_pair },
};

#endif
