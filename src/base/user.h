/* SPDX-License-Identifier: BSL-1.0 */
/*
 * user.h -- what functions of the caller's are called with, and what frees it.
 *
 * Who takes it frees it once: when no function is called any more, or at once if there is nothing to keep it for.  Of
 * options it is known when they were taken (base/structs.h), so of those that no version has made nothing is freed.
 */
#ifndef EMI_USER_H
#define EMI_USER_H

#include <extmem/status.h>

typedef struct emi_user {
	void *user;
	void (*free)(void *user); /* NULL: nothing is to be freed */
} emi_user;

static inline void emi_user_free(const emi_user *u)
{
	if (u->free != NULL)
		u->free(u->user);
}

/* It is kept if that went well, and freed otherwise.  Returns st. */
static inline em_status emi_user_give(emi_user *to, const emi_user *u, em_status st)
{
	if (st == EM_OK)
		*to = *u;
	else
		emi_user_free(u);
	return st;
}

#endif
