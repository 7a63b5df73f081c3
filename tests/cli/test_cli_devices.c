/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_devices.c -- block devices as disks for scratch, and measuring disks.
 *
 * The devices are loop devices on files.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/run.h"
#include "common/test.h"
#include "io/conform_fs.h"

#define SORT "sort", "--record-size=16", "--run-size=10000", "--block-size=4096", "--no-progress"

enum { RECORDS = 60000, MIB = 1 << 20, SIZE = 6 * MIB, OPTION = 512 };

static int setup(void **state)
{
	fixture_make(state);
	fixture_add_records(*state, RECORDS);
	return 0;
}

typedef struct device {
	fixture *f;
	int fd;
	char path[64];
	unsigned char *before, *now;
	size_t bytes;
	test_rng rng;
} device;

/* A device full of random bytes, with sectors of that size; 0 where it cannot be had. */
static int device_open(device *d, fixture *f, size_t bytes, unsigned sector)
{
	memset(d, 0, sizeof *d);
	d->rng = test_rng_make(test_seed());
	d->f = f;
	d->bytes = bytes;
	d->before = malloc(bytes);
	d->now = malloc(bytes);
	assert_non_null(d->before);
	assert_non_null(d->now);
	test_fill(&d->rng, d->before, bytes);
	write_file(f->in[1], d->before, bytes);
	assert_int_equal(chmod(f->in[1], 0600), 0);
	d->fd = conform_loop(f->in[1], bytes, d->path);
	if (d->fd >= 0 && conform_loop_sectors(d->fd, sector))
		return 1;
	if (d->fd >= 0)
		conform_loop_close(d->fd);
	free(d->before);
	free(d->now);
	return 0;
}

/* Nothing from there on was written, and something before it, if that was to be.  Then it has new bytes, as the next
 * sort writes what this one did. */
static void expect_untouched(device *d, size_t from, int used)
{
	assert_int_equal(pread(d->fd, d->now, d->bytes, 0), d->bytes);
	assert_memory_equal(d->now + from, d->before + from, d->bytes - from);
	if (from)
		assert_int_equal(memcmp(d->now, d->before, from) != 0, used);
	test_fill(&d->rng, d->before, d->bytes);
	assert_int_equal(pwrite(d->fd, d->before, d->bytes, 0), d->bytes);
	assert_int_equal(fsync(d->fd), 0);
}

static void device_close(device *d)
{
	conform_loop_close(d->fd);
	free(d->before);
	free(d->now);
}

static void expect_sorted(const device *d, const char *more, const char *other)
{
	char disk[OPTION];
	run r;

	snprintf(disk, sizeof disk, "--disk=%s%s", d->path, more);
	run_command(&r, NULL, SORT, "-o", d->f->out, d->f->in[0], disk, other, NULL);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	assert_file(d->f->out, d->f->sorted, d->f->bytes);
	run_free(&r);
}

static void expect_refused(const device *d, const char *more, const char *what)
{
	char disk[OPTION];

	snprintf(disk, sizeof disk, "--disk=%s%s", d->path, more);
	expect_trouble(NULL, d->path, what, SORT, "-o/dev/null", d->f->in[0], disk, NULL);
}

/* As far as its capacity goes, and not a byte further. */
static void on_device(device *d)
{
	char disk[OPTION], want[OPTION];
	run r;

	expect_refused(d, "", "not empty");
	expect_refused(d, ",2M", "not empty");
	expect_untouched(d, 0, 0);
	expect_sorted(d, ",2M,,force", NULL);
	expect_untouched(d, (size_t)2 * MIB, 1);
	expect_sorted(d, ",3M,syscall,force,direct=on,queue=3", NULL);
	expect_untouched(d, (size_t)3 * MIB, 1);
	expect_sorted(d, ",3M,,force,direct=off", NULL);
	expect_untouched(d, (size_t)3 * MIB, 1);
	/* That it is too small is known before anything is written. */
	expect_refused(d, ",256K,,force", "limited to 262144 bytes");
	expect_untouched(d, 0, 0);
	/* A full one is passed over. */
	snprintf(disk, sizeof disk, "-T%s", d->f->scratch);
	expect_sorted(d, ",256K,,force", disk);
	expect_untouched(d, 256 << 10, 1);

	snprintf(disk, sizeof disk, "--disk=%s,1G,,force", d->path);
	run_command(&r, NULL, "disks", "--csv", disk, NULL);
	assert_status(&r, 0);
	snprintf(want, sizeof want, "%s,device,,", d->path);
	assert_non_null(strstr(r.out, want));
	snprintf(want, sizeof want, ",1,%d,%d,", (int)d->bytes, (int)d->bytes);
	assert_non_null(strstr(r.out, want));
	run_free(&r);
	snprintf(disk, sizeof disk, "--disk=%s", d->path);
	run_command(&r, NULL, "disks", disk, NULL);
	assert_status(&r, 2);
	assert_non_null(strstr(r.err, "the option force"));
	assert_non_null(strstr(r.out, d->path));
	run_free(&r);
	snprintf(disk, sizeof disk, "--disk=%s,,,force", d->path);
	run_command(&r, NULL, "disks", "--measure", disk, NULL);
	assert_status(&r, 2);
	assert_non_null(strstr(r.err, "measuring takes at least 8M of space"));
	run_free(&r);
	expect_untouched(d, 0, 0);
}

