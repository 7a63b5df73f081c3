/* SPDX-License-Identifier: BSL-1.0 */
/* raw_yardstick - memcpy bandwidth and raw O_DIRECT bandwidth (io_uring, QD n): write, read, and
 * mixed = reading one file while writing another, the ceiling of a sorting pass.
 * Blocks are in large pages, as the library's own buffers are: a block of small pages is many pieces for a disk, or few
 * where it happens to get pages that are side by side, so that such reads differ by a factor of two and more.
 * With --ranges N it also reads N ranges of bytes / N at random places of the file, as bench_btree does of a tree.
 * Of each 40 bytes, a record, it sums up 8.  What is larger than a block is read in blocks, all under way together.
 * `ranges' does one after the other, in one buffer: a range is looked at, and then the next one is read.
 * `ranges_ahead' has two buffers: while a range is waited for and looked at, the next one is under way.
 * args: --dir D --bytes 4G --block 2M --qd 4 --small 0 (1: in small pages) --ranges 0
 *       --copy 1G (0: no memcpy; the transfers do with little memory) */
#include "peer_common.h"
#include "../large_pages.h"
#include <liburing.h>

enum { RECORD = 40, PAGE = 4096, LEAF = 32768 };

static int small;

static void *block_of(uint64_t bytes, unsigned i)
{
    void *p = large_pages(bytes);
    if (!p) peer_die("mem");
    if (small) madvise(p, bytes, MADV_NOHUGEPAGE);
    memset(p, (int)i + 1, bytes);
    return p;
}

static void bw(const char *path, uint64_t bytes, uint64_t block, unsigned qd, int wr)
{
    struct io_uring ring;
    peer_mark m;
    char extra[64];
    uint64_t issued = 0, done = 0;
    unsigned i;
    void **buf = malloc(qd * sizeof *buf);
    int fd = open(path, (wr ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY) | O_DIRECT, 0600);
    if (fd < 0 || !buf || io_uring_queue_init(qd, &ring, 0)) peer_die("open/uring");
    for (i = 0; i < qd; i++) buf[i] = block_of(block, i);
    phase_begin(&m);
    for (i = 0; i < qd && issued < bytes; i++, issued += block) {
        struct io_uring_sqe *s = io_uring_get_sqe(&ring);
        if (wr) io_uring_prep_write(s, fd, buf[i], (unsigned)block, issued);
        else io_uring_prep_read(s, fd, buf[i], (unsigned)block, issued);
        io_uring_sqe_set_data(s, buf[i]);
    }
    io_uring_submit(&ring);
    while (done < bytes) {
        struct io_uring_cqe *c;
        void *b;
        if (io_uring_wait_cqe(&ring, &c)) peer_die("wait");
        if (c->res != (int)block) peer_die("short io");
        b = io_uring_cqe_get_data(c);
        io_uring_cqe_seen(&ring, c);
        done += block;
        if (issued < bytes) {
            struct io_uring_sqe *s = io_uring_get_sqe(&ring);
            if (wr) io_uring_prep_write(s, fd, b, (unsigned)block, issued);
            else io_uring_prep_read(s, fd, b, (unsigned)block, issued);
            io_uring_sqe_set_data(s, b);
            io_uring_submit(&ring);
            issued += block;
        }
    }
    snprintf(extra, sizeof extra, "gb_per_s=%.3f qd=%u", (double)bytes / 1e9 / (peer_now() - m.t), qd);
    phase_end(&m, "raw", "odirect", bytes / block, block, qd * block, wr ? "write" : "read", extra);
    io_uring_queue_exit(&ring);
    close(fd);
    for (i = 0; i < qd; i++) free(buf[i]);
    free(buf);
}

/* A range that is read into buf: pieces of it are under way, and so many bytes have come. */
typedef struct range {
    char *buf;
    uint64_t pieces, come;
} range;

