/* SPDX-License-Identifier: BSL-1.0 */
/*
 * preload.h -- what the environment tells preload.c, and what it tells back.
 *
 *	EXTMEM_PRELOAD_LOG=FILE                         without it nothing happens
 *	EXTMEM_PRELOAD_FAIL="CALL KEY NTH TIMES HOW"    nothing fails without it
 *	TMPDIR=DIR                                      where scratch is, to tell it from other files
 *
 * Of the calls of one function, at the place that the hexadecimal KEY stands for (0: at any), the NTH fails, and
 * those behind it, TIMES in all.  HOW is an errno, or PRELOAD_SHORT: half of the bytes are moved; or PRELOAD_ZERO:
 * none, and the call returns 0.
 *
 * When the process ends, FILE has a line "injected N", and for each place that was reached a line "CALL KIND KEY
 * COUNT".  KIND is a letter for the kind of file: s scratch, o an output without a name, f a file, p a pipe or a
 * terminal, - none.
 */
#ifndef CLI_PRELOAD_H
#define CLI_PRELOAD_H

#define PRELOAD_SHORT (-1)
#define PRELOAD_ZERO (-2)

/* Direct transfers that are short move so many bytes, or a multiple. */
#define PRELOAD_PAGE 4096u

/* Of the name of a function, with the NUL. */
#define PRELOAD_NAME 24

#endif
