/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lock.h -- mutexes that are held for a moment only, but taken by several threads for every request.
 *
 * To sleep until such a one is free, and to wake up, takes many times as long as it is held: where the system offers
 * it, a thread first looks a few times whether it has become free.
 */
#ifndef EMI_LOCK_H
#define EMI_LOCK_H

#include <pthread.h>

/* 0 or an errno. */
int emi_lock_init(pthread_mutex_t *lock);

#endif
