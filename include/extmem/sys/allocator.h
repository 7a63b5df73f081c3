/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/allocator.h  The caller's own memory allocator.
 *
 * A context that is given one takes all its memory from it: buffers, metadata, everything
 * but thread stacks and what libc and libaio allocate inside.  The functions may be called
 * from any thread of the library, several at a time.  They must not call the library.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0 (see extmem/base.h).
 */
#ifndef EXTMEM_SYS_ALLOCATOR_H
#define EXTMEM_SYS_ALLOCATOR_H

#include <extmem/base.h>

EM_BEGIN_DECLS

typedef struct em_allocator {
	uint32_t size;       /**< sizeof(em_allocator); set by the initialiser. */
	uint32_t reserved;
	/** Return bytes > 0 of memory aligned for any C type, or NULL. */
	void *(*alloc)(void *user, size_t bytes);
	/** Release what alloc returned; bytes is the size it was asked for.  ptr is not NULL. */
	void (*release)(void *user, void *ptr, size_t bytes);
	void *user;
} em_allocator;
#define EM_ALLOCATOR_INIT { sizeof(em_allocator), 0, NULL, NULL, NULL }
/** As EM_ALLOCATOR_INIT, by a call (extmem/base.h). */
EM_API void em_allocator_init(em_allocator *out, size_t bytes);

EM_END_DECLS

#endif
