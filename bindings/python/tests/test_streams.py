# SPDX-License-Identifier: BSL-1.0
"""Streams, sinks and runs: any graph makes what lists make, whatever fails, and in which order whatever is closed."""
import array
import collections
import contextlib
import gc
import itertools
import os
import struct
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
                     lambda fn: self.source(array.array("Q"), 1).sort_reduce(fn),
                     lambda fn: self.source(array.array("Q"), 1).sort_reduce(fn, memory=1),
                     lambda fn: self.source(array.array("Q"), 1).sort_reduce(bytes, progress=fn).slice(0),
                     lambda fn: extmem.Stream.lines("no-such-file", ctx=self.ctx).filter(fn).inspect(fn).sort(),
                     lambda fn: self.source(array.array("Q"), 1).slice(0).sort(memory=1, progress=fn),
                     lambda fn: extmem.Runs("<Q", combine=fn, progress=fn, ctx=self.ctx),
                     lambda fn: extmem.Runs("<Q", combine=fn, unique=True, ctx=self.ctx),
                     lambda fn: extmem.Sink(1 << 30, fn, ctx=self.ctx)):
            fn = Fn()
            ref = weakref.ref(fn)
            with contextlib.suppress(extmem.Error, ValueError):
                make(fn).close()
            del fn
            gc.collect()
            self.assertIsNone(ref())

    def test_progress_kept(self):
        """A function that watches a sort lives as long as that, also as an input of an input."""
        class Fn:
            def __call__(self, *_):
                pass
        fns = [Fn() for _ in range(3)]
        refs = [weakref.ref(fn) for fn in fns]
        s = self.source(self.numbers(5000), 99).sort(run_records=100, progress=fns[0]).slice(0)
        s = s.sort_reduce(lambda total, more: total, run_records=100, progress=fns[1]).concat(
            self.source(self.numbers(10), 3).sort(progress=fns[2]))
        s, t = s.slice(0).tee(spill=True)
        del fns
        gc.collect()
        self.assertTrue(all(ref() for ref in refs))
        self.assertEqual(len(s.read()), 5010)
        del s, t
        gc.collect()
        self.assertFalse(any(ref() for ref in refs))

    def test_sort_reduce(self):
        """Sums of equal records, in few runs; and what a graph tells of itself, also from within."""
        data, told = array.array("Q", (self.rng.randrange(97) for _ in range(60000))), []
        s = self.source(data, 1000).map(lambda some: b"".join(struct.pack("<QQ", x, 1) for x in some), "<QQ")

        def add(total, more):
            return total[0], total[1] + sum(n for _, n in struct.iter_unpack("<QQ", more))
        s = s.sort_reduce(add, "f0", run_records=1000).inspect(lambda some: told.append(s.graph_info()))
        before = s.graph_info()
        self.assertEqual((before["phases"], before["phase"], before["done"]), (2, 1, 0))
        self.assertEqual(list(s), sorted(collections.Counter(data).items()), SEED)
        self.assertEqual(told[-1]["phase"], 2)
        self.assertRaises(extmem.UsageError, s.runs_info)
        s = self.source(data, 1000).sort_reduce(lambda total, more: total, run_records=1000, block_bytes=4096,
                                                memory=1 << 20)
        self.assertEqual(list(s), sorted(set(data)))
        self.assertEqual(s.runs_info()["pushed"], 60000)
        self.assertRaises(extmem.UsageError, self.source(data, 9).sort_reduce, min, flags=extmem.EM_SORT_UNIQUE)

    def test_progress(self):
        """A graph tells how far it got, until it is told to stop, or the function raises."""
        told = []

        def tell(phase, done, total):
            told.append((phase, done, total))
            return len(told) == 3
        block = self.numbers(1000)
        s = self.source(block, 1000).concat(extmem.Stream("<Q", itertools.repeat(block), ctx=self.ctx)).progress(tell)
        self.assertRaises(extmem.CanceledError, lambda: [None for _ in s.batches()])
        self.assertEqual([t[0] for t in told], [1] * 3)
        self.assertEqual([t[1] for t in told], sorted(t[1] for t in told))
        s = extmem.Stream("<Q", itertools.repeat(block), ctx=self.ctx).progress(lambda *_: 1 // 0).sort()
        self.assertRaises(ZeroDivisionError, s.read)
        self.assertRaises(extmem.UsageError, s.progress, tell)

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


class Runs(Base):
    def pairs(self, n, below=1000):
        return [(self.rng.randrange(below), i) for i in range(n)]

    def runs(self, key="f0", **opts):
        return extmem.Runs("<QQ", key, ctx=self.ctx, **{"memory": 1 << 20, "run_records": 500, "block_bytes": 4096} |
                           opts)

    def fill(self, runs, pieces):
        """Add each piece in one of the ways that there are, and finish."""
        pack = runs.records.pack
        for piece in pieces:
            step, how = self.rng.choice((1, 100, 100000)), self.rng.randrange(6)
            parts = [piece[i:i + step] for i in range(0, len(piece), step)]
            batches = [b"".join(map(pack, part)) for part in parts]
            if how == 0:
                for part in parts:
                    runs.push(part)
                continue
            if how == 1:
                runs.feed(extmem.Stream("<QQ", batches, ctx=self.ctx))
                continue
            if how == 2:
                with runs.sink(more=True) as k:
                    for batch in batches:
                        k.push(batch)
                continue
            piece.sort(key=lambda record: record[0])
            batches = [b"".join(map(pack, piece[i:i + step])) for i in range(0, len(piece), step)]
            if how == 3:
                for batch in batches:
                    runs.append(batch)
                runs.end()
            elif how == 4:
                runs.feed(extmem.Stream("<QQ", batches, ctx=self.ctx), sorted=True)
            else:
                with runs.sink(sorted=True, more=True) as k:
                    for batch in batches:
                        k.push(batch)
        runs.finish()
        return sorted(itertools.chain(*pieces), key=lambda record: record[0])

    def test_model(self):
        """Merges of all and of ranges, as often as one likes and at the same time, are what sorted lists are."""
        runs, few = self.runs(), self.runs(fan_in=2, merge_memory=1 << 19)
        for one in (runs, few) * 4:
            model = self.fill(one, [self.pairs(self.rng.choice((0, 1, 3000))) for _ in range(self.rng.randrange(5))])
            self.assertEqual(one.info()["records"], len(model), SEED)
            self.assertEqual(list(one.merge()), model, SEED)
            low, high = sorted(self.rng.randrange(1000) for _ in range(2))
            part = [record for record in model if low <= record[0] < high]
            self.assertEqual(list(one.merge((low, 0), (high, 0))), part, SEED)
            skip, take = self.rng.randrange(3000), self.rng.choice((0, 1, 3000))
            self.assertEqual(list(one.merge((low, 0), skip=skip, take=take)),
                             [record for record in model if low <= record[0]][skip:skip + take], SEED)
            both = zip(one.merge(), one.merge().reverse())
            self.assertEqual(list(both), list(zip(model, model[::-1])), SEED)
            one.clear()
            self.assertEqual(one.info()["records"], 0)
        runs.close()
        self.assertRaises(extmem.UsageError, runs.push, [(1, 2)])

    def test_combine(self):
        """A sum for each key, wherever equal records meet."""
        def add(total, more):
            return total[0], total[1] + sum(n for _, n in struct.iter_unpack("<QQ", more))
        for _ in range(5):
            runs = self.runs(combine=add)
            model = self.fill(runs, [self.pairs(self.rng.choice((1, 3000)), 50) for _ in range(4)])
            sums = collections.Counter()
            for key, n in model:
                sums[key] += n
            self.assertEqual(list(runs.merge()), sorted(sums.items()), SEED)
            self.assertEqual(list(runs.merge(skip=3, take=5)), sorted(sums.items())[3:8], SEED)
        runs = self.runs(unique=True)
        model = self.fill(runs, [self.pairs(2000, 50)])
        self.assertEqual(list(runs.merge()), [next(group) for _, group in itertools.groupby(model, lambda r: r[0])])
        self.assertRaises(extmem.UsageError, self.runs, unique=True, combine=add)

    @unittest.skipIf(np is None, "NumPy is missing")
    def test_numpy(self):
        a = np.zeros(5000, [("key", "u4"), ("n", "f8")])
        a["key"], a["n"] = np.frombuffer(self.rng.randbytes(5000), "u1"), 1
        with extmem.Runs(a.dtype, "key", ctx=self.ctx, combine=lambda total, more: (
                total[0], total[1] + more["n"].sum())) as runs:
            runs.push(a)
            runs.finish()
            got = runs.merge().read()
            keys, counts = np.unique(a["key"], return_counts=True)
            self.assertTrue((got["key"] == keys).all() and (got["n"] == counts).all())

    def test_misuse(self):
        runs = self.runs()
        with self.assertRaises(extmem.DataError) as failed:
            runs.append([(1, 0), (3, 0), (2, 0)])
        self.assertEqual(failed.exception.record, 3)
        self.assertRaises(ValueError, runs.push, bytes(15))
        self.assertRaises(extmem.UsageError, runs.feed, extmem.Stream("<Q", [], ctx=self.ctx))
        s = runs.merge()
        runs.push([(5, 0), (4, 0)])
        self.assertRaises(extmem.UsageError, s.next_batch)
        runs.finish()
        self.assertRaises(extmem.UsageError, runs.push, [(1, 1)])
        self.assertRaises(extmem.UsageError, runs.finish)
        t = runs.merge()
        batch = s.next_batch()
        self.assertEqual(runs.records.items(batch), [(4, 0), (5, 0)])
        self.assertRaises(extmem.UsageError, runs.clear)
        del batch
        self.assertEqual(list(s), [])
        runs.clear()
        self.assertRaises(extmem.UsageError, t.next_batch)
        for args in (dict(memory=1), dict(block_bytes=5), dict(nothing=1)):
            self.assertRaises((extmem.Error, TypeError), self.runs, **args)
        self.assertRaises(extmem.UsageError, extmem.Runs, "lines", ctx=self.ctx)

    def test_life(self):
        """Merges go on when their runs are closed, which are gone with the last of them."""
        for i in range(50):
            runs = self.runs()
            runs.push(self.pairs(self.rng.choice((5, 2000))))
            runs.finish()
            things = [runs, runs.merge(), runs.merge().slice(1), runs.merge((3, 0))]
            count = runs.info()["records"]
            del runs
            self.rng.shuffle(things)
            while things:
                thing = things.pop()
                if isinstance(thing, extmem.Runs):
                    thing.close()
                elif self.rng.random() < 0.5:
                    self.assertLessEqual(len(list(thing)), count)
            del thing
            if i == 0:
                used = self.ctx.stats()["memory_used"]
        gc.collect()
        self.assertEqual(self.ctx.stats()["memory_used"], used)

    def test_functions_fail(self):
        """What a function raises comes out, stays, and is over when the runs are cleared."""
        def add(total, more):
            if bad:
                raise KeyError("of the caller")
            return total
        bad, runs = True, self.runs(combine=add)
        with self.assertRaisesRegex(KeyError, "of the caller"):
            runs.push([(1, 1)] * 2000)
            runs.finish()
        self.assertRaises(extmem.CallbackError, runs.finish)
        runs.clear()
        bad = False
        runs.push([(1, 1)] * 2000)
        runs.finish()
        self.assertEqual(list(runs.merge()), [(1, 1)])
        for wrong in (b"1", (1,), None):
            runs = self.runs(combine=lambda total, more: wrong)
            runs.push([(1, 1)] * 2)
            with self.assertRaises((struct.error, TypeError)):
                runs.finish()
        runs = self.runs(combine=lambda total, more: runs.push([total]))
        runs.push([(1, 1)] * 2)
        self.assertRaises(extmem.UsageError, runs.finish)


class Lines(Base):
    number = itertools.count()

    def lines(self, n):
        return [bytes(self.rng.choice(b"0123456789 ab") for _ in range(self.rng.choice((0, 1, 5, 30))))
                for _ in range(n)]

    def stream(self, *parts, end=b"\n", **opts):
        names = [self.path(f"in{next(self.number)}", b"".join(line + end for line in part)) for part in parts]
        return extmem.Stream.lines(names if self.rng.random() < 0.5 or len(names) > 1 else names[0], ctx=self.ctx,
                                   **opts)

    def test_model(self):
        """Any graph of nodes of lines makes what lists make."""
        for _ in range(20):
            parts = [self.lines(self.rng.choice((0, 1, 3000))) for _ in range(self.rng.randrange(1, 4))]
            s, model, seen = self.stream(*parts), [line for part in parts for line in part], []
            if self.rng.random() < 0.5:
                s, model = s.filter(lambda some: [b"a" in line for line in some]), [x for x in model if b"a" in x]
            if self.rng.random() < 0.5:
                s, model = s.concat(self.stream([b"last"])), model + [b"last"]
            if self.rng.random() < 0.5:
                s, model = s.sort(run_records=1000), sorted(model)
                more = sorted(self.lines(500))
                if self.rng.random() < 0.5:
                    s, model = s.merge(self.stream(more), self.stream([])), sorted(model + more)
            if self.rng.random() < 0.5:
                s, model = s.unique(), [line for line, _ in itertools.groupby(model)]
            if self.rng.random() < 0.5:
                s, model = s.sort("-u"), sorted(set(model))
            if self.rng.random() < 0.5:
                s, model = s.slice(3, 1000), model[3:1003]
            s = s.inspect(seen.extend)
            if self.rng.random() < 0.5:
                s = s.map(lambda some: array.array("Q", [len(x) for x in some if x]), "<Q").sort()
                self.assertEqual(list(s), sorted(len(x) for x in model if x), SEED)
            else:
                self.assertEqual(list(s), model, SEED)
            self.assertEqual(seen, model, SEED)

    def test_groups(self):
        """Sorted files are merged, and equal lines counted, by keys: what the same does with lists."""
        key = lambda line: line[:1]
        parts = [sorted((line for line in self.lines(self.rng.choice((0, 1, 900))) if line), key=key) for _ in range(5)]
        merged = sorted((line for part in parts for line in part), key=key)
        first, *others = (self.stream(part) for part in parts)
        s = first.merge(*others, key="-s -k1.1,1.1 -t,").unique("-s -k1.1,1.1 -t,", count=True)
        groups = [list(group) for _, group in itertools.groupby(merged, key=key)]
        self.assertEqual(s.read(), [b"%d\t%s" % (len(group), group[0]) for group in groups], SEED)
        s = self.stream(merged).reduce(lambda total, more: b"+".join([total, *more]), "-s -k1.1,1.1 -t,")
        self.assertEqual(s.read(), [b"+".join(group) for group in groups], SEED)
        with self.assertRaises(TypeError):
            self.stream([b"a", b"a"]).reduce(lambda total, more: None).read()

    def test_orders(self):
        lines = [b"%d,%d" % (self.rng.randrange(50), i) for i in range(2000)]
        self.assertEqual(self.stream(lines).sort("-t, -k1,1nr -s").read(),
                         sorted(lines, key=lambda line: -int(line.split(b",")[0])), SEED)
        order = extmem.Order("lines", "-n -u", ctx=self.ctx)
        self.assertEqual(self.stream([b"07", b"7", b"1"]).sort(order).read(), [b"1", b"07"])

    def test_joins(self):
        """Joins, set operations and tees of lines: what the same does with lists."""
        for _ in range(5):
            a, b = ([b"%d,%d,%s" % (i, self.rng.randrange(30), b"x" * self.rng.randrange(4)) for i in range(300)]
                    for _ in range(2))
            key = lambda line: line.split(b",")[1]
            a, b = sorted(a, key=key), sorted(b, key=lambda line: line.split(b",")[0])
            for how in ("inner", "left", "full", "semi", "anti"):
                want = []
                for x in a:
                    p = x.split(b",")
                    twins = [y.split(b",") for y in b if y.split(b",")[0] == p[1]]
                    if how in ("semi", "anti"):
                        want += [x] * (bool(twins) == (how == "semi"))
                        continue
                    want += [b";".join([p[1], p[0], p[2]] + q[1:]) for q in twins]
                    if not twins and how != "inner":
                        want.append(b";".join([p[1], p[0], p[2]]))
                if how == "full":
                    mine = {key(x) for x in a}
                    want += [b";".join(y.split(b",")) for y in b if y.split(b",")[0] not in mine]
                    want.sort(key=lambda line: line.split(b";")[0])
                got = self.stream(a).join(self.stream(b), "-t, -k2,2", "-t, -k1,1", how=how, separator=";").read()
                self.assertEqual(got, want, (how, SEED))
            by = extmem.Order("lines", "-t, -k1,1", ctx=self.ctx)
            both = self.stream(sorted(a)).join(self.stream(sorted(a)), by, fn=lambda x, y: b"" if x == y else None)
            self.assertEqual(both.read(), [b""] * 300)
            left, right = self.stream(sorted(a)).tee(spill=True, buffer_bytes=1000)
            self.assertEqual(left.set("difference", self.stream([])).read(), sorted(a))
            self.assertEqual(right.set("symmetric", self.stream(sorted(a))).read(), [])
        with self.assertRaisesRegex(KeyError, "of the caller"):
            def bad(x, y):
                raise KeyError("of the caller")
            self.stream([b"a"]).join(self.stream([b"a"]), fn=bad).read()

    def test_made(self):
        """Any number of lines that are made of lines, by a generator or as a list, and what is wrong in them."""
        lines = self.lines(3000)
        words = [word for line in lines for word in line.split(b"1")]
        split = self.stream(lines).map(lambda some: [w for x in some for w in x.split(b"1")])
        self.assertEqual(split.read(), words, SEED)
        self.assertEqual(self.stream(lines).map(lambda some: (x * 3 for x in some)).map(iter).read(),
                         [x * 3 for x in lines], SEED)
        self.assertEqual(self.stream(lines).map(lambda some: None).read(), [])
        self.assertEqual(self.stream([b"a"]).map(lambda some: [b"", bytearray(b"x"), memoryview(b"yz")] * 1000).read(),
                         [b"", b"x", b"yz"] * 1000)

        def half(some):
            yield b"x"
            raise KeyError("of the caller")
        with self.assertRaisesRegex(KeyError, "of the caller"):
            self.stream([b"a"]).map(half).read()
        for wrong in (5, [5], [None]):
            with self.assertRaises(TypeError):
                self.stream([b"a"]).map(lambda some: wrong).read()
        with self.assertRaises(extmem.MemoryLimitError):
            self.stream([b"a"]).map(lambda some: itertools.repeat(b"x" * 1000)).read()

    def test_split(self):
        lines, path = self.lines(3000), self.path("sent")
        with extmem.Sink.lines(path, ctx=self.ctx) as sent:
            stays = self.stream(lines).split(lambda some: [len(x) % 2 for x in some], sent).read()
        self.assertEqual(stays, [x for x in lines if len(x) % 2 == 0], SEED)
        self.assertEqual(extmem.Stream.lines(path, ctx=self.ctx).read(), [x for x in lines if len(x) % 2], SEED)
        with self.assertRaises(extmem.UsageError):
            self.stream(lines).split(lambda some: bytes(len(some)), extmem.Sink.discard(8, ctx=self.ctx))

    def test_sinks(self):
        """Files of lines, and of records that other things end or precede, come back as they were."""
        lines = self.lines(3000)
        for form in (None, {"delimiter": 0}, {"kind": extmem.EM_FORMAT_PREFIXED, "width": 2},
                     {"kind": extmem.EM_FORMAT_PREFIXED, "width": 4, "flags": extmem.EM_FORMAT_BIG_ENDIAN}):
            path = self.path("out")
            with extmem.Sink.lines(path, form, ctx=self.ctx) as k:
                self.assertEqual(self.stream(lines).pump(k), 3000)
                k.push([b"x", "\u00e4", b""])
                k.push([])
                for batch in self.stream([b"one", b"two"]).batches():
                    k.push_lines(batch)
                    del batch
                self.assertEqual(len(k), 3005)
            got = extmem.Stream.lines(path, form, ctx=self.ctx).read()
            self.assertEqual(got, lines + [b"x", b"\xc3\xa4", b"", b"one", b"two"], (form, SEED))
        self.assertTrue(self.content(path).endswith(b"\0\0\0\3one\0\0\0\3two"))
        with self.assertRaises(KeyError), extmem.Sink.lines(self.path("none"), ctx=self.ctx) as k:
            k.push([b"x"])
            raise KeyError
        self.assertFalse(os.path.exists(self.path("none")))
        k = extmem.Sink.lines(self.path("none"), {"kind": extmem.EM_FORMAT_PREFIXED, "width": 1}, ctx=self.ctx)
        self.assertRaises(extmem.UsageError, k.push, [bytes(256)])
        self.assertRaises(extmem.UsageError, k.finish)

    def test_failures(self):
        def bad(some):
            raise KeyError("of the caller")
        for make in (lambda s: s.filter(bad), lambda s: s.inspect(bad), lambda s: s.map(bad, 8)):
            with self.assertRaisesRegex(KeyError, "of the caller"):
                make(self.stream([b"a", b"b"])).read()
        for wrong, what in (([1], ValueError), ([1, 2], ValueError), (5, TypeError), (["a", "b"], TypeError)):
            with self.assertRaises(what):
                self.stream([b"a", b"b"]).filter(lambda some: wrong).read()
        with self.assertRaises(extmem.NotFoundFailure):
            extmem.Stream.lines(self.path("none"), ctx=self.ctx).read()
        self.assertRaises(extmem.UsageError, extmem.Stream.lines, "x", {"kind": 9}, ctx=self.ctx)
        with self.assertRaises(extmem.DataError):
            extmem.Stream.lines(self.path("cut", b"\5abc"), {"kind": extmem.EM_FORMAT_PREFIXED, "width": 1},
                                ctx=self.ctx).read()
        for use in (lambda s: s.sort_reduce(min),
                    lambda s: s.reverse(), lambda s: s.zip(self.stream([])), lambda s: s.window(2),
                    lambda s: s.prefix_sum(), lambda s: s.join(self.stream([]), "-k1", "-k1n"),
                    lambda s: s.join(extmem.Stream("<Q", [], ctx=self.ctx)),
                    lambda s: s.merge(extmem.Stream("<Q", [], ctx=self.ctx)),
                    lambda s: s.pump(extmem.Sink.discard(8, ctx=self.ctx))):
            self.assertRaises((extmem.UsageError, TypeError), use, self.stream([b"a"]))


if __name__ == "__main__":
    print("seed", SEED)
    unittest.main()
