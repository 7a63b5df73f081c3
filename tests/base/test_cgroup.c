/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cgroup.c -- memory limits of control groups, read from trees of files as Linux shows them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "common/test.h"

#define NONE UINT64_MAX

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT                                                                                                       \
	"31 23 0:27 / /sys/fs/cgroup/cpu rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n"                                 \
	"32 23 0:28 / /sys/fs/cgroup/memory rw shared:6 master:1 - cgroup cgroup rw,memory\n"
#define OTHER_MOUNT "23 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"

/* What was made, in order, for removal in reverse. */
typedef struct tree {
	char *root;
	char *made[64];
	int n;
} tree;

static void plant(tree *t)
{
	t->root = test_dir_make();
	t->n = 0;
}

/* Write a file, making the directories on the way. */
static void put(tree *t, const char *path, const char *text)
{
	char *name = test_path(t->root, path);
	char *slash;
	FILE *f;

	for (slash = strchr(name + strlen(t->root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(name, 0700) == 0) {
			t->made[t->n] = strdup(name);
			t->n++;
		}
		*slash = '/';
	}
	f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	t->made[t->n++] = name;
}

static void fell(tree *t)
{
	while (t->n > 0) {
		t->n--;
		assert_int_equal(remove(t->made[t->n]), 0);
		free(t->made[t->n]);
	}
	assert_dir_empty(t->root);
	test_dir_remove(t->root);
}

static void nothing_there(void **state)
{
	tree t;

	(void)state;
	plant(&t);
	assert_true(emi_cgroup_memory(t.root) == NONE);
	put(&t, "proc/self/cgroup", "0::/a\n");
	assert_true(emi_cgroup_memory(t.root) == NONE);
	put(&t, "proc/self/mountinfo", OTHER_MOUNT);
	assert_true(emi_cgroup_memory(t.root) == NONE);
	fell(&t);
}

static void version_2(void **state)
{
	tree t;

	(void)state;
	plant(&t);
	put(&t, "proc/self/cgroup", "0::/system.slice/x.service\n");
	put(&t, "proc/self/mountinfo", OTHER_MOUNT V2_MOUNT);
	assert_true(emi_cgroup_memory(t.root) == NONE);
	put(&t, "sys/fs/cgroup/system.slice/x.service/memory.max", "max\n");
	assert_true(emi_cgroup_memory(t.root) == NONE);
	/* one above limits too */
	put(&t, "sys/fs/cgroup/system.slice/memory.max", "2000000000\n");
	assert_int_equal(emi_cgroup_memory(t.root), 2000000000);
	put(&t, "sys/fs/cgroup/system.slice/x.service/memory.high", "1000000000\n");
	assert_int_equal(emi_cgroup_memory(t.root), 1000000000);
	/* a group beside ours, and what lies above the mount, do not */
	put(&t, "sys/fs/cgroup/other/memory.max", "5\n");
	put(&t, "sys/fs/memory.max", "6\n");
	assert_int_equal(emi_cgroup_memory(t.root), 1000000000);
	put(&t, "sys/fs/cgroup/memory.max", "7000\n");
	assert_int_equal(emi_cgroup_memory(t.root), 7000);
	fell(&t);
}

static void version_1(void **state)
{
	tree t;

	(void)state;
	plant(&t);
	put(&t, "proc/self/cgroup", "5:cpu,cpuacct:/c\n4:hugetlb,memory:/m/n\n1:name=systemd:/s\n");
	put(&t, "proc/self/mountinfo", OTHER_MOUNT V1_MOUNT);
	put(&t, "sys/fs/cgroup/memory/m/n/memory.limit_in_bytes", "9223372036854771712\n");
	assert_true(emi_cgroup_memory(t.root) == NONE);
	put(&t, "sys/fs/cgroup/cpu/m/n/memory.limit_in_bytes", "3\n");
	assert_true(emi_cgroup_memory(t.root) == NONE);
	put(&t, "sys/fs/cgroup/memory/m/memory.limit_in_bytes", "536870912\n");
	assert_int_equal(emi_cgroup_memory(t.root), 536870912);
	fell(&t);
}

/* Both at once: memory is in version 1, and version 2 has no controllers. */
static void hybrid(void **state)
{
	tree t;

	(void)state;
	plant(&t);
	put(&t, "proc/self/cgroup", "4:memory:/m\n0::/u\n");
	put(&t, "proc/self/mountinfo",
	    "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" V1_MOUNT);
	put(&t, "sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1048576\n");
	put(&t, "sys/fs/cgroup/unified/u/cgroup.procs", "");
	assert_int_equal(emi_cgroup_memory(t.root), 1048576);
	fell(&t);
}

/* A container whose mount begins at its own group, while /proc tells the path from the top. */
static void top_of_the_mount(void **state)
{
	tree t;

	(void)state;
	plant(&t);
	put(&t, "proc/self/cgroup", "0::/docker/0123/inner\n");
	put(&t, "proc/self/mountinfo", "30 23 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
	put(&t, "sys/fs/cgroup/inner/memory.max", "40960\n");
	put(&t, "sys/fs/cgroup/memory.max", "81920\n");
	assert_int_equal(emi_cgroup_memory(t.root), 40960);
	fell(&t);

	/* a name that only begins alike, and a path that leads out of the namespace: the mount's own limit */
	plant(&t);
	put(&t, "proc/self/cgroup", "0::/docker/01234\n");
	put(&t, "proc/self/mountinfo", "30 23 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
	put(&t, "sys/fs/cgroup/memory.max", "81920\n");
	assert_int_equal(emi_cgroup_memory(t.root), 81920);
	fell(&t);
	plant(&t);
	put(&t, "proc/self/cgroup", "0::/../../x\n");
	put(&t, "proc/self/mountinfo", V2_MOUNT);
	put(&t, "sys/fs/memory.max", "1\n");
	put(&t, "sys/x/memory.max", "1\n");
	put(&t, "sys/fs/cgroup/memory.max", "12345678\n");
	assert_int_equal(emi_cgroup_memory(t.root), 12345678);
	fell(&t);
}

static void escaped_names(void **state)
{
	tree t;

	(void)state;
	plant(&t);
	put(&t, "proc/self/cgroup", "0::/a b:c\n");
	put(&t, "proc/self/mountinfo", "30 23 0:26 / /my\\040groups rw - cgroup2 none rw\n");
	put(&t, "my groups/a b:c/memory.max", "99\n");
	assert_int_equal(emi_cgroup_memory(t.root), 99);
	fell(&t);
}

static void garbage(void **state)
{
	static const char *const limits[] = { "", "\n", "-5\n", "12x\n", "x\n", "99999999999999999999999\n", " 5\n" };
	char longline[5000];
	tree t;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		plant(&t);
		put(&t, "proc/self/cgroup", "\n:\n::\nnonsense\n0::/g");
		put(&t, "proc/self/mountinfo", "\n \n-\n1 2 3 4 5\n1 2 3 / /m -\n" V2_MOUNT);
		put(&t, "sys/fs/cgroup/g/memory.max", limits[i]);
		assert_true(emi_cgroup_memory(t.root) == NONE);
		fell(&t);
	}
	/* lines longer than anything are passed over */
	memset(longline, 'z', sizeof(longline));
	memcpy(longline, "0::/", 4);
	memcpy(longline + sizeof(longline) - 8, "\n0::/g\n", 8);
	plant(&t);
	put(&t, "proc/self/cgroup", longline);
	put(&t, "proc/self/mountinfo", V2_MOUNT);
	put(&t, "sys/fs/cgroup/g/memory.max", "77");
	assert_int_equal(emi_cgroup_memory(t.root), 77);
	fell(&t);
}

/* Whatever this machine says, it is one of the two. */
static void this_machine(void **state)
{
	uint64_t limit = emi_cgroup_memory("");

	(void)state;
	assert_true(limit == NONE || limit < (uint64_t)1 << 62);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(version_2),
		cmocka_unit_test(version_1),
		cmocka_unit_test(hybrid),
		cmocka_unit_test(top_of_the_mount),
		cmocka_unit_test(escaped_names),
		cmocka_unit_test(garbage),
		cmocka_unit_test(this_machine),
	};

	return cmocka_run_group_tests_name("base/cgroup", tests, NULL, NULL);
}