static void start(struct io_uring *ring, int fd, range *r, uint64_t from, uint64_t length, uint64_t block)
{
    uint64_t at, n;
    r->pieces = r->come = 0;
    for (at = 0; at < length; at += n, r->pieces++) {
        struct io_uring_sqe *s = io_uring_get_sqe(ring);
        n = length - at < block ? length - at : block;
        io_uring_prep_read(s, fd, r->buf + at, (unsigned)n, from + at);
        io_uring_sqe_set_data(s, r);
    }
    io_uring_submit(ring);
}

static void finish(struct io_uring *ring, range *r, uint64_t length)
{
    while (r->pieces) {
        struct io_uring_cqe *c;
        range *of;
        if (io_uring_wait_cqe(ring, &c)) peer_die("wait");
        if (c->res <= 0) peer_die("read");
        of = io_uring_cqe_get_data(c);
        of->come += (uint64_t)c->res;
        of->pieces--;
        io_uring_cqe_seen(ring, c);
    }
    if (r->come != length) peer_die("short io");
}

static uint64_t look(const char *p, uint64_t bytes)
{
    const char *end = p + bytes / RECORD * RECORD;
    uint64_t sum = 0, h;
    for (; p < end; p += RECORD) {
        memcpy(&h, p + 8, sizeof h);
        sum += h;
    }
    return sum;
}

/* Where range i begins: where a leaf could, at random. */
static uint64_t place(uint64_t i, uint64_t size, uint64_t length)
{
    return peer_mix(i ^ 0x3333) % ((size - length) / LEAF + 1) * LEAF;
}

/* n ranges: as many are under way, or looked at, as there are buffers. */
static void ranges(const char *path, uint64_t bytes, uint64_t n, uint64_t block, unsigned buffers, const char *phase)
{
    const uint64_t each = bytes / n, length = (each + PAGE - 1) / PAGE * PAGE;
    const uint64_t size = (bytes + block - 1) / block * block;
    struct io_uring ring;
    range *r = calloc(buffers, sizeof *r);
    peer_mark m;
    char extra[96];
    uint64_t i, sum = 0;
    double s;
    int fd = open(path, O_RDONLY | O_DIRECT);
    if (fd < 0 || !r || io_uring_queue_init((unsigned)(buffers * (length / block + 1)), &ring, 0))
        peer_die("open/uring");
    for (i = 0; i < buffers; i++) r[i].buf = block_of(length, (unsigned)i);
    phase_begin(&m);
    for (i = 0; i < buffers && i < n; i++) start(&ring, fd, &r[i], place(i, size, length), length, block);
    for (i = 0; i < n; i++) {
        range *now = &r[i % buffers];
        finish(&ring, now, length);
        sum += look(now->buf, each);
        if (i + buffers < n) start(&ring, fd, now, place(i + buffers, size, length), length, block);
    }
    s = peer_now() - m.t;
    snprintf(extra, sizeof extra, "gb_per_s=%.3f sum=%llu", (double)n * (double)length / 1e9 / s,
             (unsigned long long)sum);
    phase_end(&m, "raw", "odirect", n, length, buffers * length, phase, extra);
    io_uring_queue_exit(&ring);
    close(fd);
    for (i = 0; i < buffers; i++) free(r[i].buf);
    free(r);
}

