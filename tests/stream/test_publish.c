/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_publish.c -- how outputs take their place: on the disk first, with all that the old file had, or within it.
 *
 * What a system does only now and then is done by functions of this program's own (hooks.h).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <extmem/sys/backend.h>

#include "stream/hooks.h"
#include "stream/sink_test.h"

static int setup(void **state)
{
	unhook();
	*state = test_dir_make();
	return 0;
}

static int teardown(void **state)
{
	unhook();
	test_dir_remove(*state);
	return 0;
}

static ino_t inode_of(const char *path)
{
	struct stat sb;

	assert_int_equal(lstat(path, &sb), 0);
	return sb.st_ino;
}

static mode_t mode_of(const char *path)
{
	struct stat sb;

	assert_int_equal(lstat(path, &sb), 0);
	return sb.st_mode & 07777;
}

/* Where nobody can tell what attributes a file has, none that exists is replaced. */
#ifdef HAVE_FLISTXATTR
#define CAN_REPLACE 1
#else
#define CAN_REPLACE 0
#endif

/* Data is on the disk before a name is made or changed: when bringing it there fails, no name is. */
static void test_synced_first(void **state)
{
	static const int32_t direct[] = { EM_DIRECT_OFF, EM_DIRECT_TRY };
	char *path = test_path(*state, "out");
	int existing, named;
	size_t d;

	for (d = 0; d < 2; d++)
		for (existing = 0; existing < 2; existing++)
			for (named = 0; named < 2; named++) {
				em_fault fault;
				em_errinfo err;
				em_ctx *ctx;

				assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
				fault.ops = EM_FAULT_SYNC;
				ctx = stream_ctx(direct[d], NULL, &fault, NULL);
				if (existing)
					stream_write_file(path, "old", 3);
				if (named) {
					fault.sys_errno = EOPNOTSUPP;
					em_fault_set(&fault, EM_FAULT_OPEN, 1, 1);
				}
				assert_int_equal(sink_write_out(ctx, path, "newer", 5, PAGE, 5, &err), EM_OK);
				if (!named)
					assert_in_range(fault.count, existing && !CAN_REPLACE ? 0 : 1, 1);
				stream_assert_file(path, "newer", 5);

				if (!existing)
					assert_int_equal(unlink(path), 0);
				fault.sys_errno = EIO;
				em_fault_set(&fault, EM_FAULT_SYNC, 1, UINT64_MAX);
				if (CAN_REPLACE || !existing) {
					assert_int_equal(sink_write_out(ctx, path, "newest", 6, PAGE, 6, &err),
							 EM_ERR_IO);
					assert_non_null(strstr(err.text, "sync"));
					if (existing)
						stream_assert_file(path, "newer", 5);
				}
				assert_int_equal(sink_entries(*state), existing);
				em_ctx_close(ctx);
				unlink(path);
			}
	free(path);
}

/* An access control list as the kernel takes it: what the owner, one more user, the group, all of them, and others
 * may. */
static size_t make_acl(unsigned char *to, int user, int named, int group, int mask, int other)
{
	static const unsigned tag[] = { 1, 2, 4, 16, 32 };
	const int perm[] = { user, named, group, mask, other };
	size_t i, n = 4;

	memset(to, 0, 44);
	to[0] = 2;
	for (i = 0; i < 5; i++, n += 8) {
		to[n] = (unsigned char)tag[i];
		to[n + 2] = (unsigned char)perm[i];
		memset(to + n + 4, tag[i] == 2 ? 0 : 255, 4);
		if (tag[i] == 2)
			to[n + 5] = 0x30;
	}
	return n;
}

static size_t get_attribute(const char *path, const char *name, unsigned char *to, size_t room)
{
	const ssize_t n = getxattr(path, name, to, room);

	return n < 0 ? 0 : (size_t)n;
}

