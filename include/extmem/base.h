/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/base.h  What every public header needs: linkage, attributes, integers.
 *
 * Conventions that hold for the whole library:
 *
 * - Counts of records and offsets are uint64_t, sizes of memory are size_t; sizes are
 *   bytes and counts are records unless a name says otherwise.
 * - The receiver comes first, also `em_thing **out` of a constructor; other outputs come last.
 *   What a constructor returns through `**out` is the caller's to close; `*out` is NULL
 *   when the call failed.  What a function lends is the library's.
 * - Structs that the caller makes begin with their size: set it with the initialiser (EM_..._INIT).
 *   A field of options that is zero means "the default", unless it says otherwise.
 * - The library never prints, exits, aborts, or reads the environment.
 *
 * What holds for every call, and is said here only:
 *
 * - NULL is never a crash.  Where an object is needed, or a place for a result, it is EM_ERR_INVAL, and the detail
 *   names the argument.  What returns no status does nothing, and returns 0, NULL or an empty text.  Closing NULL
 *   does nothing.  Options may be NULL where that is said, and so may places for details.  Inline functions do not
 *   look: they are made for inner loops.  Their symbols, for languages that cannot inline them, do.
 * - Mistakes, which are statuses from -1 to -99, leave the object as it was, and what was lent is still lent.
 * - Details of failures are told by em_X_error() of the object, or in errinfo of the options of what makes one.  They
 *   stay until the next failure.
 * - Threads: one at a time uses an object, and objects of one context are independent.  Any number use a context, an
 *   order, disks, and files with their requests.  Canceling is for any thread.  In a context with EM_CTX_CHECKED a
 *   call while another thread is inside one on the same object is EM_ERR_BUSY; elsewhere that is not found out.
 * - Functions of the caller's are called by the thread that is inside the library, unless it is said where they are
 *   given.  A call from within one on the object that is at work is EM_ERR_BUSY, and changes nothing.  Closing it
 *   there is done when the call in progress ends, and has a sort end soon.  Statistics, details and canceling are
 *   allowed.  Objects that share a pool or a cache are one object in this.  Such functions return: they do not jump
 *   or throw over the library.
 * - Signals: handlers and masks of the caller's threads are left as they are, and the library's own threads block all
 *   signals.  Calls that were interrupted go on.  A reader that is gone is EM_ERR_PIPE, and never SIGPIPE.  Who has a
 *   limit on the size of files (RLIMIT_FSIZE) ignores or handles SIGXFSZ, which otherwise ends the process: then it
 *   is EM_ERR_NOSPACE.  em_ctx_cancel() and em_X_cancel() of objects may be called by handlers.
 * - Fork: a context and its objects belong to the process that made the context, which goes on as if nothing had
 *   happened.  In a child any call that does work is EM_ERR_FORK, whether it lists that or not.  Statistics and
 *   details may be asked for.  Closing frees memory, and touches no file.
 * - Canceling a context (em_ctx_cancel()) makes EM_ERR_CANCELED of any call that does work, whether it lists that or
 *   not; canceling an object (em_X_cancel()) makes it of any call on that.
 * - A call for one record or block that finds all it needs in memory may notice neither a fork, nor that the context
 *   or the object was canceled, nor that another object on the same pool is at work.  Nor may the functions of windows
 *   and cursors there.  They do what they always do; in a child of a fork, to the child's memory alone.  In a context
 *   with EM_CTX_CHECKED windows are empty, so pushing and popping does notice.
 *
 * How structs grow, so that a program runs with every later library, compiled once against any header:
 *
 * - What the caller makes, or makes room for, begins with `uint32_t size'.  Fields are only ever appended.  A size that
 *   is less than that in the first release is EM_ERR_VERSION: the struct was made without its initialiser.  Fields that
 *   an older program does not have are the default; what it has no room for is not told.  Fields that a newer program
 *   has and this library does not know must be zero, or that is EM_ERR_VERSION, too.
 *   em_X_init(x, bytes) does what the initialiser EM_X_INIT does, for who has no macros, on a struct of so many bytes,
 *   which is sizeof(em_X) as the program knows it: what lies behind them stays, and fewer than those of `size' stay,
 *   too.  Of a struct without a size it is em_X_init(x).
 *   em_X_json(x, to, bytes) writes statistics, plans and details as one JSON object whose keys are the names of the
 *   fields, like snprintf: up to bytes - 1 characters and a zero.  It returns how many there would be: 0 if x is NULL
 *   or was made without its initialiser.  Later versions have more keys.  Texts are UTF-8; other bytes of them are
 *   U+FFFD.
 *   Options that have no size tell no place for the detail of the failure, unless the size is 0: then they were zeroed
 *   in place of being initialised.
 * - What stands in arrays (em_key, em_text_key), or may be filled as it is found (em_errinfo, em_placement,
 *   em_block_layout), has no size.  It has reserved fields instead, which the initialiser sets to zero, and which must
 *   be so: later versions give them names.
 * - What the library lends (em_batch, em_cursor, em_window, em_transfer, em_backend_open, what generated kernels get)
 *   may be longer than the program knows: look at it where it is, and copy fields, not structs.
 * - em_bid, em_cache_access, em_cache_trace and em_kern_window never change.
 *
 * Headers in extmem/sys and extmem/gen are the extension tier.  Before 1.0 it may change between minor versions, in
 * more ways than by growth; its functions have a symbol version of their own (EXTMEM_SYS_0_1), which then changes, too.
 */