/* Read `from` and write `to` at the same time, qd transfers of each in flight. */
static void mixed(const char *from, const char *to, uint64_t bytes, uint64_t block, unsigned qd)
{
    struct io_uring ring;
    peer_mark m;
    char extra[64];
    struct slot { void *buf; int wr; } *slot = calloc(2 * qd, sizeof *slot);
    uint64_t issued[2] = {0, 0}, done = 0;
    int fd[2] = {open(from, O_RDONLY | O_DIRECT), open(to, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0600)};
    unsigned i;
    if (fd[0] < 0 || fd[1] < 0 || !slot || io_uring_queue_init(2 * qd, &ring, 0)) peer_die("open/uring");
    for (i = 0; i < 2 * qd; i++) {
        slot[i].buf = block_of(block, i);
        slot[i].wr = i & 1;
    }
    phase_begin(&m);
    for (i = 0; i < 2 * qd; i++) {
        struct io_uring_sqe *q;
        int w = slot[i].wr;
        if (issued[w] >= bytes) continue;
        q = io_uring_get_sqe(&ring);
        if (w) io_uring_prep_write(q, fd[1], slot[i].buf, (unsigned)block, issued[1]);
        else io_uring_prep_read(q, fd[0], slot[i].buf, (unsigned)block, issued[0]);
        io_uring_sqe_set_data(q, &slot[i]);
        issued[w] += block;
    }
    io_uring_submit(&ring);
    while (done < 2 * bytes) {
        struct io_uring_cqe *c;
        struct slot *b;
        if (io_uring_wait_cqe(&ring, &c)) peer_die("wait");
        if (c->res != (int)block) peer_die("short io");
        b = io_uring_cqe_get_data(c);
        io_uring_cqe_seen(&ring, c);
        done += block;
        if (issued[b->wr] < bytes) {
            struct io_uring_sqe *q = io_uring_get_sqe(&ring);
            if (b->wr) io_uring_prep_write(q, fd[1], b->buf, (unsigned)block, issued[1]);
            else io_uring_prep_read(q, fd[0], b->buf, (unsigned)block, issued[0]);
            io_uring_sqe_set_data(q, b);
            io_uring_submit(&ring);
            issued[b->wr] += block;
        }
    }
    snprintf(extra, sizeof extra, "gb_per_s_each=%.3f qd=%u+%u", (double)bytes / 1e9 / (peer_now() - m.t), qd, qd);
    phase_end(&m, "raw", "odirect", bytes / block, block, 2 * qd * block, "mixed", extra);
    io_uring_queue_exit(&ring);
    close(fd[0]);
    close(fd[1]);
    for (i = 0; i < 2 * qd; i++) free(slot[i].buf);
    free(slot);
}

static void copy(size_t cb)
{
    char *a = malloc(cb), *b = malloc(cb), extra[64];
    peer_mark m;
    int i;
    memset(a, 1, cb); memset(b, 2, cb);
    phase_begin(&m);
    for (i = 0; i < 4; i++) { memcpy(b, a, cb); __asm__ volatile("" ::"r"(b) : "memory"); }
    snprintf(extra, sizeof extra, "gb_per_s=%.3f", 4.0 * (double)cb / 1e9 / (peer_now() - m.t));
    phase_end(&m, "raw", "memcpy", 4, cb, 2 * cb, "copy", extra);
    free(a); free(b);
}

int main(int argc, char **argv)
{
    uint64_t bytes = peer_size(peer_arg(argc, argv, "bytes", "4G"));
    uint64_t block = peer_size(peer_arg(argc, argv, "block", "2M"));
    unsigned qd = (unsigned)atoi(peer_arg(argc, argv, "qd", "4"));
    uint64_t n = peer_size(peer_arg(argc, argv, "ranges", "0"));
    size_t cb = peer_size(peer_arg(argc, argv, "copy", "1G"));
    char path[4096], path2[4096];
    small = atoi(peer_arg(argc, argv, "small", "0"));
    if (cb) copy(cb);
    snprintf(path, sizeof path, "%s/raw.%d", peer_tmpdir(argc, argv), (int)getpid());
    bw(path, bytes, block, qd, 1);
    bw(path, bytes, block, qd, 0);
    if (n) {
        ranges(path, bytes, n, block, 1, "ranges");
        ranges(path, bytes, n, block, 2, "ranges_ahead");
    }
    snprintf(path2, sizeof path2, "%s/raw2.%d", peer_tmpdir(argc, argv), (int)getpid());
    mixed(path, path2, bytes, block, qd);
    unlink(path);
    unlink(path2);
    return 0;
}
