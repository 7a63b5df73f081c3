/* SPDX-License-Identifier: BSL-1.0 */
/* preload_cases.h -- what the command does while calls of the system fail. */
#ifndef CLI_PRELOAD_CASES_H
#define CLI_PRELOAD_CASES_H

/* Run the sweeps of all cases, as main() returns it; all: with every call failing, however long that takes. */
int preload_cases_run(const char *name, int all);

#endif
