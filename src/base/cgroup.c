/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cgroup.c -- the memory limit that a container or a service manager set.
 *
 * /proc/self/cgroup names the group of this process in every hierarchy: "0::/a/b" in version 2,
 * "4:memory:/a/b" in version 1.  /proc/self/mountinfo tells where a hierarchy is mounted and which group is the top of
 * that mount (inside a container often not "/").  Group minus top, below the mount point, is the directory whose
 * limit holds for us; those of the directories above it, up to the mount point, hold too.
 *
 * Whatever is missing or strange sets no limit: nothing here can fail.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"

/* Longer lines are of no interest: nobody names a group like that. */
#define LINE 1024
/* Limits from here on mean "none"; version 1 writes the largest multiple of a page. */
#define NO_LIMIT (UINT64_C(1) << 62)

/* One mounted hierarchy that can limit memory, and our place in it. */
typedef struct group {
	const char *fstype;     /* "cgroup2" or "cgroup" */
	const char *files[2];   /* the limits in a directory; the second may be NULL */
	char path[LINE];        /* the group of this process; "" when there is none */
	char top[LINE];         /* the group at the mount point */
	char mount[LINE];       /* "" when it is not mounted */
} group;

static FILE *open_below(const char *root, const char *path)
{
	char name[2 * LINE];
	int n = snprintf(name, sizeof(name), "%s%s", root, path);

	if (n < 0 || (size_t)n >= sizeof(name))
		return NULL;
	return fopen(name, "re");
}

/* Read a line without its newline; one that does not fit comes back empty.  0 at the end. */
static int read_line(FILE *f, char *line)
{
	size_t n;
	int c;

	if (fgets(line, LINE, f) == NULL)
		return 0;
	n = strlen(line);
	if (n > 0 && line[n - 1] == '\n') {
		line[n - 1] = '\0';
	} else if (n == LINE - 1) {
		line[0] = '\0';
		do
			c = getc(f);
		while (c != EOF && c != '\n');
	}
	return 1;
}

/* Is name an element of a comma-separated list that ends at `end'? */
static int listed(const char *list, const char *end, const char *name)
{
	size_t n = strlen(name);

	while (list < end) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		const char *stop = comma != NULL ? comma : end;

		if ((size_t)(stop - list) == n && memcmp(list, name, n) == 0)
			return 1;
		list = stop + 1;
	}
	return 0;
}

/* Fill path from /proc/self/cgroup: "id:controllers:path", no controllers in version 2. */
static void find_path(group *g, const char *root, int version)
{
	char line[LINE];
	FILE *f = open_below(root, "/proc/self/cgroup");

	if (f == NULL)
		return;
	while (read_line(f, line)) {
		char *list = strchr(line, ':');
		char *path = list != NULL ? strchr(list + 1, ':') : NULL;

		if (path == NULL)
			continue;
		if (version == 2 ? path == list + 1 : listed(list + 1, path, "memory")) {
			memcpy(g->path, path + 1, strlen(path + 1) + 1);
			break;
		}
	}
	fclose(f);
}

/* Undo the "\040" of mountinfo in place. */
static void unescape(char *s)
{
	char *to = s;

	while (*s != '\0') {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* Cut off and return the next field of a line, or NULL. */
static char *next_field(char **rest)
{
	char *field = *rest;
	char *space;

	if (field == NULL || *field == '\0')
		return NULL;
	space = strchr(field, ' ');
	if (space != NULL)
		*space++ = '\0';
	*rest = space;
	return field;
}

/* "36 35 98:0 /top /mount rw,noatime shared:1 - cgroup2 source rw,memory": is it this hierarchy? */
static int parse_mount(group *g, char *line)
{
	char *rest = line;
	char *top = NULL;
	char *mount = NULL;
	char *field;
	int i;

	for (i = 0; i < 5; i++) {
		field = next_field(&rest);
		if (i == 3)
			top = field;
		if (i == 4)
			mount = field;
	}
	if (top == NULL || mount == NULL)
		return 0;
	do
		field = next_field(&rest);
	while (field != NULL && strcmp(field, "-") != 0);
	field = next_field(&rest);
	if (field == NULL || strcmp(field, g->fstype) != 0)
		return 0;
	if (strcmp(g->fstype, "cgroup") == 0) {
		(void)next_field(&rest);
		field = next_field(&rest);
		if (field == NULL || !listed(field, field + strlen(field), "memory"))
			return 0;
	}
	unescape(top);
	unescape(mount);
	memcpy(g->top, top, strlen(top) + 1);
	memcpy(g->mount, mount, strlen(mount) + 1);
	return 1;
}

static void find_mount(group *g, const char *root)
{
	char line[LINE];
	FILE *f = open_below(root, "/proc/self/mountinfo");

	if (f == NULL)
		return;
	while (read_line(f, line) && !parse_mount(g, line))
		continue;
	fclose(f);
}

/* The limit in a file of a directory: a number, or "max". */
static uint64_t read_limit(const char *root, const char *dir, const char *file)
{
	char line[LINE];
	char name[2 * LINE];
	uint64_t limit = UINT64_MAX;
	char *end;
	FILE *f;
	int n;

	n = snprintf(name, sizeof(name), "%s/%s", dir, file);
	if (n < 0 || (size_t)n >= sizeof(name))
		return limit;
	f = open_below(root, name);
	if (f == NULL)
		return limit;
	if (read_line(f, line) && line[0] >= '0' && line[0] <= '9') {
		limit = strtoull(line, &end, 10);
		if (*end != '\0' || limit >= NO_LIMIT)
			limit = UINT64_MAX;
	}
	fclose(f);
	return limit;
}

/* The least limit of the directory and of those above it, up to the first `top' bytes of its name. */
static uint64_t least_upwards(const group *g, const char *root, char *dir, size_t top)
{
	uint64_t least = UINT64_MAX;
	char *slash;
	size_t i;

	for (;;) {
		for (i = 0; i < 2 && g->files[i] != NULL; i++) {
			uint64_t limit = read_limit(root, dir, g->files[i]);

			if (limit < least)
				least = limit;
		}
		slash = strrchr(dir, '/');
		if (slash == NULL || (size_t)(slash - dir) < top)
			return least;
		*slash = '\0';
	}
}

/* The part of the group's path below the top of the mount; "" when it is elsewhere or is the top. */
static const char *below_top(const group *g)
{
	size_t n = strlen(g->top);

	if (n == 1)
		n = 0; /* "/" */
	if (strncmp(g->path, g->top, n) != 0 || g->path[n] != '/' || g->path[n + 1] == '\0' ||
	    strstr(g->path, "/..") != NULL)
		return "";
	return g->path + n;
}

static uint64_t limit_of(group *g, const char *root, int version)
{
	char dir[2 * LINE];

	g->path[0] = g->top[0] = g->mount[0] = '\0';
	find_path(g, root, version);
	if (g->path[0] != '/')
		return UINT64_MAX;
	find_mount(g, root);
	if (g->mount[0] == '\0')
		return UINT64_MAX;
	snprintf(dir, sizeof(dir), "%s%s", g->mount, below_top(g));
	return least_upwards(g, root, dir, strlen(g->mount));
}

uint64_t emi_cgroup_memory(const char *root)
{
	uint64_t a, b;
	group g;

	g.fstype = "cgroup2";
	g.files[0] = "memory.max";
	g.files[1] = "memory.high";
	a = limit_of(&g, root, 2);
	g.fstype = "cgroup";
	g.files[0] = "memory.limit_in_bytes";
	g.files[1] = NULL;
	b = limit_of(&g, root, 1);
	return a < b ? a : b;
}
