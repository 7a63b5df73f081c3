/* SPDX-License-Identifier: BSL-1.0 */
/*
 * order_cmp.c -- kernels for orders that are a function of the caller's.
 *
 * The templates that callers include (extmem/gen/order.h) are instantiated here, too, with a call of the function as
 * the comparison.  Then records are moved as they are, no comparison has to follow an address to a record that is
 * somewhere, and the comparisons are few: the argument of the kernels is the emi_compare of a sort.  The type of
 * records is a struct of bytes: it may lie anywhere and be anything.  Sizes that are not here, and large ones, go by
 * references (codec.c).
 */
#include "key/order_impl.h"

typedef struct bytes4 {
	unsigned char b[4];
} bytes4;

#define EM_GEN_NAME cmp4
#define EM_GEN_RECORD bytes4
#define EM_GEN_LESS(a, b) (emi_compare_call((emi_compare *)arg, a, b) < 0)
#include <extmem/gen/order.h>

typedef struct bytes8 {
	unsigned char b[8];
} bytes8;

#define EM_GEN_NAME cmp8
#define EM_GEN_RECORD bytes8
#define EM_GEN_LESS(a, b) (emi_compare_call((emi_compare *)arg, a, b) < 0)
#include <extmem/gen/order.h>

typedef struct bytes12 {
	unsigned char b[12];
} bytes12;

#define EM_GEN_NAME cmp12
#define EM_GEN_RECORD bytes12
#define EM_GEN_LESS(a, b) (emi_compare_call((emi_compare *)arg, a, b) < 0)
#include <extmem/gen/order.h>

typedef struct bytes16 {
	unsigned char b[16];
} bytes16;

#define EM_GEN_NAME cmp16
#define EM_GEN_RECORD bytes16
#define EM_GEN_LESS(a, b) (emi_compare_call((emi_compare *)arg, a, b) < 0)
#include <extmem/gen/order.h>

typedef struct bytes20 {
	unsigned char b[20];
} bytes20;

#define EM_GEN_NAME cmp20
#define EM_GEN_RECORD bytes20
#define EM_GEN_LESS(a, b) (emi_compare_call((emi_compare *)arg, a, b) < 0)
#include <extmem/gen/order.h>

typedef struct bytes24 {
	unsigned char b[24];
} bytes24;

#define EM_GEN_NAME cmp24
#define EM_GEN_RECORD bytes24
#define EM_GEN_LESS(a, b) (emi_compare_call((emi_compare *)arg, a, b) < 0)
#include <extmem/gen/order.h>

typedef struct bytes32 {
	unsigned char b[32];
} bytes32;

#define EM_GEN_NAME cmp32
#define EM_GEN_RECORD bytes32
#define EM_GEN_LESS(a, b) (emi_compare_call((emi_compare *)arg, a, b) < 0)
#include <extmem/gen/order.h>

typedef struct bytes40 {
	unsigned char b[40];
} bytes40;

#define EM_GEN_NAME cmp40
#define EM_GEN_RECORD bytes40
#define EM_GEN_LESS(a, b) (emi_compare_call((emi_compare *)arg, a, b) < 0)
#include <extmem/gen/order.h>

typedef struct bytes48 {
	unsigned char b[48];
} bytes48;

#define EM_GEN_NAME cmp48
#define EM_GEN_RECORD bytes48
#define EM_GEN_LESS(a, b) (emi_compare_call((emi_compare *)arg, a, b) < 0)
#include <extmem/gen/order.h>

typedef struct bytes64 {
	unsigned char b[64];
} bytes64;

#define EM_GEN_NAME cmp64
#define EM_GEN_RECORD bytes64
#define EM_GEN_LESS(a, b) (emi_compare_call((emi_compare *)arg, a, b) < 0)
#include <extmem/gen/order.h>

const em_kernels *emi_cmp_kernels(size_t record_bytes)
{
	switch (record_bytes) {
	case 4: return &cmp4_kernels;
	case 8: return &cmp8_kernels;
	case 12: return &cmp12_kernels;
	case 16: return &cmp16_kernels;
	case 20: return &cmp20_kernels;
	case 24: return &cmp24_kernels;
	case 32: return &cmp32_kernels;
	case 40: return &cmp40_kernels;
	case 48: return &cmp48_kernels;
	case 64: return &cmp64_kernels;
	default: return NULL;
	}
}