/* The list and other attributes of the old file are the new one's; nobody's rights grow. */
static void test_attributes(void **state)
{
	char *path = test_path(*state, "out"), big[3000];
	unsigned char acl[64], got[4000];
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	const size_t n = make_acl(acl, 6, 6, 4, 6, 0);
	em_errinfo err;
	ino_t before;

	memset(big, 'b', sizeof(big));
	stream_write_file(path, "old", 3);
	assert_int_equal(chmod(path, 0640), 0);
	if (setxattr(path, "system.posix_acl_access", acl, n, 0) || setxattr(path, "user.k", "v", 1, 0) ||
	    setxattr(path, "user.empty", "", 0, 0) || setxattr(path, "user.big", big, sizeof(big), 0)) {
		print_message("# no access control lists or attributes here (%s)\n", strerror(errno));
		unlink(path);
		em_ctx_close(ctx);
		free(path);
		return;
	}
	before = inode_of(path);
	assert_int_equal(mode_of(path), 0660);
	assert_int_equal(sink_write_out(ctx, path, "new", 3, PAGE, 0, &err), EM_OK);
	stream_assert_file(path, "new", 3);
	assert_true(CAN_REPLACE == (inode_of(path) != before));
	assert_int_equal(mode_of(path), 0660);
	assert_int_equal(get_attribute(path, "system.posix_acl_access", got, sizeof(got)), n);
	assert_memory_equal(got, acl, n);
	assert_int_equal(get_attribute(path, "user.k", got, sizeof(got)), 1);
	assert_int_equal(got[0], 'v');
	assert_int_equal(getxattr(path, "user.empty", got, sizeof(got)), 0);
	assert_int_equal(get_attribute(path, "user.big", got, sizeof(got)), sizeof(big));
	assert_memory_equal(got, big, sizeof(big));
	em_ctx_close(ctx);
	free(path);
}

/* A directory gives new files a list: one that takes the place of an old one must not have it, and one that is new
 * must, as others. */
static void test_inherited(void **state)
{
	char *path = test_path(*state, "out"), *other = test_path(*state, "other");
	unsigned char acl[64], got[64], want[64];
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	const size_t n = make_acl(acl, 7, 6, 5, 7, 0);
	em_errinfo err;
	size_t bytes;
	int fd;

	stream_write_file(path, "old", 3);
	assert_int_equal(chmod(path, 0664), 0);
	if (setxattr(*state, "system.posix_acl_default", acl, n, 0)) {
		print_message("# no access control lists here (%s)\n", strerror(errno));
	} else {
		assert_int_equal(sink_write_out(ctx, path, "new", 3, PAGE, 0, &err), EM_OK);
		assert_int_equal(mode_of(path), 0664);
		assert_int_equal(get_attribute(path, "system.posix_acl_access", got, sizeof(got)), 0);
		assert_int_equal(unlink(path), 0);

		assert_int_equal(sink_write_out(ctx, path, "new", 3, PAGE, 0, &err), EM_OK);
		fd = open(other, O_WRONLY | O_CREAT, 0666);
		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(mode_of(path), mode_of(other));
		bytes = get_attribute(other, "system.posix_acl_access", want, sizeof(want));
		assert_true(bytes > 0);
		assert_int_equal(get_attribute(path, "system.posix_acl_access", got, sizeof(got)), bytes);
		assert_memory_equal(got, want, bytes);
	}
	em_ctx_close(ctx);
	free(path);
	free(other);
}

