/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_plan.c -- which runs extmem bench io makes.
 *
 * A table is a text file whose first line names the columns; each line that follows is a set of parameters, and a field
 * may be a list as in an option.  Columns are separated by ';' if the first line has one, otherwise by ','; lists
 * within a field then by blanks.  What --csv prints is such a table: its columns of results are skipped.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_io.h"
#include "cli/message.h"

#define COLUMNS_MOST 32u
#define ELEMENT_MOST ((uint64_t)1 << 30)
#define STREAMS_MOST 10000u

const char *const bench_column[] = {
	"op", "kind", "n", "k", "block", "element", "repeat",
	"cache", "median_s", "min_s", "max_s", "cpu_s", "predicted_ios", "counted_ios", "bytes", NULL,
};

const char *bench_op_name(uint32_t op)
{
	return op == BENCH_WRITE ? "write" : "read";
}

uint32_t bench_op_find(const char *name)
{
	return !strcmp(name, "read") ? BENCH_READ : !strcmp(name, "write") ? BENCH_WRITE : 0;
}

int bench_has_block(uint32_t kind)
{
	return kind == EM_ELEMENT_BUFFERB || kind == EM_ELEMENT_MAPPING;
}

const char *bench_set_read(bench_set *set, uint32_t i, const char *text)
{
	const char *wrong;

	switch (i) {
	case 0:
		return bench_list_words(&set->ops, text, bench_op_find);
	case 1:
		return bench_list_words(&set->kinds, text, em_element_kind_find);
	case 2:
		return bench_list_numbers(&set->n, text, 0, 1, INT64_MAX);
	case 3:
		return bench_list_numbers(&set->k, text, 0, 1, STREAMS_MOST);
	case 4:
		return bench_list_numbers(&set->block, text, 1, 1, SIZE_MAX / 4);
	case 5:
		return bench_list_numbers(&set->element, text, 1, 1, ELEMENT_MOST);
	default:
		wrong = bench_list_numbers(&set->repeat, text, 0, 1, BENCH_REPEAT_MOST);
		return wrong || set->repeat.n == 1 ? wrong : "it is one number";
	}
}

static int append(bench_plan *plan, const char *command, const bench_run *run)
{
	bench_run *larger;

	if (run->n > (uint64_t)INT64_MAX / run->element) {
		message(command, "no file can hold %" PRIu64 " elements of %" PRIu64 " bytes", run->n, run->element);
		return -1;
	}
	if (plan->n == plan->room) {
		plan->room = plan->room ? 2 * plan->room : 64;
		larger = realloc(plan->run, plan->room * sizeof(*larger));
		if (!larger) {
			message_errno(command, "the list of runs", ENOMEM);
			return -1;
		}
		plan->run = larger;
	}
	plan->run[plan->n++] = *run;
	return 0;
}

/* The i-th combination; whatever does not matter to a kind is there once: returns 0 for the others. */
static int combination(const bench_set *set, uint64_t i, bench_run *run)
{
	const bench_list *list[] = { &set->ops, &set->block, &set->n, &set->k, &set->kinds, &set->element };
	uint64_t value[sizeof(list) / sizeof(list[0])];
	int first_block = 1;
	size_t j;

	for (j = 0; j < sizeof(list) / sizeof(list[0]); j++) {
		value[j] = list[j]->value[i % list[j]->n];
		if (j == 1)
			first_block = i % list[j]->n == 0;
		i /= list[j]->n;
	}
	run->op = (uint32_t)value[0];
	run->block = value[1];
	run->n = value[2];
	run->k = (uint32_t)value[3];
	run->kind = (uint32_t)value[4];
	run->element = value[5];
	run->repeat = (uint32_t)set->repeat.value[0];
	if (bench_has_block(run->kind))
		return 1;
	run->block = 0;
	return first_block;
}

