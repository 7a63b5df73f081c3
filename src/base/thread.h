/* SPDX-License-Identifier: BSL-1.0 */
/*
 * thread.h -- starting threads of the library.
 */
#ifndef EMI_THREAD_H
#define EMI_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* What to ask for as a stack of at least so many bytes: more where the system needs much of it for itself (thread-local
 * storage, wide registers), and whole pages. */
size_t emi_thread_stack(size_t least);

/* Start a thread that no signal of the program reaches.  0, or an errno; whoever asked does without it then. */
int emi_thread_start(pthread_t *thread, size_t stack, void *(*fn)(void *arg), void *arg);

/* This is a thread of the library: it says so when it begins.  Is this one? */
void emi_thread_enter(void);
int emi_thread_is_ours(void);

#endif
