/* SPDX-License-Identifier: BSL-1.0 */
/* subjects_io.c -- structs of contexts, backends, files and what is read and written through them; see subjects.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "abi/subjects_case.h"

static void *own_alloc(void *user, size_t bytes)
{
	(void)user;
	return malloc(bytes);
}

static void own_release(void *user, void *ptr, size_t bytes)
{
	(void)user;
	(void)bytes;
	free(ptr);
}

static em_status open_ctx(const em_ctx_opts *opts)
{
	em_ctx *c;
	const em_status st = em_ctx_open(&c, opts);

	em_ctx_close(c);
	return st;
}

static em_status with_allocator(void *theirs)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;

	o.allocator = theirs;
	o.errinfo = &subjects_err;
	return open_ctx(&o);
}

em_status subject_backend(void *theirs)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_file_opts fo = EM_FILE_OPTS_INIT;
	em_file *f = NULL;
	em_status st;
	em_ctx *c;

	o.custom = theirs;
	o.errinfo = fo.errinfo = &subjects_err;
	fo.flags = EM_OPEN_TEMP;
	st = em_ctx_open(&c, &o);
	if (st == EM_OK)
		st = em_file_open(&f, c, given.dir, &fo);
	if (st == EM_OK)
		st = em_file_write(f, subjects_numbers, sizeof subjects_numbers, 0);
	em_file_close(f);
	em_ctx_close(c);
	return st;
}

static em_status with_fault(void *theirs)
{
	em_fault *fault = theirs;
	em_status st = em_fault_init(fault, fault->size, em_backend_find("syscall"));

	if (st == EM_OK) {
		st = subject_backend((void *)(uintptr_t)em_fault_backend(fault));
		assert_true(fault->count >= 2);
	}
	return st;
}

static em_status with_simdisk(void *theirs)
{
	em_simdisk *sim = theirs;
	em_status st = em_simdisk_init(sim, sim->size, "120gxp", &subjects_err);

	if (st == EM_OK)
		st = em_simdisk_parse(sim, "rate=10GB,seek=0s,rpm=0", &subjects_err);
	if (st == EM_OK)
		st = em_simdisk_check(sim, &subjects_err);
	if (st == EM_OK) {
		st = subject_backend((void *)(uintptr_t)em_simdisk_backend(sim));
		assert_int_equal(sim->requests, 1);
	}
	return st;
}

static em_status with_ctx_opts(void *theirs)
{
	return open_ctx(theirs);
}

static em_status with_disk_opts(void *theirs)
{
	const em_disk_opts *const list[] = { theirs };
	em_ctx_opts o = EM_CTX_OPTS_INIT;

	o.disks = list;
	o.ndisks = 1;
	o.errinfo = &subjects_err;
	return open_ctx(&o);
}

static em_status with_file_opts(void *theirs)
{
	em_file *f;
	const em_status st = em_file_open(&f, given.ctx, given.in, theirs);

	em_file_close(f);
	return st;
}

static em_status with_io_stats(void *theirs)
{
	em_io_stats before = EM_IO_STATS_INIT;
	em_status st = em_ctx_io_stats_get(given.ctx, theirs);
	char text[1024];

	if (st == EM_OK) {
		em_io_stats_since(theirs, &before);
		assert_true(em_io_stats_text(theirs, text, sizeof text) < sizeof text);
		assert_true(em_io_stats_json(theirs, text, sizeof text) < sizeof text);
	}
	return st;
}

static em_status with_output_opts(void *theirs)
{
	em_output *o;
	const em_status st = em_output_open(&o, given.ctx, given.out, theirs);

	em_output_close(o);
	return st;
}

static em_status with_element_opts(void *theirs)
{
	em_element_reader *r;
	const em_status st = em_element_reader_open(&r, given.ctx, given.in, theirs);

	em_element_reader_close(r);
	return st;
}

static em_status with_element_stats(void *theirs)
{
	em_element_opts o = EM_ELEMENT_OPTS_INIT;

	o.errinfo = &subjects_err;
	return em_element_predict(&o, 1000, theirs);
}

size_t subjects_io(subject *s)
{
	size_t n = 0;

	s[n] = MAKE(em_allocator, with_allocator, 1);
	s[n].u.allocator.alloc = own_alloc;
	s[n++].u.allocator.release = own_release;
	s[n] = MAKE(em_backend, subject_backend, 1);
	s[n++].u.backend = *em_backend_find("syscall");
	s[n] = MAKE(em_ctx_opts, with_ctx_opts, 1);
	s[n].u.ctx_opts = (em_ctx_opts)EM_CTX_OPTS_INIT;
	s[n++].u.ctx_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_disk_opts, with_disk_opts, 1);
	s[n].u.disk_opts = (em_disk_opts)EM_DISK_OPTS_INIT;
	s[n++].u.disk_opts.path = given.dir;
	s[n++] = MAKE(em_fault, with_fault, 0);
	s[n] = MAKE(em_file_opts, with_file_opts, 1);
	s[n].u.file_opts = (em_file_opts)EM_FILE_OPTS_INIT;
	s[n++].u.file_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_io_stats, with_io_stats, 0);
	s[n] = MAKE(em_output_opts, with_output_opts, 1);
	s[n].u.output_opts = (em_output_opts)EM_OUTPUT_OPTS_INIT;
	s[n++].u.output_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_simdisk, with_simdisk, 1);
	s[n] = MAKE(em_element_opts, with_element_opts, 1);
	s[n].u.element_opts = (em_element_opts)EM_ELEMENT_OPTS_INIT;
	s[n++].u.element_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_element_stats, with_element_stats, 1);
	return n;
}
