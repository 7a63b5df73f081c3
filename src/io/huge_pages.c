/* SPDX-License-Identifier: BSL-1.0 */
/*
 * huge_pages.c -- see huge_pages.h.
 *
 * A range that has no page at all is not taken for one of the file, so its first page is allocated first, in a way that
 * leaves what is in it alone.  What is mapped is not touched by us, as what cannot be had would be a signal then.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "io/huge_pages.h"

#if defined(__linux__) && UINTPTR_MAX > 0xffffffffu

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/memory.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define LARGEST ((size_t)32 << 20)      /* some systems have pages of 512 MiB: too coarse for a file */
#define PATIENCE 8                      /* how often it may be refused before it is not tried again */

static size_t ask_kernel(void)
{
	const int fd = open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	ssize_t n = 0;
	size_t bytes;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	bytes = n > 0 ? (size_t)strtoull(text, NULL, 10) : 0;
	return bytes <= LARGEST && bytes >= EMI_PAGE && (bytes & (bytes - 1)) == 0 ? bytes : 0;
}

size_t emi_huge_page_bytes(void)
{
	static size_t known = 1;        /* atomic; 1: not asked yet */
	size_t bytes = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (bytes == 1) {
		bytes = ask_kernel();
		__atomic_store_n(&known, bytes, __ATOMIC_RELAXED);
	}
	return bytes;
}

int emi_huge_possible(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC && emi_huge_page_bytes() != 0;
}

/* Have the kernel make one of the pages at offset: it wants them mapped, at an address that is a multiple of their
 * size, too. */
static int collapse(int fd, uint64_t offset, size_t page)
{
	char *room = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *at;
	int made = 0;

	if (room == MAP_FAILED)
		return 0;
	at = room + (page - (uintptr_t)room % page) % page;
	if (mmap(at, page, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) == at)
		made = madvise(at, page, MADV_COLLAPSE) == 0;
	(void)munmap(room, 2 * page);
	return made;
}

/* Is nothing in it yet? */
static int is_empty(int fd, uint64_t offset, size_t page)
{
	const off_t data = lseek(fd, (off_t)offset, SEEK_DATA);

	return data < 0 ? errno == ENXIO : (uint64_t)data >= offset + page;
}

static int make(int fd, uint64_t offset, size_t page)
{
	return fallocate(fd, 0, (off_t)offset, EMI_PAGE) == 0 && collapse(fd, offset, page);
}

void emi_huge_make(emi_huge_pages *h, int fd, uint64_t offset, uint64_t bytes)
{
	const uint64_t begin = __atomic_load_n(&h->begin, __ATOMIC_RELAXED),
		       end = __atomic_load_n(&h->end, __ATOMIC_RELAXED);
	const size_t page = emi_huge_page_bytes();
	uint64_t at;

	if (end == 0 || page == 0 || __atomic_load_n(&h->refused, __ATOMIC_RELAXED) >= PATIENCE)
		return;
	for (at = offset - offset % page; at < offset + bytes && at + page <= end; at += page)
		if (at >= begin && is_empty(fd, at, page) && !make(fd, at, page))
			__atomic_add_fetch(&h->refused, 1, __ATOMIC_RELAXED);
}

#else

size_t emi_huge_page_bytes(void)
{
	return 0;
}

int emi_huge_possible(int fd)
{
	(void)fd;
	return 0;
}

void emi_huge_make(emi_huge_pages *h, int fd, uint64_t offset, uint64_t bytes)
{
	(void)h;
	(void)fd;
	(void)offset;
	(void)bytes;
}

#endif

void emi_huge_expect(emi_huge_pages *h, uint64_t offset, uint64_t bytes)
{
	const uint64_t end = __atomic_load_n(&h->end, __ATOMIC_RELAXED);

	if (offset > end || offset < __atomic_load_n(&h->begin, __ATOMIC_RELAXED)) {
		__atomic_store_n(&h->begin, offset, __ATOMIC_RELAXED);
		__atomic_store_n(&h->end, offset + bytes, __ATOMIC_RELAXED);
	} else if (end < offset + bytes) {
		__atomic_store_n(&h->end, offset + bytes, __ATOMIC_RELAXED);
	}
}
