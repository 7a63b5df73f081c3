/* SPDX-License-Identifier: BSL-1.0 */
/*
 * What a call from any language needs to know: which object it is about, and what became of it.
 *
 * A wrapped function runs in one thread from its first argument to its last result, so its record is the thread's.  The
 * first handle among the arguments is the receiver.  It says how many bytes a record has, and, when the call fails and
 * no detail was given to it, what the detail is.  Options and constructors have `detail' as their errinfo.
 *
 * A function of the caller's that the library calls may call the library again: who calls such a function keeps a copy
 * of the record and puts it back (emb_call).
 */
#ifndef EMB_CALL_H
#define EMB_CALL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <extmem.h>
#include <extmem/sys/block.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/element_stream.h>
#include <extmem/sys/file.h>
#include <extmem/sys/io_stats.h>
#include <extmem/sys/output.h>
#include <extmem/sys/pool.h>
#include <extmem/sys/request.h>

/** What is behind a handle. */
struct emb_kind {
	const char *name;                                /**< "em_sorter" */
	int shared;                                      /**< Any number of threads may use it. */
	int part;                                        /**< It is one with what it was made of. */
	int watched;                                     /**< By a function of progress: that can stop it. */
	void (*close)(void *object);
	void (*cancel)(void *object);                    /**< NULL: it cannot be. */
	void (*error)(const void *object, em_errinfo *); /**< NULL: it keeps no detail. */
	uint64_t (*record_bytes)(const void *object);    /**< NULL: it has no records. */
	uint64_t (*key_bytes)(const void *object);       /**< NULL: as the record. */
};

/** Fields of structs, by name: tables of them are made by fields.awk. */
enum {
	EMB_U32, EMB_I32, EMB_U64, EMB_DOUBLE, EMB_TEXT, EMB_TEXTS, EMB_ERRINFO, EMB_FORMAT, EMB_SORT, EMB_ORDER,
	EMB_POOL, EMB_POLICY, EMB_PROGRESS, EMB_DISKS, EMB_LOG, EMB_PLACEMENT
};

struct emb_field {
	const char *name;
	size_t offset;
	int kind;
};

struct emb_struct {
	const char *name;
	size_t size;
	const void *init;               /**< One as its initialiser makes it. */
	const struct emb_field *fields; /**< Up to one without a name. */
};

/** What a function of a stream is handed and answers (stream.h): records; records, of which it says what is true; a
 *  sum and records; a pair of records; the same two of lines, of which it makes one; records, and nothing that counts;
 *  records, and a number for each; how far a graph got; lines, and any number of others. */
enum {
	EMB_MANY,
	EMB_TRUTHS,
	EMB_SUM,
	EMB_PAIR,
	EMB_LINE_SUM,
	EMB_LINE_PAIR,
	EMB_NOTHING,
	EMB_CHOICES,
	EMB_TOLD,
	EMB_LINES
};

/** What a function of the language answers. */
struct emb_made {
	char *p;
	size_t n, room;
	int none;
};

/** What is known of an order of lines beside its keys (keys.h). */
struct emb_lines {
	int unique;   /**< It keeps the first of equal ones. */
	uint32_t csv; /**< The separator of a CSV file; 0: it is none. */
};

/** The batch that an object has lent last (lend.h). */
struct emb_lent {
	em_batch batch;
	uint64_t *ends; /**< Its own, where they are not those of the library; or NULL. */
	uint64_t mark;  /**< Another one for each batch. */
};

struct emb_call {
	em_errinfo detail;
	char why[120];               /**< What an answer of a function is, which was no use. */
	const struct emb_kind *kind; /**< Of the receiver; NULL: there is none. */
	const void *object;
	struct emb_lent *lent;
	uint64_t record_bytes;       /**< Of the receiver's records ... */
	uint64_t key_bytes;          /**< ... and their keys; 0: it has none. */
	uint64_t order_bytes;        /**< Of the records of the order among the arguments. */
	struct emb_lines lines;      /**< Of that order, or of the one that is made. */
	const uint64_t *done;        /**< How far it came, also where it failed; NULL: it does not say. */
	em_status status;
	int outputs;                 /**< Results so far. */
};

#ifdef __cplusplus
#define EMB_OF_THREAD thread_local
#else
#define EMB_OF_THREAD __thread
#endif
static EMB_OF_THREAD struct emb_call emb_call;

/** The call failed: complete its detail. */
static const em_errinfo *emb_failed(em_status status)
{
	if (emb_call.detail.status != status) {
		memset(&emb_call.detail, 0, sizeof emb_call.detail);
		if (emb_call.kind && emb_call.kind->error)
			emb_call.kind->error(emb_call.object, &emb_call.detail);
		if (emb_call.detail.status != status) {
			memset(&emb_call.detail, 0, sizeof emb_call.detail);
			emb_call.detail.status = status;
		}
	}
	if (status == EM_ERR_USER && emb_call.why[0])
		strncpy(emb_call.detail.text, emb_call.why, sizeof emb_call.detail.text - 1);
	if (!emb_call.detail.text[0])
		strncpy(emb_call.detail.text, em_status_text(status), sizeof emb_call.detail.text - 1);
	return &emb_call.detail;
}

/** The call is over: nothing of it stays for the next one. */
static void emb_end(void)
{
	emb_call.detail.status = 0;
	emb_call.why[0] = 0;
	emb_call.kind = NULL;
	emb_call.object = NULL;
	emb_call.lent = NULL;
	emb_call.record_bytes = 0;
	emb_call.key_bytes = 0;
	emb_call.order_bytes = 0;
	memset(&emb_call.lines, 0, sizeof emb_call.lines);
	emb_call.done = NULL;
	emb_call.outputs = 0;
}

#endif