/* Other names of a file stay names of it. */
static void test_links(void **state)
{
	char *path = test_path(*state, "out"), *second = test_path(*state, "second"), *data = sink_make_data(3000000);
	em_errinfo err;
	emi_sink *s;
	int late, direct;

	for (direct = EM_DIRECT_TRY; direct <= EM_DIRECT_OFF; direct++)
		for (late = 0; late < 2; late++) {
			em_ctx *ctx = stream_ctx(direct, NULL, NULL, NULL);
			ino_t before;

			stream_write_file(path, data + 1, 100000);
			before = inode_of(path);
			if (!late)
				assert_int_equal(link(path, second), 0);
			/* Given up, it leaves everything as it was. */
			assert_int_equal(emi_sink_open(&s, ctx, path, 3000000, NULL, NULL), EM_OK);
			assert_int_equal(sink_put_all(s, data, 3000000, 30000, NULL), EM_OK);
			stream_assert_file(path, data + 1, 100000);
			emi_sink_close(s);
			stream_assert_file(path, data + 1, 100000);

			assert_int_equal(emi_sink_open(&s, ctx, path, 3000000, NULL, NULL), EM_OK);
			assert_int_equal(sink_put_all(s, data, 3000000, 30001, NULL), EM_OK);
			if (late)
				assert_int_equal(link(path, second), 0);
			assert_int_equal(emi_sink_commit(s, NULL), EM_OK);
			emi_sink_close(s);
			assert_int_equal(sink_entries(*state), 2);
			stream_assert_file(second, data, 3000000);
			assert_int_equal(inode_of(path), before);
			/* Shorter than what there was. */
			assert_int_equal(sink_write_out(ctx, second, data + 5, 4099, PAGE, 0, &err), EM_OK);
			stream_assert_file(path, data + 5, 4099);
			assert_int_equal(inode_of(path), before);
			assert_int_equal(sink_entries(*state), 2);
			assert_int_equal(unlink(second), 0);
			em_ctx_close(ctx);
		}
	free(data);
	free(path);
	free(second);
}

/* Whatever keeps the name from changing: then the contents do, in the same file. */
static void test_in_place(void **state)
{
	static const int why[] = { EBUSY, EPERM, EACCES, EXDEV, EROFS };
	char *path = test_path(*state, "out"), *data = sink_make_data(300000);
	em_errinfo err;
	size_t i;
	int named;

	for (named = 0; named < 2; named++)
		for (i = 0; i < sizeof(why) / sizeof(why[0]) + 1; i++) {
			em_fault fault;
			em_ctx *ctx;
			ino_t before;

			assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
			fault.ops = EM_FAULT_OPEN;
			fault.nth = named ? 1 : 0;
			fault.sys_errno = EOPNOTSUPP;
			ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
			stream_write_file(path, "old", 3);
			if (getuid() == 0)
				assert_int_equal(chown(path, 12345, 23456), 0);
			before = inode_of(path);
			if (i < sizeof(why) / sizeof(why[0]))
				hook.rename = why[i];
			else
				hook.fchown = EPERM;
			assert_int_equal(sink_write_out(ctx, path, data, 300000, 30000, 300000, &err), EM_OK);
			unhook();
			stream_assert_file(path, data, 300000);
			/* (One's own file needs no change of the owner.) */
			if (i < sizeof(why) / sizeof(why[0]) || getuid() == 0)
				assert_int_equal(inode_of(path), before);
			assert_int_equal(sink_entries(*state), 1);
			em_ctx_close(ctx);
			assert_int_equal(unlink(path), 0);
		}
	free(data);
	free(path);
}

/* Other failures are failures, and one who has replaced the file meanwhile has it. */
static void test_not_in_place(void **state)
{
	char *path = test_path(*state, "out"), *other = test_path(*state, "other");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;
	emi_sink *s;

	if (CAN_REPLACE) {
		stream_write_file(path, "old", 3);
		hook.rename = EIO;
		assert_int_equal(sink_write_out(ctx, path, "new", 3, PAGE, 0, &err), EM_ERR_IO);
		assert_non_null(strstr(err.text, "rename"));
		stream_assert_file(path, "old", 3);

		hook.rename = EBUSY;
		assert_int_equal(emi_sink_open(&s, ctx, path, 0, NULL, NULL), EM_OK);
		assert_int_equal(sink_put_all(s, "new", 3, PAGE, NULL), EM_OK);
		stream_write_file(other, "other", 5);
		assert_int_equal(renameat(AT_FDCWD, other, AT_FDCWD, path), 0);
		assert_int_not_equal(emi_sink_commit(s, NULL), EM_OK);
		emi_sink_close(s);
		stream_assert_file(path, "other", 5);
		assert_int_equal(sink_entries(*state), 1);
	}
	em_ctx_close(ctx);
	free(path);
	free(other);
}

