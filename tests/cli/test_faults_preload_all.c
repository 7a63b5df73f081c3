/* SPDX-License-Identifier: BSL-1.0 */
/* test_faults_preload_all.c -- every call of the system that the command makes fails; see preload_sweep.h. */
#include "cli/preload_cases.h"

int main(void)
{
	return preload_cases_run("faults_preload_all", 1);
}
