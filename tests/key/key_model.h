/* SPDX-License-Identifier: BSL-1.0 */
/*
 * key_model.h -- what the tests of src/key share: a context without disks, and what "sorted" means, written
 * down once more in the most literal way, with no bit tricks to share a mistake with.
 */
#ifndef EM_KEY_MODEL_H
#define EM_KEY_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <extmem/order.h>

#include "base/context.h"
#include "../common/test.h"

/* A context that only has a budget.  allocator may be NULL.  Nothing needs to be released. */
void model_ctx(em_ctx *ctx, const em_allocator *allocator);
/* Fail the test unless all objects of the context were released. */
void model_ctx_assert_clean(const em_ctx *ctx);

/* One for all tests of a program, and numbers by the seed: what a group of tests begins and ends with. */
extern em_ctx key_ctx;
extern test_rng key_rng;
int key_setup(void **state);
int key_teardown(void **state);

/* An order that has to be made. */
em_order *model_order(em_ctx *ctx, uint64_t record_size, const em_key *keys, uint32_t n);

/* Bytes of a field. */
size_t model_width(const em_key *key);

/* Write a number as a field's type and byte order say; for floats the number is their bits. */
void model_write(const em_key *key, unsigned char *record, uint64_t bits);

/* Compare two records by one key, or by n of them: -1, 0, 1. */
int model_compare_key(const em_key *key, const unsigned char *a, const unsigned char *b);
int model_compare(const em_key *keys, uint32_t n, const unsigned char *a, const unsigned char *b);

/* Values of a numeric type in ascending order, both ends of the domain and all that is special included. */
#define MODEL_MAX_VALUES 32
size_t model_values(int32_t type, uint64_t bits[MODEL_MAX_VALUES]);

/* Fill records with bytes of which many are equal or at an end of their domain. */
void model_fill(test_rng *rng, void *records, size_t bytes);

/* A random field within a record of record_size bytes; byte strings have at most max_bytes. */
em_key model_random_key(test_rng *rng, size_t record_size, size_t max_bytes);

#endif