/* A file that may be written in a directory that may not. */
static void test_closed_directory(void **state)
{
	char *dir = test_path(*state, "closed"), *path = test_path(dir, "out");
	char *data = sink_make_data(100000);
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;
	em_status st;
	ino_t before;

	assert_int_equal(chmod(*state, 0755), 0);
	assert_int_equal(mkdir(dir, 0755), 0);
	stream_write_file(path, "old", 3);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(chmod(dir, 0555), 0);
	before = inode_of(path);
	stream_not_root();
	st = sink_write_out(ctx, path, data, 100000, 30000, 100000, &err);
	stream_root_again();
	if (st != EM_OK)
		fail_msg("%s", err.text);
	stream_assert_file(path, data, 100000);
	assert_int_equal(inode_of(path), before);
	assert_int_equal(sink_entries(dir), 1);
	assert_int_equal(chmod(dir, 0755), 0);
	em_ctx_close(ctx);
	free(data);
	free(path);
	free(dir);
}

/* In a process of its own: 0, the number of what went wrong, or 100: may not mount. */
static int onto_mounted(const char *dir, const char *data)
{
	char *a = test_path(dir, "a"), *b = test_path(dir, "b");
	em_errinfo err;
	em_ctx *ctx;

	stream_write_file(a, "", 0);
	stream_write_file(b, "", 0);
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount(a, b, NULL, MS_BIND, NULL) != 0)
		return 100;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	if (ctx == NULL)
		return 1;
	if (sink_write_out(ctx, b, data, 300000, 40000, 300000, &err) != EM_OK)
		return 2;
	if (sink_entries(dir) != 2)
		return 3;
	em_ctx_close(ctx);
	stream_assert_file(b, data, 300000);
	stream_assert_file(a, data, 300000);
	return 0;
}

static void test_mounted(void **state)
{
	char *data = sink_make_data(300000);
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(onto_mounted(*state, data));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 100)
		print_message("# nothing can be mounted here: a file that is mounted is tested with a rename() that "
			      "fails only\n");
	else
		assert_int_equal(WEXITSTATUS(status), 0);
	free(data);
}

/* In place, a disk without room for the longer file, a failing read and a failing sync: told, and the first leaves what
 * there was. */
static void test_in_place_fails(void **state)
{
	char *path = test_path(*state, "out"), *second = test_path(*state, "second"), *data = sink_make_data(100000);
	em_fault fault;
	em_errinfo err;
	em_ctx *ctx;
	emi_sink *s;

	stream_write_file(path, "old", 3);
	assert_int_equal(link(path, second), 0);
	assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
	em_fault_set(&fault, 0, 0, 0);
#ifdef HAVE_FALLOCATE
	assert_int_equal(emi_sink_open(&s, ctx, path, 0, NULL, NULL), EM_OK);
	assert_int_equal(sink_put_all(s, data, 100000, 30000, NULL), EM_OK);
	hook.fallocate = ENOSPC;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_sink_commit(s, &err), EM_ERR_NOSPACE);
	assert_non_null(strstr(err.text, "overwrite"));
	emi_sink_close(s);
	unhook();
	stream_assert_file(second, "old", 3);
#endif
	assert_int_equal(emi_sink_open(&s, ctx, path, 0, NULL, NULL), EM_OK);
	assert_int_equal(sink_put_all(s, data, 100000, 30000, NULL), EM_OK);
	em_fault_set(&fault, EM_FAULT_READ, 1, UINT64_MAX);
	assert_int_equal(emi_sink_commit(s, NULL), EM_ERR_IO);
	emi_sink_close(s);
	stream_assert_file(second, "old", 3);
	em_fault_set(&fault, 0, 0, 0);
	assert_int_equal(emi_sink_open(&s, ctx, path, 0, NULL, NULL), EM_OK);
	assert_int_equal(sink_put_all(s, data, 100000, 30000, NULL), EM_OK);
	hook.fsync = EIO;
	assert_int_equal(emi_sink_commit(s, NULL), EM_ERR_IO);
	unhook();
	emi_sink_close(s);
	assert_int_equal(sink_entries(*state), 2);
	em_ctx_close(ctx);
	free(data);
	free(path);
	free(second);
}

