# SPDX-License-Identifier: BSL-1.0
"""Streams and sinks: any graph makes what lists make, whatever fails, and in which order whatever is closed."""
import array
import collections
import contextlib
import gc
import os
import threading
import weakref
import unittest

import extmem

from common import Base, SEED, np


class Streams(Base):
    def source(self, data, step, **opts):
        return extmem.Stream("<Q", (data[i:i + step] for i in range(0, len(data), step)), ctx=self.ctx, **opts)

    def test_model(self):
        """Any graph of these nodes makes what lists make."""
        for _ in range(30):
            parts = [self.numbers(self.rng.choice((0, 1, 7, 5000))) for _ in range(self.rng.randrange(1, 4))]
            s, *others = (self.source(part, self.rng.choice((1, 100, 4096))) for part in parts)
            model = [n for part in parts for n in part]
            if self.rng.random() < 0.5:
                s = s.concat(*others)
            else:
                s = s.sort().merge(*[other.sort() for other in others])
                model.sort()
            if self.rng.random() < 0.5:
                s = s.map(lambda batch: array.array("Q", [n // 2 for n in batch]))
                model = [n // 2 for n in model]
            if self.rng.random() < 0.5:
                s = s.map(lambda batch: array.array("I", [n % 2**32 for n in batch if n % 3]), "<I")
                model = [n % 2**32 for n in model if n % 3]
                s = s.map(lambda batch: array.array("Q", batch), "<Q")
            if self.rng.random() < 0.5:
                s, model = s.sort(run_records=1000).unique(), sorted(set(model))
            if self.rng.random() < 0.5:
                s, model = s.slice(3, 1000), model[3:1003]
            self.assertEqual(list(s), model, SEED)
            self.assertEqual(list(s), [])
            s.close()

    def test_reading(self):
        data = self.numbers(20000)
        self.assertEqual(self.source(data, 1000).read().tolist(), data.tolist())
        s = self.source(data, 1000, count=20000)
        self.assertEqual(s.count(), 20000)
        batch = s.next_batch()
        self.assertEqual(batch.tolist(), data[:len(batch)].tolist())
        s.next_batch()
        self.assertRaises(ValueError, lambda: batch[0])

    @unittest.skipIf(np is None, "NumPy is missing")
    def test_numpy(self):
        a = np.frombuffer(self.rng.randbytes(8 * 100000), "u8")
        s = extmem.Stream(a.dtype, np.array_split(a, 7), ctx=self.ctx)
        s = s.map(lambda b: b[b % 2 == 0]).map(lambda b: b >> 3).sort(memory=1 << 20)
        got = s.read()
        self.assertTrue((got == np.sort(a[a % 2 == 0] >> 3)).all())
        v = extmem.Vector(a.dtype, ctx=self.ctx)
        for batch in extmem.Stream(a.dtype, [a], ctx=self.ctx).map(lambda b: None).batches():
            v.extend(batch)
        self.assertEqual(len(v), 0)

    def test_failures(self):
        def bad():
            yield bytes(80)
            raise KeyError("of the caller")
        s = extmem.Stream("<Q", bad(), ctx=self.ctx).map(lambda b: b)
        with self.assertRaisesRegex(KeyError, "of the caller"):
            s.sort().read()
        with self.assertRaises(ValueError):
            extmem.Stream("<Q", [bytes(8), bytes(9)], ctx=self.ctx).read()
        with self.assertRaises(TypeError):
            extmem.Stream("<Q", [5], ctx=self.ctx).read()
        s = self.source(self.numbers(10), 3)
        t = s.slice(0)
        self.assertTrue(s.closed)
        for use in (s.next_batch, s.sort, lambda: t.concat(s), lambda: t.concat(t)):
            self.assertRaises(extmem.UsageError, use)
        self.assertEqual(len(list(t)), 10)
        self.assertRaises(TypeError, extmem.Stream, "<Q", 5, ctx=self.ctx)

    def test_life(self):
        """Whatever is closed, collected, or left in the middle, in any order, frees iterator and memory."""
        used, alive = self.ctx.stats()["memory_used"], []

        class Batch(bytearray):
            pass

        def made(n):
            for _ in range(n):
                batch = Batch(8 * 1000)
                alive.append(weakref.ref(batch))
                yield batch
        for _ in range(300):
            s = extmem.Stream("<Q", made(5), ctx=self.ctx).map(lambda b: bytes(b))
            things = [s, s.sort() if self.rng.random() < 0.5 else s.map(lambda b: b)]
            for _ in range(self.rng.randrange(3)):
                things[1].next_batch()
            self.rng.shuffle(things)
            del s
            while things:
                thing = things.pop()
                if self.rng.random() < 0.5:
                    # One that made what another one still has goes later.
                    with contextlib.suppress(BufferError):
                        thing.close()
            del thing
        gc.collect()
        self.assertEqual([ref for ref in alive if ref() is not None], [])
        self.assertEqual(self.ctx.stats()["memory_used"], used)

    def test_itself(self):
        """A generator that pulls the stream that pulls it."""
        def made():
            yield s.next_batch()
        s = extmem.Stream("<Q", made(), ctx=self.ctx)
        self.assertRaises(extmem.UsageError, s.read)

    def pick(self, n, below=50):
        return array.array("Q", sorted(self.rng.randrange(below) for _ in range(n)))

    def test_nodes(self):
        """Nodes with functions, sets, joins, tees: what the same does with lists."""
        for _ in range(20):
            a, b = self.pick(self.rng.choice((0, 1, 300))), self.pick(self.rng.choice((0, 1, 300)))
            steps = self.rng.choice((1, 7, 1000)), self.rng.choice((1, 7, 1000))

            def left():
                return self.source(a, steps[0])

            def right():
                return self.source(b, steps[1])
            even = self.rng.choice((lambda some: bytes(x % 2 == 0 for x in some),
                                    lambda some: [x % 2 == 0 for x in some]))
            self.assertEqual(list(left().filter(even)), [x for x in a if x % 2 == 0], SEED)
            seen = []
            self.assertEqual(list(left().inspect(lambda some: seen.extend(some))), seen)
            self.assertEqual(seen, list(a))
            counts = collections.Counter(a)
            self.assertEqual(list(left().reduce(lambda total, more: total + sum(more))),
                             [x * n for x, n in sorted(counts.items())])
            self.assertEqual(list(left().unique(count=True, records="<QQ")), sorted(counts.items()))
            ours, theirs = collections.Counter(a), collections.Counter(b)
            for how, model in (("union", ours | theirs), ("intersection", ours & theirs), ("difference", ours - theirs),
                               ("symmetric", (ours - theirs) + (theirs - ours))):
                self.assertEqual(list(left().set(how, right())), sorted(model.elements()), (how, SEED))
            pairs = [(x, y) for x in a for y in b if x == y]
            self.assertEqual(list(left().join(right(), records="<QQ")), pairs)
            self.assertEqual(list(left().join(right(), fn=lambda x, y: x + y)), [x + y for x, y in pairs])
            self.assertEqual(list(left().join(right(), how="full",
                                              fn=lambda x, y: 99 if x is None or y is None else 0)),
                             [0 if (x in ours and x in theirs) else 99 for x in sorted(
                                 [x for x, _ in pairs] + [x for x in a if x not in theirs] +
                                 [y for y in b if y not in ours])])
            self.assertEqual(list(left().join(right(), how="anti")), [x for x in a if x not in theirs])
            self.assertEqual(list(left().reverse()), list(a)[::-1])
            self.assertEqual(list(left().zip(right(), records="<QQ")), list(zip(a, b)))
            self.assertEqual(list(left().window(3, 2, records="<QQQ")),
                             [tuple(a[i:i + 3]) for i in range(0, len(a) - 2, 2)])
            self.assertEqual(list(left().prefix_sum()), [sum(a[:i + 1]) for i in range(len(a))])
            copies = left().tee(self.rng.randrange(1, 4))
            self.assertEqual([list(one) for one in copies], [list(a)] * len(copies))

    def test_tee(self):
        """Outputs are one graph: they are pulled in any order, closed one by one, and are inputs of a node again."""
        data = array.array("Q", range(100000))
        a, b = self.source(data, 1000).tee(buffer_bytes=8000)
        with self.assertRaises(extmem.MemoryLimitError):
            a.read()
        a.close()
        self.assertEqual(len(b.read()), 100000)
        a, b = self.source(data, 1000).tee(spill=True, buffer_bytes=8000)
        self.assertEqual(a.merge(b.map(lambda some: some)).slice(0, 4).read().tolist(), [0, 0, 1, 1])
        self.assertRaises(ValueError, self.source(data, 1000).tee, 1 << 20)
        a, b = self.source(data, 1000).tee()
        del a
        self.assertEqual(next(iter(b)), 0)

    def test_containers(self):
        """Streams of containers, and sinks to them, which live as long as these, in whatever order they go."""
        data = self.numbers(3000)
        for kind in (extmem.Vector, extmem.Deque, extmem.Stack, extmem.Queue, extmem.PriorityQueue):
            c = kind("<Q", ctx=self.ctx)
            with c.sink() as k:
                self.assertEqual(self.source(data, 100).pump(k), 3000)
                self.assertEqual(len(k), 3000)
            model = data.tolist()
            model = model[::-1] if kind is extmem.Stack else sorted(model) if kind is extmem.PriorityQueue else model
            if kind in (extmem.Vector, extmem.Deque):
                self.assertEqual(c.stream(10, 20).read().tolist(), model[10:20])
                self.assertEqual(c.stream(-5, reverse=True).read().tolist(), model[:-6:-1])
            s = c.stream()
            if self.rng.random() < 0.5:
                c.close()
                self.assertRaises(extmem.UsageError, len, c)
            del c
            gc.collect()
            self.assertEqual(s.read().tolist(), model, (kind, SEED))
        tree = extmem.BTree("<Q", "<Q", ctx=self.ctx)
        with tree.sink() as k:
            k.push(array.array("Q", [1, 10, 2, 20, 3, 30]))
        self.assertEqual(dict(tree), {1: 10, 2: 20, 3: 30})
        self.assertEqual(b"".join(tree.stream(2)), array.array("Q", [2, 20, 3, 30]).tobytes())
        sorter = extmem.Sorter("<Q", ctx=self.ctx)
        with sorter.sink() as k:
            k.push(data)
        self.assertEqual(sorter.stream().read().tolist(), sorted(data))
        v = extmem.Vector("<Q", [5] * 10, ctx=self.ctx)
        self.assertEqual(self.source(data, 7).slice(0, 3).to_vector(v, 8), 11)
        self.assertEqual(v[7:].tolist(), [5, *data[:3]])

    def test_sinks(self):
        """Files are there when they are finished; functions get None then; a split fills several."""
        data, path = self.numbers(1000), self.path("out")
        with self.assertRaises(KeyError), extmem.Sink.file("<Q", path, ctx=self.ctx) as k:
            k.push(data)
            raise KeyError
        self.assertFalse(os.path.exists(path))
        with extmem.Sink.file("<Q", path, ctx=self.ctx) as k:
            k.push(data)
            k.push([1, 2])
        self.assertEqual(extmem.Stream.file("<Q", path, ctx=self.ctx).read().tolist(), data.tolist() + [1, 2])
        got, one = [], extmem.Stack("<Q", ctx=self.ctx)
        with extmem.Sink("<Q", lambda some: got.append(some if some is None else list(some)), ctx=self.ctx) as k:
            with one.sink() as other:
                stays = self.source(data, 50).split(lambda some: [x % 3 for x in some], k, other)
                self.assertEqual(list(stays), [x for x in data if x % 3 == 0])
        self.assertIsNone(got.pop())
        self.assertEqual(sum(got, []), [x for x in data if x % 3 == 1])
        self.assertEqual(len(one), sum(x % 3 == 2 for x in data))
        with extmem.Sink.discard("<Q", ctx=self.ctx) as k:
            k.push(data)
            self.assertEqual(len(k), 1000)
        self.assertRaises(extmem.UsageError, k.push, data)

    def test_functions_fail(self):
        """What they raise comes out, and so does what is none of what they are to give."""
        def bad(*_):
            raise KeyError("of the caller")
        data = array.array("Q", [1, 1, 2])
        for fn, what in ((bad, KeyError), (lambda *_: b"1", ValueError), (lambda *_: [7, 7, 7], ValueError),
                         (lambda *_: 5.5, TypeError)):
            for make in (lambda s: s.filter(fn), lambda s: s.split(fn, k)):
                with extmem.Sink.discard("<Q", ctx=self.ctx) as k, self.assertRaises((what, extmem.CallbackError)):
                    make(self.source(data, 9)).read()
        for make in (lambda s: s.inspect(bad), lambda s: s.reduce(bad), lambda s: s.map(bad),
                     lambda s: s.join(self.source(data, 9), fn=bad)):
            with self.assertRaisesRegex(KeyError, "of the caller"):
                make(self.source(data, 9)).read()
        with self.assertRaisesRegex(KeyError, "of the caller"):
            self.source(data, 9).pump(extmem.Sink("<Q", bad, ctx=self.ctx))

    def test_threads(self):
        """Another thread that is inside a graph, or a container that it is on, is told, and nothing else happens."""
        v = extmem.Vector("<Q", range(100), ctx=self.ctx)
        inside, go = threading.Event(), threading.Event()

        def wait(some):
            inside.set()
            go.wait(10)
        s = v.stream().inspect(wait)
        thread = threading.Thread(target=s.next_batch)
        thread.start()
        self.assertTrue(inside.wait(10))
        for use in (s.next_batch, lambda: v.append(1), lambda: len(v.stream())):
            self.assertRaises(extmem.UsageError, use)
        go.set()
        thread.join()
        self.assertEqual(len(v), 100)

    def test_functions_freed(self):
        """Functions go with what they were given to, also where that could not be made."""
        class Fn:
            def __call__(self, *_):
                return b""
        for make in (lambda fn: self.source(array.array("Q"), 1).filter(fn),
                     lambda fn: self.source(array.array("Q"), 1).reduce(fn),
                     lambda fn: self.source(array.array("Q"), 1).split(fn),
                     lambda fn: self.source(array.array("Q"), 1).join(self.source(array.array("I", [1]), 1), fn=fn),
                     lambda fn: extmem.Sink(1 << 30, fn, ctx=self.ctx)):
            fn = Fn()
            ref = weakref.ref(fn)
            with contextlib.suppress(extmem.Error, ValueError):
                make(fn).close()
            del fn
            gc.collect()
            self.assertIsNone(ref())

    def test_many(self):
        """No leak over many graphs."""
        before = None
        for i in range(3000):
            v = extmem.Vector("<Q", ctx=self.ctx)
            a, b = v.stream().filter(bytes).tee()
            with v.sink() as k:
                s = a.merge(b)
            del s, a, b, k
            if i == 100:
                before = self.ctx.stats()["memory_used"]
        gc.collect()
        self.assertLessEqual(self.ctx.stats()["memory_used"], before)


if __name__ == "__main__":
    print("seed", SEED)
    unittest.main()
