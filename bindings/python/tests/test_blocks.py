# SPDX-License-Identifier: BSL-1.0
"""Files, requests, blocks, pools and caches."""
import tempfile
import threading
import time
import unittest
from itertools import islice

import extmem

from common import Base, SEED


class Blocks(Base):
    def test_listing_1(self):
        """STXXL 2007, listing 1: read from a file, with a function that is called when it is done."""
        data = self.rng.randbytes(1 << 16)
        f = extmem.File(self.path("file", data), ctx=self.ctx)
        buffer, told = bytearray(1 << 16), threading.Event()
        rq = f.read_async(buffer, 0, lambda status, moved: told.set() if (status, moved) == (0, 1 << 16) else None)
        rq.wait()
        self.assertTrue(told.wait(10))
        self.assertEqual(buffer, data)
        with self.assertRaises(FileNotFoundError):
            extmem.File(self.path("none"), ctx=self.ctx)
        self.assertRaises(extmem.Error, f.write, b"x", 0)
        g = extmem.File(self.path("new"), "x", ctx=self.ctx)
        requests = [g.write_async(data[i:i + 4096], i) for i in range(0, 1 << 16, 4096)]
        extmem.wait_all(requests)
        self.assertEqual((g.read(1 << 20, 0), len(g)), (data, 1 << 16))

    def test_listing_2(self):
        """STXXL 2007, listing 2: 32 blocks of a megabyte over the disks, written at the same time, read, and freed."""
        dirs = [self.dir.name, tempfile.gettempdir()]
        with extmem.Context(memory=64 << 20, dirs=dirs) as ctx, extmem.Disks(ctx) as disks:
            size = 1 << 20
            bids = disks.alloc(32, size)
            self.assertEqual({disk for disk, _ in bids}, {0, 1})
            blocks = [bytes([i]) * size for i in range(32)]
            extmem.wait_all([disks.write(bid, block) for bid, block in zip(bids, blocks)])
            self.assertEqual(disks.stats()["blocks"], 32)
            rooms = [bytearray(size) for _ in bids]
            requests = [disks.read(bid, room) for bid, room in zip(bids, rooms)]
            while not all(rq.poll() for rq in requests):
                time.sleep(0.001)
            self.assertEqual(rooms, blocks)
            disks.free(bids, size)
            self.assertEqual(disks.stats()["blocks"], 0)
            self.assertRaises(extmem.UsageError, disks.read, bids[0], rooms[0])
            self.assertRaises(TypeError, disks.read, 5, rooms[0])

    def test_request_keeps_memory(self):
        f = extmem.File(self.path("f", self.rng.randbytes(1 << 20)), ctx=self.ctx)
        for _ in range(50):
            f.read_async(bytearray(1 << 16), 0)
        buffer = bytearray(1 << 16)
        rq = f.read_async(buffer, 0)
        with self.assertRaises(BufferError):
            buffer.append(1)
        rq.close()
        buffer.append(1)

    def test_cache(self):
        """Random reads and writes are those of a dict, with fewer frames than blocks."""
        with extmem.Disks(self.ctx) as disks:
            bids, model = disks.alloc(20, 4096), {}
            c = extmem.Cache(disks, 4096, 5, policy="lru")
            for _ in range(500):
                bid = self.rng.choice(bids)
                if self.rng.random() < 0.5:
                    model[bid] = self.rng.randbytes(4096)
                    c.write(bid, model[bid])
                else:
                    c.hint(self.rng.choice(bids))
                    self.assertEqual(c.read(bid), model.get(bid, bytes(4096)), SEED)
            c.flush()
            self.assertEqual(c.stats()["dirty"], 0)
            self.assertRaises(extmem.UsageError, c.write, bids[0], bytes(4095))
            c.cancel()
            self.assertRaises(extmem.CanceledError, c.flush)
            c.close()
            self.assertRaises(extmem.UsageError, c.read, bids[0])

    def test_placement(self):
        with extmem.Context(memory=16 << 20, dirs=[self.dir.name, tempfile.gettempdir()]) as ctx:
            for kind in (extmem.EM_PLACE_SINGLE, extmem.EM_PLACE_STRIPING, extmem.EM_PLACE_CYCLING):
                v = extmem.Vector("<Q", ctx=ctx, placement=(kind, 2), block_bytes=4096, cache_bytes=1 << 16)
                data = self.numbers(100000)
                v.extend(data)
                self.assertEqual(v[:].tolist(), data.tolist())
            for bad in ((extmem.EM_PLACE_SINGLE, 3), (99, 2)):
                self.assertRaises(extmem.UsageError, extmem.Vector, "<Q", ctx=ctx, placement=bad)
            self.assertRaises(TypeError, extmem.Vector, "<Q", ctx=ctx, placement="single")

    def test_pool(self):
        with extmem.Disks(self.ctx) as disks:
            pool, bids = extmem.BlockPool(disks, 4096), disks.alloc(20, 4096)
            for i, bid in enumerate(bids):
                buffer = pool.lend()
                buffer[:] = bytes([i]) * 4096
                pool.write(buffer, bid)
                self.assertRaises(ValueError, lambda b: b[0], buffer)
            buffer = pool.lend()
            self.assertRaises(TypeError, pool.write, bytearray(4096), bids[0])
            pool.give_back(buffer)
            self.assertRaises((TypeError, ValueError), pool.give_back, buffer)
            pool.hint(bids[3])
            for i, bid in enumerate(bids):
                self.assertEqual(pool.read(bid), bytes([i]) * 4096)
            pool.flush()
            self.assertEqual(pool.stats()["writes"], 20)
            for bid in bids:
                pool.free(bid)
            pool.close()

    def test_block_streams(self):
        """Records go to blocks and come back, in order, backwards by blocks, and once only if they are consumed."""
        with extmem.Disks(self.ctx) as disks:
            for n in (0, 1, 511, 512, 513, 50000):
                data = self.numbers(n)
                with extmem.BlockWriter(disks, "<Q", block_bytes=4096) as w:
                    for i in range(0, n, 1000):
                        w.push(data[i:i + 1000])
                    blocks = w.finish()
                    self.assertRaises(extmem.UsageError, w.push, data[:1] or [1])
                self.assertEqual(blocks.reader().read().tolist(), data.tolist())
                self.assertEqual((blocks.info()["records"], disks.stats()["blocks"]), (n, -(-n // 512)))
                back = [batch.tolist() for batch in blocks.reader(flags=extmem.EM_BLOCKS_REVERSE).batches()]
                self.assertEqual(sum(back[::-1], []), data.tolist())
                r = blocks.reader()
                self.assertEqual(list(islice(r, 3)) + list(islice(r, 700)) + list(r), data.tolist())
                r.close()
                r = blocks.reader(flags=extmem.EM_BLOCKS_CONSUME)
                blocks.close()
                self.assertEqual(list(r), data.tolist())
                r.close()
                self.assertEqual(disks.stats()["blocks"], 0)


if __name__ == "__main__":
    print("seed", SEED)
    unittest.main()