/* What close() has to say is heard: of a new file, of one that is replaced, of one that is overwritten, and of a
 * device.  That it was interrupted is nothing. */
static void test_close_fails(void **state)
{
	static const int why[] = { EIO, ENOSPC, EDQUOT, EINTR };
	char *path = test_path(*state, "out"), *second = test_path(*state, "second");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t i;
	int way;

	for (way = 0; way < 4; way++)
		for (i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
			em_errinfo err;
			em_status st;
			emi_sink *s;

			if (way > 0)
				stream_write_file(path, "old", 3);
			if (way == 2)
				assert_int_equal(link(path, second), 0);
			assert_int_equal(emi_sink_open(&s, ctx, way < 3 ? path : "/dev/null", 0, NULL, NULL), EM_OK);
			assert_int_equal(sink_put_all(s, "new", 3, PAGE, NULL), EM_OK);
			memset(&err, 0, sizeof(err));
			hook.close = why[i];
			st = emi_sink_commit(s, &err);
			unhook();
			emi_sink_close(s);
			if (why[i] == EINTR) {
				assert_int_equal(st, EM_OK);
			} else {
				assert_int_equal(st, why[i] == EIO ? EM_ERR_IO : EM_ERR_NOSPACE);
				assert_int_equal(err.sys_errno, why[i]);
				assert_non_null(strstr(err.text, "close"));
			}
			if (way < 2 && st != EM_OK && (CAN_REPLACE || way == 0))
				assert_int_equal(sink_entries(*state), way);
			if (way == 1 && st != EM_OK && CAN_REPLACE)
				stream_assert_file(path, "old", 3);
			unlink(path);
			unlink(second);
		}
	em_ctx_close(ctx);
	free(path);
	free(second);
}

/* Calls that are interrupted, or do less than they were to, are made again: for a new file, one that is replaced, one
 * that is overwritten, and a device. */
static void test_interrupted(void **state)
{
	char *path = test_path(*state, "out"), *second = test_path(*state, "second"), *data = sink_make_data(300000);
	static const char *const backends[] = { "syscall", "mmap" };
	em_errinfo err;
	em_status st;
	size_t i;
	int way;

	for (way = 0; way < 4; way++)
		for (i = 0; i < 2; i++) {
			em_ctx *ctx = stream_ctx(EM_DIRECT_OFF, backends[i], NULL, NULL);

			if (way > 0)
				stream_write_file(path, "old", 3);
			if (way == 2)
				assert_int_equal(link(path, second), 0);
			hook.interrupts = 1;
			st = sink_write_out(ctx, way < 3 ? path : "/dev/null", data, 300000, 33333, 300000, &err);
			hook.interrupts = 0;
			assert_int_equal(st, EM_OK);
			assert_true(hook.calls > 4);
			if (way < 3)
				stream_assert_file(path, data, 300000);
			unhook();
			unlink(path);
			unlink(second);
			em_ctx_close(ctx);
		}
	free(data);
	free(path);
	free(second);
}

/* Looking at what stands there touches nothing, whatever comes of it. */
static void test_look_fails(void **state)
{
	static const int why[] = { EIO, ESTALE, ENOMEM, EACCES };
	char *path = test_path(*state, "out");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;
	size_t i;

	for (i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
		stream_write_file(path, "old", 3);
		hook.stats = 1;
		hook.stat = why[i];
		assert_int_not_equal(sink_write_out(ctx, path, "newer", 5, PAGE, 0, &err), EM_OK);
		unhook();
		assert_int_equal(err.sys_errno, why[i]);
		stream_assert_file(path, "old", 3);
		assert_int_equal(sink_entries(*state), 1);
	}
	em_ctx_close(ctx);
	free(path);
}

/* Somebody renames another file to the name between opening and looking: that one is the output then, and the first
 * one, which has another name, is nobody's to write. */
