/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench.h -- the benchmarks of extmem bench.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

/* argv[0] is its full name, "extmem bench io". */
int bench_io(int argc, char **argv);
int bench_blocks(int argc, char **argv);

#endif