static void with_sectors(fixture *f, unsigned sector)
{
	device d;

	if (!device_open(&d, f, SIZE, sector))
		skip();
	on_device(&d);
	device_close(&d);
}

static void test_device(void **state)
{
	with_sectors(*state, 512);
}

/* With sectors of 4096 bytes, direct transfers of less are impossible. */
static void test_device_4096(void **state)
{
	with_sectors(*state, 4096);
}

/* One that is smaller than scratch is full, whatever was said of its capacity. */
static void test_device_full(void **state)
{
	device d;

	if (!device_open(&d, *state, 512 << 10, 4096))
		skip();
	expect_refused(&d, ",,,force", "limited to 524288 bytes");
	expect_refused(&d, ",1G,,force", "limited to 524288 bytes");
	device_close(&d);
}

/* The line behind the last `block-size'. */
static void copy_line(char *to, size_t room, const char *text)
{
	const char *line = strstr(text, "\nblock-size = ");

	assert_non_null(line);
	line++;
	assert_in_range(strcspn(line, "\n"), 1, room - 2);
	memcpy(to, line, strcspn(line, "\n") + 1);
	to[strcspn(line, "\n") + 1] = '\0';
}

/* All sizes are measured, nothing stays, and what is recommended can stand in a configuration file. */
static void test_measure(void **state)
{
	const fixture *f = *state;
	char t[OPTION], disk[OPTION], line[64], option[OPTION];
	unsigned rows = 0;
	const char *p;
	run r;

	snprintf(t, sizeof t, "-T%s", f->scratch);
	snprintf(disk, sizeof disk, "--disk=%s/new,16M", f->scratch);
	run_command(&r, NULL, "disks", "--measure=8M", "--csv", "--no-warnings", t, disk, NULL);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	for (p = r.out; (p = strchr(p, '\n')) != NULL; p++) {
		unsigned long long block;
		double write, read;

		if (!p[1])
			break;
		p = strchr(p, ',');
		assert_non_null(p);
		assert_int_equal(sscanf(p, ",%llu,%lf,%lf,", &block, &write, &read), 3);
		assert_int_equal(block, (unsigned long long)(64 << 10) << rows % 8);
		assert_true(write > 0 && read > 0);
		rows++;
	}
	assert_int_equal(rows, 16);
	run_free(&r);
	assert_dir_empty(f->scratch);

	/* On a disk that takes the same time for any block the smallest is as good. */
	snprintf(disk, sizeof disk, "--disk=%s,,simdisk,rate=2GB,seek=1us", f->scratch);
	run_command(&r, NULL, "disks", "--measure=8M", disk, NULL);
	assert_status(&r, 0);
	copy_line(line, sizeof line, r.out);
	run_free(&r);
	write_text(f->in[1], line);
	snprintf(option, sizeof option, "--config=%s", f->in[1]);
	run_command(&r, NULL, "disks", "--json", option, NULL);
	assert_status(&r, 0);
	assert_null(strstr(r.out, "\"block_size\": null"));
	run_free(&r);

	/* A file that was there is empty afterwards, if it may be overwritten at all. */
	write_text(f->in[2], "precious");
	snprintf(disk, sizeof disk, "--disk=%s", f->in[2]);
	run_command(&r, NULL, "disks", "--measure=8M", disk, NULL);
	assert_status(&r, 2);
	assert_non_null(strstr(r.err, "the option force"));
	assert_file(f->in[2], "precious", 8);
	run_free(&r);
	snprintf(disk, sizeof disk, "--disk=%s,,,force", f->in[2]);
	run_command(&r, NULL, "disks", "--measure=8M", "--json", disk, NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "\"recommended_block_size\": "));
	assert_non_null(strstr(r.out, "\"measured\": [{\"block\": 65536, "));
	assert_file(f->in[2], "", 0);
	run_free(&r);
	expect_trouble(NULL, "--measure 7M", "at least", "disks", "--measure=7M", NULL);
}

