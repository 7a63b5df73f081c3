/* SPDX-License-Identifier: BSL-1.0 */
/* peer_common.h - shared helpers of the peer benchmark kit (C99 and C++11).
 * One phase_begin()/phase_end() pair prints one machine-readable line. */
#ifndef PEER_COMMON_H
#define PEER_COMMON_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__GNUC__)
#define PEER_UNUSED __attribute__((unused))
#else
#define PEER_UNUSED
#endif

typedef struct {
    double t, user, sys;
    long long rd, wr;
} peer_mark;

static PEER_UNUSED double peer_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* block-layer bytes of this process: works for O_DIRECT, buffered and mmap */
static PEER_UNUSED void peer_io(long long *rd, long long *wr)
{
    char line[128];
    FILE *f = fopen("/proc/self/io", "r");
    *rd = *wr = -1;
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        if (!strncmp(line, "read_bytes:", 11)) *rd = atoll(line + 11);
        else if (!strncmp(line, "write_bytes:", 12)) *wr = atoll(line + 12);
    }
    fclose(f);
}

static PEER_UNUSED void phase_begin(peer_mark *m)
{
    struct rusage ru;
    getrusage(RUSAGE_SELF, &ru);
    m->user = (double)ru.ru_utime.tv_sec + 1e-6 * (double)ru.ru_utime.tv_usec;
    m->sys = (double)ru.ru_stime.tv_sec + 1e-6 * (double)ru.ru_stime.tv_usec;
    peer_io(&m->rd, &m->wr);
    m->t = peer_now();
}

/* required fields first; user/sys CPU seconds and free-form extras follow */
static PEER_UNUSED void phase_end(const peer_mark *m, const char *peer,
                                  const char *work, uint64_t n, uint64_t recsize,
                                  uint64_t mem, const char *phase, const char *extra)
{
    peer_mark e;
    struct rusage ru;
    double t = peer_now();
    phase_begin(&e);
    getrusage(RUSAGE_SELF, &ru);
    printf("peer=%s work=%s n=%llu recsize=%llu mem=%llu phase=%s seconds=%.3f "
           "bytes_read=%lld bytes_written=%lld peak_rss=%lld user=%.2f sys=%.2f%s%s\n",
           peer, work, (unsigned long long)n, (unsigned long long)recsize,
           (unsigned long long)mem, phase, t - m->t, e.rd - m->rd, e.wr - m->wr,
           (long long)ru.ru_maxrss * 1024, e.user - m->user, e.sys - m->sys,
           extra && *extra ? " " : "", extra ? extra : "");
    fflush(stdout);
}

/* counter-based generator: element i of stream `seed` is peer_mix(seed+i*odd) */
static PEER_UNUSED inline uint64_t peer_mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static PEER_UNUSED uint64_t peer_size(const char *s)
{
    char *e;
    double v = strtod(s, &e);
    switch (*e) {
    case 'k': case 'K': return (uint64_t)(v * 1024.0);
    case 'm': case 'M': return (uint64_t)(v * 1048576.0);
    case 'g': case 'G': return (uint64_t)(v * 1073741824.0);
    case '^': return (uint64_t)1 << atoi(e + 1);      /* "2^27" */
    default: return v < 9e15 ? (uint64_t)strtoull(s, NULL, 10) : 0;
    }
}

/* --name value look-up */
static PEER_UNUSED const char *peer_arg(int argc, char **argv, const char *name, const char *dflt)
{
    int i;
    for (i = 1; i + 1 < argc; i++)
        if (argv[i][0] == '-' && argv[i][1] == '-' && !strcmp(argv[i] + 2, name))
            return argv[i + 1];
    return dflt;
}

static PEER_UNUSED const char *peer_tmpdir(int argc, char **argv)
{
    const char *d = peer_arg(argc, argv, "dir", NULL);
    if (!d) d = getenv("TMPDIR");
    return d ? d : ".";
}

static PEER_UNUSED void peer_die(const char *msg)
{
    fprintf(stderr, "FAILED: %s\n", msg);
    exit(1);
}

/* write back and drop one file from the page cache (cold start of a phase) */
static PEER_UNUSED void peer_drop(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0) return;
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}
#endif
