/* SPDX-License-Identifier: BSL-1.0 */
/*
 * status.c -- names and texts of statuses, from the one table (extmem/status.def).
 */
#include <extmem/status.h>

typedef struct status_entry {
	em_status value;
	const char *name;
	const char *text;
} status_entry;

static const status_entry table[] = {
#define EM_STATUS(name, value, text) { value, "EM_" #name, text },
#include <extmem/status.def>
#undef EM_STATUS
};

#define COUNT ((uint32_t)(sizeof(table) / sizeof(table[0])))

/* The table has two dozen entries and is only searched after a failure. */
static const status_entry *find(em_status status)
{
	uint32_t i;

	for (i = 0; i < COUNT; i++)
		if (table[i].value == status)
			return &table[i];
	return NULL;
}

const char *em_status_text(em_status status)
{
	const status_entry *e = find(status);

	return e != NULL ? e->text : "unknown status";
}

const char *em_status_name(em_status status)
{
	const status_entry *e = find(status);

	return e != NULL ? e->name : "EM_?";
}

uint32_t em_status_count(void)
{
	return COUNT;
}

em_status em_status_at(uint32_t i)
{
	return i < COUNT ? table[i].value : EM_ERR_RANGE;
}
