/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/status.h  Statuses and error detail.
 *
 * Every call that can fail returns an em_status: 0 is success, positive values are no
 * errors, negative values are.  Beside it, the object keeps a detail: which
 * operation on which file at which offset failed with which errno.
 *
 * Positive values answer a question, change nothing, and have no detail:
 *
 *     EM_END        of what comes one after the other there is no more, again and again
 *     EM_NOT_FOUND  what was looked for is not there; a container to take something from is empty
 *     EM_EXISTS     what was to be inserted is there already (EM_ERR_EXIST is about the name of a file)
 *
 * Negative values come in bands:
 *
 *     -1...-99      the caller's mistake: the object is as it was before the call, and may be used
 *     -100...-199   resources
 *     -200...-299   input and output
 *     -300...-399   data
 *     -400...-499   functions of the caller's, and cancellation
 *     -900...       only closing is allowed
 */
#ifndef EXTMEM_STATUS_H
#define EXTMEM_STATUS_H

#include <extmem/base.h>

EM_BEGIN_DECLS

/** Result of a call; one of the values below. */
typedef int32_t em_status;

enum em_status_value {
#define EM_STATUS(name, value, text) EM_##name = value,
#include <extmem/status.def>
#undef EM_STATUS
	EM_STATUS_FATAL = -900 /**< At or below: the object allows only close. */
};

/** Room for a message and for a path in an em_errinfo. */
#define EM_ERRINFO_TEXT 256
#define EM_ERRINFO_PATH 256

/**
 * Detail of a failure, owned by the caller.  Constructors fill the one that their options
 * name; em_..._error() copies an object's into one.  Only a failure means anything in it: after a call that succeeded
 * it is as it was, or zero.  What it holds before a call does not matter: it may be used again, and need not be
 * initialised.
 */
typedef struct em_errinfo {
	em_status status;    /**< What the call returned. */
	int32_t sys_errno;   /**< errno of the operating system, or 0. */
	uint64_t offset;     /**< Byte offset in the file where it happened, or UINT64_MAX. */
	uint64_t bytes;      /**< Bytes asked for, or (EM_ERR_MEMLIMIT, a record that is too long) memory of the context
	                          that would do, or of the share of it where that is what is too little; 0: unknown. */
	uint64_t record;     /**< Number of the record, from 1, in the file; of the line, where records are lines.
	                          Where no file is concerned, among those that were given.  0: no record is. */
	char op[16];         /**< "open", "read", "write", "link", ...; "" when none. */
	char path[EM_ERRINFO_PATH]; /**< File concerned, cut at the front if long; "" when none. */
	char text[EM_ERRINFO_TEXT]; /**< One line for people, without a final full stop or newline. */
	uint64_t reserved[4]; /**< 0. */
} em_errinfo;
#define EM_ERRINFO_INIT { 0, 0, 0, 0, 0, "", "", "", { 0, 0, 0, 0 } }
/** As EM_ERRINFO_INIT, by a call (extmem/base.h). */
EM_API void em_errinfo_init(em_errinfo *out);
/** It as a JSON object (extmem/base.h), with the status as a number and by its name; an offset that is unknown is
 *  null. */
EM_API size_t em_errinfo_json(const em_errinfo *of, char *to, size_t bytes);

/** The text of a status ("no space left for the data"); "unknown status" for others. Static; any thread. */
EM_API const char *em_status_text(em_status status);

/** The name of a status ("EM_ERR_NOSPACE"), or "EM_?". Static; any thread. */
EM_API const char *em_status_name(em_status status);

/** Number of statuses in the table, and the i-th of them (EM_ERR_RANGE past the end): for bindings. */
EM_API uint32_t em_status_count(void);
EM_API em_status em_status_at(uint32_t i);

EM_END_DECLS

#endif
