/* SPDX-License-Identifier: BSL-1.0 */
/*
 * constants.c -- constants of the public headers by their names, for languages that cannot read them: those of
 * constants.inc, which are sorted, and then the statuses.
 */
#include <stddef.h>
#include <string.h>

#include <extmem.h>
#include <extmem/sys/backend.h>
#include <extmem/sys/block.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/element_stream.h>
#include <extmem/sys/fault.h>
#include <extmem/sys/placement.h>
#include <extmem/sys/schedule.h>
#include <extmem/sys/simdisk.h>
#include <extmem/sys/sort_blocks.h>
#include <extmem/sys/typed_block.h>

typedef struct constant {
	const char *name;
	int64_t value;
} constant;

#define EM_CONSTANT(name) {#name, (int64_t)(name)},
#define EM_STATUS(name, value, text) {"EM_" #name, value},
static const constant constants[] = {
#include "abi/constants.inc"
#include <extmem/status.def>
};

#define N ((uint32_t)(sizeof constants / sizeof constants[0]))

uint32_t em_constant_count(void)
{
	return N;
}

const char *em_constant_at(uint32_t i)
{
	return i < N ? constants[i].name : NULL;
}

int em_constant(const char *name, int64_t *value)
{
	uint32_t i;

	if (name == NULL || value == NULL)
		return 0;
	for (i = 0; i < N; i++)
		if (strcmp(constants[i].name, name) == 0) {
			*value = constants[i].value;
			return 1;
		}
	return 0;
}