static void test_look_again(void **state)
{
	char *path = test_path(*state, "out"), *kept = test_path(*state, "kept"), *other = test_path(*state, "other");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;

	stream_write_file(path, "kept", 4);
	assert_int_equal(link(path, kept), 0);
	stream_write_file(other, "other", 5);
	assert_int_equal(chmod(other, 0604), 0);
	hook.stats = 1;
	hook.over = other;
	assert_int_equal(sink_write_out(ctx, path, "new", 3, PAGE, 0, &err), EM_OK);
	unhook();
	stream_assert_file(path, "new", 3);
	stream_assert_file(kept, "kept", 4);
	assert_int_equal(mode_of(path), 0604);
	assert_int_equal(sink_entries(*state), 2);
	em_ctx_close(ctx);
	free(path);
	free(kept);
	free(other);
}

/* The path that a name shows does not stand for the file it leads to: the contents go into it, once they are
 * complete. */
static void test_no_way_there(void **state)
{
	char *path = test_path(*state, "out"), *gone = test_path(*state, "gone"), name[64], got[16];
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;
	emi_sink *s;
	int fd;

	stream_write_file(path, "older", 5);
	hook.elsewhere = 1;
	assert_int_equal(emi_sink_open(&s, ctx, path, 0, NULL, NULL), EM_OK);
	assert_int_equal(sink_put_all(s, "new", 3, PAGE, NULL), EM_OK);
	stream_assert_file(path, "older", 5);
	assert_int_equal(emi_sink_commit(s, NULL), EM_OK);
	emi_sink_close(s);
	unhook();
	stream_assert_file(path, "new", 3);

	/* A name in /proc of one that was removed, and its directory. */
	assert_int_equal(mkdir(gone, 0700), 0);
	snprintf(name, sizeof(name), "%s/f", gone);
	fd = open(name, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "older", 5), 5);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(rmdir(gone), 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	assert_int_equal(emi_sink_open(&s, ctx, name, 0, NULL, NULL), EM_OK);
	assert_int_equal(sink_put_all(s, "x", 1, PAGE, NULL), EM_OK);
	emi_sink_close(s);
	assert_int_equal(pread(fd, got, sizeof(got), 0), 5);
	assert_int_equal(sink_write_out(ctx, name, "new", 3, PAGE, 0, &err), EM_OK);
	assert_int_equal(pread(fd, got, sizeof(got), 0), 3);
	assert_memory_equal(got, "new", 3);
	close(fd);
	em_ctx_close(ctx);
	free(path);
	free(gone);
}

/* Whoever ends the process has the names of what is not complete removed, and no new one appears. */
static void test_abandoned(void **state)
{
	char *path = test_path(*state, "out"), *other = test_path(*state, "other");
	em_fault fault;
	em_errinfo err;
	emi_sink *s, *second;
	em_ctx *ctx;

	assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
	fault.ops = EM_FAULT_OPEN;
	fault.nth = 1;
	fault.times = 1;
	fault.sys_errno = EOPNOTSUPP;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
	assert_int_equal(emi_sink_open(&s, ctx, path, 0, NULL, NULL), EM_OK);
	assert_int_equal(emi_sink_open(&second, ctx, other, 0, NULL, NULL), EM_OK);
	assert_int_equal(sink_put_all(s, "new", 3, PAGE, NULL), EM_OK);
	assert_int_equal(sink_entries(*state), 1);
	em_ctx_abandon(ctx);
	em_ctx_abandon(NULL);
	assert_int_equal(sink_entries(*state), 0);
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_sink_commit(s, &err), EM_ERR_CANCELED);
	assert_int_equal(err.status, EM_ERR_CANCELED);
	assert_int_equal(emi_sink_commit(second, NULL), EM_ERR_CANCELED);
	emi_sink_close(s);
	emi_sink_close(second);
	em_fault_set(&fault, EM_FAULT_OPEN, 1, 1);
	assert_int_equal(emi_sink_open(&s, ctx, path, 0, NULL, NULL), EM_ERR_CANCELED);
	assert_int_equal(sink_entries(*state), 0);
	em_ctx_close(ctx);
	free(path);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_synced_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_attributes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inherited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_in_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mounted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_place_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_close_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interrupted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_way_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_abandoned, setup, teardown),
	};

	return cmocka_run_group_tests_name("publish", tests, NULL, NULL);
}