int bench_plan_add(bench_plan *plan, const char *command, const bench_set *set)
{
	const uint64_t all = (uint64_t)set->ops.n * set->kinds.n * set->n.n * set->k.n * set->block.n * set->element.n;
	bench_run run;
	uint64_t i;

	for (i = 0; i < all; i++)
		if (combination(set, i, &run) && append(plan, command, &run))
			return -1;
	return 0;
}

typedef struct table {
	const char *command, *path;
	FILE *file;
	char *line;
	size_t room;
	uint64_t number;        /* of the line, from 1 */
	char separator;
	uint32_t column[COLUMNS_MOST]; /* their places in bench_column[] */
	uint32_t columns;
} table;

/* The next line that is neither empty nor a comment, without its end: 1, 0 when there is none, -1 on failure. */
static int next_line(table *t)
{
	ssize_t n;

	do {
		errno = 0;
		n = getline(&t->line, &t->room, t->file);
		if (n < 0 && (ferror(t->file) || errno)) {
			message_errno(t->command, input_name(t->path), errno ? errno : EIO);
			return -1;
		}
		if (n < 0)
			return 0;
		t->number++;
		t->line[strcspn(t->line, "\r\n")] = '\0';
	} while (!*t->line || *t->line == '#');
	return 1;
}

static int complain(const table *t, const char *field, const char *what)
{
	message(t->command, "%s: line %" PRIu64 ": %s: %s", input_name(t->path), t->number, field, what);
	return -1;
}

/* Cut the next field off, without the blanks around it; NULL at the end of the line. */
static char *next_field(char **rest, char separator)
{
	char *field = *rest, *end;

	if (!field)
		return NULL;
	end = strchr(field, separator);
	*rest = end ? end + 1 : NULL;
	if (!end)
		end = field + strlen(field);
	while (end > field && end[-1] == ' ')
		end--;
	*end = '\0';
	return field + strspn(field, " ");
}

static int read_header(table *t)
{
	char *rest = t->line, *field;
	uint32_t i, j;

	t->separator = strchr(t->line, ';') ? ';' : ',';
	while ((field = next_field(&rest, t->separator))) {
		for (i = 0; bench_column[i] && strcmp(bench_column[i], field); i++)
			continue;
		if (!bench_column[i])
			return complain(t, field, "there is no such column");
		for (j = 0; j < t->columns; j++)
			if (t->column[j] == i)
				return complain(t, field, "this column is there twice");
		t->column[t->columns++] = i;
	}
	return 0;
}

static int read_row(const table *t, bench_set *set)
{
	char *rest = t->line, *field;
	const char *wrong;
	uint32_t i = 0;

	while ((field = next_field(&rest, t->separator))) {
		if (i == t->columns)
			return complain(t, field, "there are more fields than columns");
		if (t->column[i] < BENCH_PARAMETERS && *field && strcmp(field, "-")) {
			wrong = bench_set_read(set, t->column[i], field);
			if (wrong)
				return complain(t, bench_column[t->column[i]], wrong);
		}
		i++;
	}
	return 0;
}

static int read_table(table *t, bench_plan *plan, const bench_set *defaults)
{
	bench_set set;
	int more = next_line(t);

	if (more <= 0) {
		if (!more)
			message(t->command, "%s: the table is empty", input_name(t->path));
		return -1;
	}
	if (read_header(t))
		return -1;
	while ((more = next_line(t)) > 0) {
		set = *defaults;
		if (read_row(t, &set) || bench_plan_add(plan, t->command, &set))
			return -1;
	}
	return more;
}

int bench_plan_table(bench_plan *plan, const char *command, const char *path, const bench_set *set)
{
	table t;
	int ret;

	memset(&t, 0, sizeof(t));
	t.command = command;
	t.path = path;
	t.file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (!t.file) {
		message_errno(command, path, errno);
		return -1;
	}
	ret = read_table(&t, plan, set);
	free(t.line);
	if (t.file != stdin)
		fclose(t.file);
	return ret;
}

void bench_plan_free(bench_plan *plan)
{
	free(plan->run);
	memset(plan, 0, sizeof(*plan));
}
