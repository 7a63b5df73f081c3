/* SPDX-License-Identifier: BSL-1.0 */
/*
 * subjects.h -- every struct that begins with its size, as its initialiser makes it, and a call that takes it.
 *
 * A subject has the size that its struct had in the first release.  What a program of then relies on is looked at in
 * test_first.c.  The library makes em_backend_open, so that is no subject.
 */
#ifndef EM_ABI_SUBJECTS_H
#define EM_ABI_SUBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include <extmem.h>
#include <extmem/gen/kernels.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/element_stream.h>
#include <extmem/sys/fault.h>
#include <extmem/sys/output.h>
#include <extmem/sys/pool.h>
#include <extmem/sys/simdisk.h>
#include <extmem/sys/sort_blocks.h>

/* first_STRUCT: the size of the first release. */
#define EM_FIRST(type, field) first_##type = offsetof(type, field) + sizeof(((type *)NULL)->field),
enum {
#include "base/structs.inc"
};
#undef EM_FIRST

/* A struct as an initialiser makes it, and what is done with it. */
typedef struct subject {
	const char *name;
	size_t first;
	em_status (*use)(void *theirs);
	int told;               /* a refusal has a detail */
	union {
		uint32_t size;
		em_allocator allocator;
		em_backend backend;
		em_block_list_info list_info;
		em_block_pool_opts pool_opts;
		em_block_writer_opts writer_opts;
		em_block_reader_opts reader_opts;
		em_cache_opts cache_opts;
		em_check_opts check_opts;
		em_container_opts container_opts;
		em_ctx_opts ctx_opts;
		em_deque_reader_opts deque_reader_opts;
		em_disk_opts disk_opts;
		em_disks_opts disks_opts;
		em_file_opts file_opts;
		em_format format;
		em_kernels kernels;
		em_output_opts output_opts;
		em_policy policy;
		em_btree_load_opts btree_load_opts;
		em_btree_opts btree_opts;
		em_pq_opts pq_opts;
		em_radix_heap_opts radix_heap_opts;
		em_runs_merge_opts runs_merge_opts;
		em_runs_opts runs_opts;
		em_shuffle_opts shuffle_opts;
		em_sort_opts sort_opts;
		em_element_opts element_opts;
		em_join_opts join_opts;
		em_lines_join_opts lines_join_opts;
		em_sink_ops sink_ops;
		em_stream_ops stream_ops;
		em_tee_opts tee_opts;
		em_text_opts text_opts;
		em_unique_opts unique_opts;
		em_vector_opts vector_opts;
		em_vector_stream_opts vector_stream_opts;
		unsigned char bytes[4096];
	} u;
} subject;

/* From subjects_open() to subjects_close(), which are a group's fixture. */
extern subject subjects[];
extern size_t nsubjects;
/* The detail of the last call that has one. */
extern em_errinfo subjects_err;

int subjects_open(void **state);
int subjects_close(void **state);

/* Write a little through a backend. */
em_status subject_backend(void *theirs);

#endif
