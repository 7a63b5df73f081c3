/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/progress.h  Watching and stopping long work.
 */
#ifndef EXTMEM_PROGRESS_H
#define EXTMEM_PROGRESS_H

#include <extmem/base.h>

EM_BEGIN_DECLS

/** Phases of a sort, in the order in which they come; a phase may be left out.  Later versions may have more. */
#define EM_PHASE_RUNS 0   /**< Reading the input and forming runs. */
#define EM_PHASE_MERGE 1  /**< Merging passes whose output goes back to scratch. */
#define EM_PHASE_OUTPUT 2 /**< The last merge, whose output is the result. */

/** The name of a phase: "runs", "merge", "output"; "?" where there is none: phases are numbered from 0 without gaps.
 *  Static; any thread. */
EM_API const char *em_phase_name(uint32_t phase);

/**
 * Called on the thread that called the library, at least five times a second while a call
 * is at work or waits.  done and total are bytes of the phase; done never falls within a
 * phase, total is 0 where it is not known.  Return 0 to go on; anything else stops the work: the
 * call returns EM_ERR_CANCELED.  A call on the object that it watches is EM_ERR_BUSY (extmem/base.h).
 */
typedef int (*em_progress_fn)(void *user, uint32_t phase, uint64_t done, uint64_t total);

EM_END_DECLS

#endif
