/* SPDX-License-Identifier: BSL-1.0 */
/* test_faults_preload.c -- at each place where the command calls the system, calls fail; see preload_sweep.h. */
#include "cli/preload_cases.h"

int main(void)
{
	return preload_cases_run("faults_preload", 0);
}
