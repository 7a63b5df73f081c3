/* SPDX-License-Identifier: BSL-1.0 */
/*
 * condition.h -- conditions that are waited for until some time of emi_now(), which nobody sets.
 */
#ifndef EMI_CONDITION_H
#define EMI_CONDITION_H

#include <pthread.h>

/* 0 or an errno. */
int emi_cond_init(pthread_cond_t *cond);

/* Wait until somebody tells of a change, or it is `deadline' (seconds of emi_now(), not negative).  Returns 0, or
 * ETIMEDOUT. */
int emi_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, double deadline);

#endif
