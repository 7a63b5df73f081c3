/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pump.h -- reading or writing a file from end to end while the program computes.
 *
 * Two buffers change hands between the program and a thread that transfers them.  Direct and in large pieces, so that
 * the page cache neither flatters the phase that follows nor costs a copy.
 */
#ifndef BENCH_PUMP_H
#define BENCH_PUMP_H

#include <pthread.h>

#include "peers/peer_common.h"

typedef struct pump {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd, writes;
	size_t bytes;           /* of a buffer */
	unsigned char *buf[2];
	size_t filled[2];       /* bytes in each; 0: the end */
	int away[2];            /* with the thread */
	int turn;               /* the program's next */
} pump;

static void pump_write(pump *p, int i)
{
	/* Only the last piece may be of a size that direct transfers cannot have. */
	if (p->filled[i] % 4096 != 0)
		fcntl(p->fd, F_SETFL, fcntl(p->fd, F_GETFL) & ~O_DIRECT);
	if (write(p->fd, p->buf[i], p->filled[i]) != (ssize_t)p->filled[i])
		peer_die("write input");
}

static void pump_read(pump *p, int i)
{
	ssize_t got = read(p->fd, p->buf[i], p->bytes);

	if (got < 0)
		peer_die("read output");
	p->filled[i] = (size_t)got;
}

static void *pump_loop(void *arg)
{
	pump *p = arg;
	int turn, more = 1;

	for (turn = 0; more; turn ^= 1) {
		pthread_mutex_lock(&p->lock);
		while (!p->away[turn])
			pthread_cond_wait(&p->changed, &p->lock);
		pthread_mutex_unlock(&p->lock);
		if (!p->writes)
			pump_read(p, turn);
		more = p->filled[turn] != 0;
		if (p->writes && more)
			pump_write(p, turn);
		pthread_mutex_lock(&p->lock);
		p->away[turn] = 0;
		pthread_cond_signal(&p->changed);
		pthread_mutex_unlock(&p->lock);
	}
	return NULL;
}

/* Begin.  Buffers of about 4 MiB hold whole records and whole pages. */
static void pump_open(pump *p, const char *path, int writes, size_t record)
{
	int i;

	memset(p, 0, sizeof *p);
	p->writes = writes;
	p->bytes = ((size_t)4 << 20) / (record * 4096) * (record * 4096);
	p->fd = open(path, (writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY) | O_DIRECT, 0600);
	if (p->fd < 0)
		peer_die("open a file for direct transfers");
	for (i = 0; i < 2; i++) {
		void *buf;

		if (posix_memalign(&buf, 4096, p->bytes) != 0)
			peer_die("memory");
		p->buf[i] = buf;
		p->away[i] = !writes;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	if (pthread_create(&p->thread, NULL, pump_loop, p) != 0)
		peer_die("thread");
}

/* The next buffer: to be filled, or with *n bytes that were read, 0 at the end. */
static unsigned char *pump_take(pump *p, size_t *n)
{
	pthread_mutex_lock(&p->lock);
	while (p->away[p->turn])
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
	*n = p->writes ? p->bytes : p->filled[p->turn];
	return p->buf[p->turn];
}

/* It goes back, with n bytes to be written (0: that was all) or read. */
static void pump_give(pump *p, size_t n)
{
	pthread_mutex_lock(&p->lock);
	p->filled[p->turn] = n;
	p->away[p->turn] = 1;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	p->turn ^= 1;
}

/* After the end was read, or given. */
static void pump_close(pump *p)
{
	int i;

	pthread_join(p->thread, NULL);
	if ((p->writes && fsync(p->fd) != 0) || close(p->fd) != 0)
		peer_die("close a file");
	for (i = 0; i < 2; i++)
		free(p->buf[i]);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
}

#endif
