# SPDX-License-Identifier: BSL-1.0
"""Calls that another thread, a signal, a cancellation or a child meets while they are in progress."""
import _thread
import array
import faulthandler
import os
import random
import signal
import threading
import time
import unittest

import extmem

from common import Base, SEED


def in_threads(work, n):
    """Call work(0), work(1), ... on n threads, and wait for them."""
    threads = [threading.Thread(target=work, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Threads(Base):
    def test_threads(self):
        """Each thread has its own objects, in one context; what two use at a time refuses, and never crashes."""
        errors, refused = [], []
        shared = extmem.Sorter("<Q", ctx=self.ctx, memory=4 << 20)

        def work(seed):
            try:
                rng = random.Random(seed)
                data = array.array("Q", rng.randbytes(80000))
                s = extmem.Sorter("<Q", ctx=self.ctx, memory=2 << 20)
                s.push(data)
                if list(s) != sorted(data):
                    errors.append("wrong")
                for _ in range(100):
                    try:
                        shared.push(data)
                    except extmem.UsageError as e:
                        refused.append(e.status_name)
            except BaseException as e:  # noqa: B902
                errors.append(e)
        in_threads(work, 3)
        self.assertEqual(errors, [])
        self.assertLessEqual(set(refused), {"EM_ERR_BUSY"})
        self.assertEqual(sum(map(len, shared.batches())), 10000 * (300 - len(refused)))

    def test_threads_on_parts(self):
        """A tree and its cursors, and what shares a pool, are one object for threads."""
        t, errors = extmem.BTree("<Q", "<Q", {i: i for i in range(1000)}, ctx=self.ctx), []
        disks = extmem.Disks(self.ctx)
        pool = extmem.BlockPool(disks, 65536)
        queues = [extmem.Queue("<Q", ctx=self.ctx, pool=pool._h, memory_bytes=1 << 18) for _ in range(2)]
        stop = time.monotonic() + 0.5

        def pass_(k):
            rng = random.Random(k)
            while time.monotonic() < stop:
                try:
                    if k % 2:
                        c = t.cursor()
                        c.seek(rng.randrange(1000))
                        for _ in range(20):
                            c.next()
                        if rng.random() < 0.5:
                            c.close()
                    else:
                        t[rng.randrange(2000)] = 1
                        t.update_records(rng.randbytes(16 * 500))
                        t.erase_range(2000, None)
                    queues[k % 2].extend(range(20000))
                    queues[k % 2].pop_many(20000)
                except extmem.UsageError as e:
                    if e.status_name != "EM_ERR_BUSY":
                        errors.append(e)
                except BaseException as e:  # noqa: B902
                    errors.append(e)
        in_threads(pass_, 4)
        self.assertEqual(errors, [])
        t.verify()

    def test_part_of_what_is_at_work(self):
        """While a thread is inside a tree no other one comes in through a cursor; one that is collected waits."""
        c, told, cursors = extmem._c, [], []

        def other():
            try:
                c.em_btree_cursor_next(cursors[0])
            except extmem.UsageError as e:
                told.append(str(e))
            try:
                cursors[0].close()
            except extmem.UsageError as e:
                told.append(e.status_name)
            cursors.clear()

        def cmp(a, b):
            if cursors:
                thread = threading.Thread(target=other)
                thread.start()
                thread.join()
            return (a > b) - (a < b)
        order = c.em_order_cmp(self.ctx._h, (8, None, cmp))
        tree = c.em_btree_open(self.ctx._h, order, None)
        c.em_btree_insert(tree, bytes(8))
        cursors.append(c.em_btree_cursor_open(tree))
        c.em_btree_insert(tree, b"12345678")
        self.assertEqual(told, ["another thread is inside a call on it", "EM_ERR_BUSY"])
        self.assertEqual(c.em_btree_size(tree), 2)

    def test_lock_is_released(self):
        """A call reads a pipe that another thread writes to, which could not if the call held the lock."""
        pipe, out, data = self.path("pipe"), self.path("out"), self.rng.randbytes(16 << 20)
        os.mkfifo(pipe)

        def write():
            with open(pipe, "wb") as f:
                f.write(data)
        thread = threading.Thread(target=write)
        faulthandler.dump_traceback_later(300, exit=True)
        thread.start()
        extmem.sort_file(pipe, out, records="<Q", ctx=self.ctx)
        thread.join()
        faulthandler.cancel_dump_traceback_later()
        self.assertEqual(os.path.getsize(out), len(data))

    def test_interrupt(self):
        """What Ctrl-C does in a long call: it comes out of that, and the work has ended."""
        s = extmem.Sorter("<Q", ctx=self.ctx, run_records=1000, progress=lambda *_: _thread.interrupt_main())
        with self.assertRaises(KeyboardInterrupt):
            while True:
                s.push(bytes(1 << 20))
        self.assertRaises(extmem.CanceledError, s.push, b"12345678")

    def test_interrupt_without_progress(self):
        """The same in a call that tells of no progress: what it works on is canceled, and nothing else."""
        with extmem.Context(memory=16 << 20, backend="simdisk") as slow:
            data = self.rng.randbytes(8 << 20)
            for make, work in ((extmem.Queue, "extend"), (extmem.Vector, "extend"), (extmem.PriorityQueue, "extend"),
                               (extmem.Runs, "push")):
                x, other = make("<Q", ctx=slow, **self._small(make)), extmem.Queue("<Q", ctx=slow)
                with self.assertRaises(KeyboardInterrupt):
                    interrupt = self._interrupt_at_work(slow)
                    while True:
                        getattr(x, work)(data)
                interrupt.join()
                self.assertRaises(extmem.CanceledError, getattr(x, work), data)
                other.extend(data)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    @staticmethod
    def _interrupt_at_work(ctx):
        """Ctrl-C as soon as more is written: so within a call that writes for long, however late that begins."""
        before = ctx.stats()["bytes_written"]

        def wait():
            while ctx.stats()["bytes_written"] == before:
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)
        thread = threading.Thread(target=wait)
        thread.start()
        return thread

    @staticmethod
    def _small(make):
        return {extmem.Vector: {"cache_bytes": 1 << 20}, extmem.Runs: {"memory": 4 << 20}}.get(
            make, {"memory_bytes": 4 << 20})

    def test_interrupt_while_waiting(self):
        """Requests go on when waiting for them ends; so does what they write."""
        with extmem.Context(memory=64 << 20, backend="simdisk") as slow, extmem.Disks(slow) as disks:
            bids, data = disks.alloc(32, 1 << 20), self.rng.randbytes(1 << 20)
            for wait in (extmem.wait_all, lambda some: [rq.wait() for rq in some]):
                requests = [disks.write(bid, data) for bid in bids]
                timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
                with self.assertRaises(KeyboardInterrupt):
                    timer.start()
                    wait(requests)
                    time.sleep(10)
                timer.join()
                extmem.wait_all(requests)
            self.assertEqual(len(disks), 1)

    def test_handler_that_does_not_raise(self):
        """Then it is as if it had been canceled."""
        with extmem.Context(memory=16 << 20, backend="simdisk") as slow:
            before = signal.signal(signal.SIGINT, lambda *_: told.append(1))
            told, x, data = [], extmem.Queue("<Q", ctx=slow, memory_bytes=4 << 20), bytes(32 << 20)
            interrupt = self._interrupt_at_work(slow)
            try:
                with self.assertRaises(extmem.CanceledError):
                    while not told:
                        x.extend(data)
                    x.extend(data)
            finally:
                interrupt.join()
                signal.signal(signal.SIGINT, before)
            self.assertEqual(told, [1])

    def test_cancel_by_another_thread(self):
        s, refused = extmem.Sorter("<Q", ctx=self.ctx, run_records=1000), []

        def cancel():
            try:
                s.cancel()
            except BaseException as e:  # noqa: B902
                refused.append(e)
        timer = threading.Timer(0.1, cancel)
        timer.start()
        with self.assertRaises(extmem.CanceledError):
            while True:
                s.push(bytes(4 << 20))
        timer.join()
        self.assertEqual(refused, [])

    def test_cancel(self):
        s = extmem.Sorter("<Q", ctx=self.ctx)
        s.cancel()
        self.assertRaises(extmem.CanceledError, s.push, [1])
        ctx = extmem.Context(memory=4 << 20)
        ctx.cancel()
        self.assertRaises(extmem.CanceledError, extmem.sort_file, self.path("i", b"a\n"), self.path("o"), ctx=ctx)

    def test_fork(self):
        s = extmem.Sorter("<Q", ctx=self.ctx)
        s.push([2, 1])
        pid = os.fork()
        if pid == 0:
            try:
                s.push([3])
            except extmem.UsageError as e:
                os._exit(0 if e.status_name == "EM_ERR_FORK" else 1)
            os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual(list(s), [1, 2])


if __name__ == "__main__":
    print("seed", SEED)
    unittest.main()
