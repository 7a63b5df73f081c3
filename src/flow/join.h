/* SPDX-License-Identifier: BSL-1.0 */
/*
 * join.h -- joining two streams that are sorted by their keys: what the merging (join.c) has of the two forms of it,
 * records of one size (join_fields.c) and of any length (lines_join.c).
 *
 * A form makes keys that one collation compares, whatever side they are of, and a record of a pair.
 */
#ifndef EMI_FLOW_JOIN_H
#define EMI_FLOW_JOIN_H

#include "flow/flow_order.h"
#include "flow/lines.h"

typedef struct emi_join emi_join;

typedef struct emi_join_field {
	size_t from, to, bytes; /* in the record, in the key */
} emi_join_field;

typedef struct emi_join_side {
	em_stream *in;
	const char *key;        /* of the next record, if it is known */
	int known;
	em_status status;       /* of the last look */
	const emi_join_field *field; /* of records of one size: those of the key */
	const em_order *order;  /* of any length: what has the key */
	emi_line_frame frame;   /* ... and the key */
} emi_join_side;

/* The right records with one key, one behind the other. */
typedef struct emi_join_group {
	char *bytes;
	size_t room, used;
	size_t n;               /* records */
	uint64_t most;          /* bytes that they may have */
} emi_join_group;

typedef struct emi_join_form {
	/* The key of the next record of a side, which is in hand. */
	em_status (*key)(emi_join *j, emi_join_side *side, em_errinfo *err);
	/* Keep the key of the right side for the group, until the next group. */
	void (*keep_key)(emi_join *j);
	/* Make a record of a pair, of which one may be none. */
	em_status (*make)(emi_join *j, emi_one_record left, emi_one_record right, em_errinfo *err);
	/* Are as many made as are lent at a time?  Lend them: EM_OK; EM_END: there are none. */
	int (*full)(const emi_join *j);
	em_status (*show)(emi_join *j);
	/* Give back what it has beside an order of keys. */
	void (*retire)(emi_join *j);
} emi_join_form;

struct emi_join {
	em_stream s;
	const emi_join_form *form;
	uint32_t kind;
	em_order *order;        /* of keys */
	emi_collation by;
	emi_join_side left, right;
	const char *group_key;
	emi_join_group group;
	int gathering;          /* there may be more of them */
	size_t paired;          /* bytes of the group that are through with the next left record */
	void *user;
	union {
		struct {
			em_join_fn fn;
			size_t made;    /* records */
			char *keys;     /* three: the sides', and that of the group */
			size_t key_bytes;
			emi_join_field *fields; /* of left and right records */
			uint32_t nfields; /* of either */
		} fixed;
		struct emi_lines_join *lines;
	} of;
};

/* The kind of stream that all joins are. */
extern const emi_stream_kind emi_join_kind;

/* What is common to arguments and options. */
em_status emi_join_given(const em_stream *left, const em_stream *right, const void *opts, em_errinfo *err);
em_status emi_join_check_kind(uint32_t kind, em_errinfo *err);

/* Bytes for a group: those that options name, or a part of the context's memory, but room for a record. */
void emi_join_set_up(emi_join *j, const emi_join_form *form, uint32_t kind, uint64_t memory_bytes);

/* It could not be made. */
void emi_join_drop(emi_join *j);

#endif
