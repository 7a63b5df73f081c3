/* SPDX-License-Identifier: BSL-1.0 */
/* policy.h -- the policies that are built in; what a policy is extmem/sys/cache.h says. */
#ifndef EMI_POLICY_H
#define EMI_POLICY_H

#include <extmem/sys/cache.h>

#include "base/user.h"

extern const em_policy emi_policy_lru, emi_policy_clock, emi_policy_random, emi_policy_s3fifo;

/* Bytes to allocate for its state, which may be none. */
static inline uint64_t emi_policy_bytes(const em_policy *policy, uint32_t frames)
{
	const uint64_t bytes = policy->bytes(frames);

	return bytes != 0 ? bytes : 1;
}

/* Its user; nothing in one of no version, or in NULL. */
emi_user emi_policy_user(const em_policy *policy);

/* The default, unless it is given; EM_ERR_INVAL or EM_ERR_VERSION if that is not whole. */
em_status emi_policy_choose(const em_policy **policy, em_errinfo *err);

#endif
