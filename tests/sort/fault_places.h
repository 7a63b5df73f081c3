/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fault_places.h -- a backend that lets an operation fail by the place that asked for it.
 *
 * It stands in front of an em_fault, which does the failing: when the operation comes that is to fail, others wait,
 * and the fault is told that the next one does.  The place of a transfer is where its request was submitted, as far
 * as the linker lets the tests look (--wrap); otherwise, and for what is left of a transfer that was short, where the
 * transfer is made.
 */
#ifndef EM_FAULT_PLACES_H
#define EM_FAULT_PLACES_H

#include <extmem/sys/fault.h>

#include "common/place.h"

/* Have this fault, whose settings do not matter, fail as places say; NULL: as it says itself.  One at a time. */
void fault_places_set(em_fault *fault, test_places *places);

/* The backend for a context: that of the fault, with these places. */
const em_backend *fault_places_backend(void);

#endif