/* A slow disk, of which much is to be measured, when somebody has seen enough. */
static void test_interrupted(void **state)
{
	const fixture *f = *state;
	char disk[OPTION], other[OPTION];
	const char *args[] = { "disks", "--measure=1G", disk, other, NULL };
	run r;

	snprintf(disk, sizeof disk, "--disk=%s,,simdisk,rate=1MB", f->scratch);
	snprintf(other, sizeof other, "--disk=%s/new", f->scratch);
	run_start(&r, NULL, args);
	usleep(100000);
	assert_int_equal(kill(r.pid, SIGINT), 0);
	run_wait(&r);
	assert_int_equal(r.signal, SIGINT);
	assert_dir_empty(f->scratch);
	run_free(&r);
	/* The other way round, so that it is the file which is written. */
	args[2] = other;
	args[3] = disk;
	run_start(&r, NULL, args);
	usleep(100000);
	assert_int_equal(kill(r.pid, SIGTERM), 0);
	run_wait(&r);
	assert_int_equal(r.signal, SIGTERM);
	assert_dir_empty(f->scratch);
	run_free(&r);
}

/* What is printed of disks, and of those that are none. */
static void test_listing(void **state)
{
	const fixture *f = *state;
	char t[OPTION], disk[OPTION], want[OPTION + 64];
	run_setup setup = { 0 };
	run r;

	snprintf(t, sizeof t, "-T%s", f->scratch);
	snprintf(disk, sizeof disk, "--disk=%s/a\\,\"b,3M,syscall,direct=off,queue=9", f->scratch);
	run_command(&r, NULL, "disks", "--csv", t, disk, NULL);
	assert_status(&r, 0);
	assert_ptr_equal(strstr(r.out, "path,kind,file_system,backend,direct,capacity,free,queue\n"), r.out);
	snprintf(want, sizeof want, "\n%s,directory,", f->scratch);
	assert_non_null(strstr(r.out, want));
	snprintf(want, sizeof want, "\n\"%s/a,\"\"b\",new file,", f->scratch);
	assert_non_null(strstr(r.out, want));
	assert_non_null(strstr(r.out, ",syscall,0,3145728,3145728,9\n"));
	run_free(&r);
	run_command(&r, NULL, "disks", "--json", "--backend=memory", t, NULL);
	assert_status(&r, 0);
	assert_ptr_equal(strstr(r.out, "{\"from\": \"options\", \"config\": null, \"block_size\": null, "
				       "\"scratch_max\": null, \"disks\": [\n {\"path\": \""),
			 r.out);
	assert_non_null(strstr(r.out, "\"file_system\": null, \"backend\": \"memory\", \"direct\": false, "
				      "\"capacity\": null, \"free\": null, "));
	run_free(&r);
	setup.env[0] = "EXTMEM_TMPDIR=/";
	run_command(&r, &setup, "disks", NULL);
	assert_status(&r, 0);
	assert_ptr_equal(strstr(r.out, "disks: EXTMEM_TMPDIR\n"), r.out);
	run_free(&r);
	expect_trouble(NULL, "x: no files are read", "--disk", "disks", "x", NULL);
	run_command(&r, NULL, "disks", "--csv", "--disk=/dev/null", t, NULL);
	assert_status(&r, 2);
	assert_non_null(strstr(r.err, "/dev/null: neither a directory"));
	assert_non_null(strstr(r.out, "\n/dev/null,other,,"));
	assert_non_null(strstr(r.out, f->scratch));
	run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_device, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_device_4096, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_device_full, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_listing, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_measure, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_interrupted, setup, fixture_free),
	};

	return cmocka_run_group_tests(tests, run_setup_group, NULL);
}