#ifndef EXTMEM_BASE_H
#define EXTMEM_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define EM_BEGIN_DECLS extern "C" {
#define EM_END_DECLS }
#else
#define EM_BEGIN_DECLS
#define EM_END_DECLS
#endif

#if defined(__GNUC__)
#define EM_API __attribute__((visibility("default")))
#define EM_NODISCARD __attribute__((warn_unused_result))
#else
#define EM_API
#define EM_NODISCARD
#endif

/** A function that is called for each record: without the jump of a procedure linkage table, where the compiler knows
 *  how to. */
#if defined(__GNUC__) && defined(__has_attribute)
#if __has_attribute(noplt)
#define EM_EACH __attribute__((noplt))
#endif
#endif
#ifndef EM_EACH
#define EM_EACH
#endif

/** A function that is inline for C and C++, and a symbol of the library for languages that call it by its name. */
#define EM_INLINE static inline

#define EM_VERSION_MAJOR 0
#define EM_VERSION_MINOR 1
#define EM_VERSION_PATCH 0
#define EM_VERSION_STRING "0.1.0"
/** As a number that grows: 1000000 for each major version, 1000 for each minor one. */
#define EM_VERSION_NUMBER (EM_VERSION_MAJOR * 1000000 + EM_VERSION_MINOR * 1000 + EM_VERSION_PATCH)

EM_BEGIN_DECLS

/** The version of the library that is running, as "0.1.0".  Static; any thread. */
EM_API const char *em_version(void);

/** The same as a number, to compare with EM_VERSION_NUMBER of the headers.  Any thread. */
EM_API uint32_t em_version_number(void);

/**
 * Was the library built with it?  1 or 0; 0 of NULL, and of names that it does not know.  Names are "libaio",
 * "io_uring", "lz4" (runs can be compressed), "avx2" and "avx512" (there are kernels for them).  Whether a backend or
 * an instruction set works on this machine, em_backend_supported() and em_ctx_open() know.  Any thread.
 */
EM_API int em_feature(const char *name);

/** Number of names that em_feature() knows, and the i-th of them (NULL past the end).  Static; any thread. */
EM_API uint32_t em_feature_count(void);
EM_API const char *em_feature_at(uint32_t i);

/**
 * The value of a constant of the public headers by its name, as "EM_KEY_U64", for programs that cannot read them: 1,
 * with *value; or 0 where there is none, or a pointer is NULL, and *value is as it was.  Constants are the names in
 * capital letters that stand for an integer.  One of 64 bits without a sign comes as the number of the same bits.  Any
 * thread.
 */
EM_API int em_constant(const char *name, int64_t *value);

/** How many constants there are, and the name of the i-th of them (NULL past the end).  Static; any thread. */
EM_API uint32_t em_constant_count(void);
EM_API const char *em_constant_at(uint32_t i);

EM_END_DECLS

#endif
