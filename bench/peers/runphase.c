/* SPDX-License-Identifier: BSL-1.0 */
/* runphase - run a command and print one phase line for it: its time, and the CPU time, memory
 * and block-layer bytes of it and its children.
 * runphase --peer P --work W --n N --recsize R --mem M --phase F [--drop FILE] [--cgroup DIR] -- cmd args...
 * --drop: FILE is dropped from the page cache first.  --cgroup: the command joins this control group. */
#include "peer_common.h"
#include <sys/wait.h>

static void join_cgroup(const char *dir)
{
    char path[4096];
    FILE *f;
    snprintf(path, sizeof path, "%s/cgroup.procs", dir);
    f = fopen(path, "w");
    if (!f || fprintf(f, "%ld\n", (long)getpid()) < 0 || fclose(f)) {
        fprintf(stderr, "FAILED: cannot join %s\n", dir);
        _exit(126);
    }
}

int main(int argc, char **argv)
{
    int i, st;
    struct rusage ru;
    const char *drop, *cgroup;
    double t;
    pid_t p;
    for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
        ;
    if (i >= argc - 1)
        return 2;
    drop = peer_arg(i, argv, "drop", NULL);
    cgroup = peer_arg(i, argv, "cgroup", NULL);
    if (drop)
        peer_drop(drop);
    t = peer_now();
    if ((p = fork()) == 0) {
        if (cgroup)
            join_cgroup(cgroup);
        execvp(argv[i + 1], argv + i + 1);
        _exit(127);
    }
    if (p < 0 || wait4(p, &st, 0, &ru) < 0 || st)
        peer_die("command");
    t = peer_now() - t;
    printf("peer=%s work=%s n=%llu recsize=%s mem=%llu phase=%s seconds=%.3f bytes_read=%lld "
           "bytes_written=%lld peak_rss=%lld user=%.2f sys=%.2f\n",
           peer_arg(i, argv, "peer", "-"), peer_arg(i, argv, "work", "-"),
           (unsigned long long)peer_size(peer_arg(i, argv, "n", "0")), peer_arg(i, argv, "recsize", "-"),
           (unsigned long long)peer_size(peer_arg(i, argv, "mem", "0")), peer_arg(i, argv, "phase", "run"), t,
           (long long)ru.ru_inblock * 512, (long long)ru.ru_oublock * 512, (long long)ru.ru_maxrss * 1024,
           (double)ru.ru_utime.tv_sec + 1e-6 * (double)ru.ru_utime.tv_usec,
           (double)ru.ru_stime.tv_sec + 1e-6 * (double)ru.ru_stime.tv_usec);
    return 0;
}
