/* SPDX-License-Identifier: BSL-1.0 */
/* policy.c -- the policies there are; see extmem/sys/cache.h. */
#include "block/policy.h"

#include "base/error.h"
#include "base/structs.h"

const em_policy *em_policy_lru(void)
{
	return &emi_policy_lru;
}

const em_policy *em_policy_clock(void)
{
	return &emi_policy_clock;
}

const em_policy *em_policy_random(void)
{
	return &emi_policy_random;
}

const em_policy *em_policy_s3fifo(void)
{
	return &emi_policy_s3fifo;
}

emi_user emi_policy_user(const em_policy *policy)
{
	em_policy p;
	emi_user u = { NULL, NULL };

	if (EMI_STRUCT_TAKE(em_policy, &p, policy, NULL) == EM_OK) {
		u.user = p.user;
		u.free = p.user_free;
	}
	return u;
}

em_status emi_policy_choose(const em_policy **policy, em_errinfo *err)
{
	em_policy p;
	em_status st;

	if (*policy == NULL) {
		*policy = &emi_policy_s3fifo;
		return EM_OK;
	}
	st = EMI_STRUCT_TAKE(em_policy, &p, *policy, err);
	if (st == EM_OK && (!p.name || !p.bytes || !p.init || !p.came || !p.hit || !p.left || !p.victim || !p.next))
		st = emi_fail(err, EM_ERR_INVAL, "a policy without name, or without one of its functions");
	return st;
}
