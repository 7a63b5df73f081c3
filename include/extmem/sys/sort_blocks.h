/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/sort_blocks.h  Sorting records that lie in lists of blocks.
 *
 * (STXXL's sort of a vector whose blocks are striped; Dementiev and Sanders 2003, section 2.4: input and output can use
 * any kind of striping.) A list whose blocks go round the disks is what a file is to one disk: whoever reads ahead in
 * it, or writes behind, has all disks at work. Input, runs and output are on the same disks here, and take their space
 * from one another; that is the sort for those who have D disks, and all their data on them.
 *
 *     em_block_writer_finish(w, &list);
 *     em_sort_blocks(&sorted, &list, 1, order, EM_BLOCKS_CONSUME, NULL, NULL);
 *     em_block_list_close(list);
 *     em_block_reader_open(&r, sorted, NULL);
 *
 * This is the extension tier: weaker promises between minor versions until 1.0.
 */
#ifndef EXTMEM_SYS_SORT_BLOCKS_H
#define EXTMEM_SYS_SORT_BLOCKS_H

#include <extmem/sort.h>
#include <extmem/sys/block_stream.h>

EM_BEGIN_DECLS

/**
 * Sort the records of n >= 1 lists, one after the other, into a new list. All lists are on one em_disks, and so is the
 * new one: its blocks have the same size and belong to the same owner, block i is on disk i mod D unless that is full,
 * and it is the caller's to close. Equal records come out in the order in which they came in.
 *
 * flags: EM_BLOCKS_CONSUME, or 0. Lists that are consumed are empty, all of them, from when reading begins, and their
 * blocks are freed as they are read, whether the sort fails later or not; the lists themselves stay the caller's to
 * close. So sorted in place, disks hold about N and a memory full; otherwise the input is there besides. The lists must
 * not be closed, consumed or freed while they are sorted; other readers may be at them if they are not consumed.
 *
 * opts: as of em_sort_files(); NULL: the defaults. opts->block_bytes must be 0 or the block size of the lists, as runs
 * have blocks of that size, too; EM_SORT_UNIQUE is not supported. Memory beside what em_sort_plan() tells: an eighth is
 * for reading ahead (a quarter, where blocks are that large), and 16 bytes for each block of the output. stats may be
 * NULL; otherwise it is filled also after a failure. The detail of a failure is in opts->errinfo; that of a transfer
 * names file and offset.
 *
 * Two passes over N records of R bytes read 2NR/B blocks and write as many; what fits in memory is read and written
 * once. Lists are read ahead across their ends, as one would be. One thread per list at a time; workers of the context
 * take part.
 *
 * Returns (after a failure *out is NULL, and blocks of runs and of the output are freed):
 *   EM_OK
 *   EM_ERR_INVAL     out, lists, one of them or order is NULL; n is 0; a flag or an option is unknown or illegal; lists
 *                    differ in disks, block size or record size; the order is of records of any length or of another
 *                    size, or of another context; opts->block_bytes is another
 *   EM_ERR_VERSION   opts or stats was made without its initialiser
 *   EM_ERR_STATE     EM_BLOCKS_CONSUME, and a list has a reader or is named twice; a block of a list was freed, or
 *                    never written. (Blocks of another owner are read, but not freed, which is logged.)
 *   EM_ERR_NOTSUP    EM_SORT_UNIQUE; opts->compress
 *   EM_ERR_MEMLIMIT  the memory is too little; the detail names the least that would do
 *   EM_ERR_NOSPACE   all disks are full, or em_ctx_opts.scratch_max is too little
 *   EM_ERR_IO        as the system says
 *   EM_ERR_CORRUPT   a file ends within a block
 *   EM_ERR_USER      a function of the order failed: one that compares, or computes keys
 *   EM_ERR_CANCELED  opts->progress said so
 *   EM_ERR_NOMEM, EM_ERR_FORK
 */
EM_API EM_NODISCARD em_status em_sort_blocks(em_block_list **out, em_block_list *const *lists, uint32_t n,
					     const em_order *order, uint32_t flags, const em_sort_opts *opts,
					     em_sort_stats *stats);

EM_END_DECLS

#endif
