# SPDX-License-Identifier: BSL-1.0
"""What is Python's own: contracts of collections.abc, buffers, NumPy, memory."""
import array
import collections
import copy
import ctypes
import gc
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import threading
import unittest
from collections import abc

import extmem

from common import Base, SEED, np


class Contracts(Base):
    def model(self, ours, theirs, steps=400):
        """A MutableSequence does what a list does."""
        rng = self.rng
        for _ in range(steps):
            i, value = rng.randrange(-len(theirs) - 2, len(theirs) + 2), rng.getrandbits(64)
            do = rng.choice(("append", "insert", "pop", "set", "get", "slice", "del", "extend", "iadd", "remove",
                             "write"))
            results = []
            for s in (ours, theirs):
                try:
                    results.append(
                        s.append(value) if do == "append" else
                        s.insert(i, value) if do == "insert" else
                        s.pop(i) if do == "pop" else
                        s.__setitem__(i, value) if do == "set" else
                        s[i] if do == "get" else
                        list(s[min(i, 3):]) if do == "slice" else
                        s.__delitem__(i) if do == "del" else
                        s.extend([value, 1]) if do == "extend" else
                        s.__iadd__([value]) and None if do == "iadd" else
                        s.remove(1) if do == "remove" and 1 in s else
                        s.__setitem__(slice(0, 2), [value, value]) if do == "write" and len(s) > 2 else None)
                except IndexError:
                    results.append(IndexError)
            self.assertEqual(results[0], results[1], (SEED, do, i))
            self.assertEqual(len(ours), len(theirs), (SEED, do, i))
        self.assertEqual(list(ours), theirs, SEED)
        self.assertEqual(list(reversed(ours)), theirs[::-1])
        self.assertEqual(ours.count(1), theirs.count(1))
        self.assertEqual(list(ours[::2]), theirs[::2])

    def test_vector(self):
        self.assertIsInstance(extmem.Vector("Q"), abc.MutableSequence)
        self.model(extmem.Vector("<Q", ctx=self.ctx), [])

    def test_deque(self):
        self.assertIsInstance(extmem.Deque("Q"), abc.MutableSequence)
        self.model(extmem.Deque("<Q", ctx=self.ctx), [])

    def test_slices(self):
        """Slices with steps, from the end, and beyond it, are those of a list."""
        for cls in (extmem.Vector, extmem.Deque):
            for _ in range(100):
                theirs = list(range(self.rng.randrange(20)))
                ours = cls("<Q", theirs, ctx=self.ctx)
                part = slice(*(self.rng.choice((None, self.rng.randrange(-25, 25))) for _ in range(2)),
                             self.rng.choice((None, 1, 2, 3, -1, -2)))
                self.assertEqual(list(ours[part]), theirs[part], (SEED, part))
                del ours[part], theirs[part]
                self.assertEqual(list(ours), theirs, (SEED, part))
                self.assertEqual(ours, cls("<Q", theirs, ctx=self.ctx))
                for i in (len(theirs), -len(theirs) - 1):
                    self.assertRaises(IndexError, ours.pop, i)
                    self.assertRaises(IndexError, ours.__setitem__, i, 1)
                self.assertRaises(ValueError, ours.__setitem__, slice(0, 2), [1] * (min(len(theirs), 2) + 1))

    def test_subclass(self):
        """What users derive is of the same kind."""
        class Mine(extmem.Vector):
            def __init__(self, *args, **opts):
                super().__init__(*args, **opts)
                self.own = 1
        v = Mine("<Q", [1], ctx=self.ctx)
        v.append(2)
        self.assertEqual((v[:].tolist(), v.own), ([1, 2], 1))
        self.assertIs(type(v), Mine)
        self.assertFalse(hasattr(extmem.RadixHeap("<Q", ctx=self.ctx), "stream"))

    def test_deque_ends(self):
        ours, theirs = extmem.Deque(3, ctx=self.ctx), collections.deque()
        for i in range(2000):
            value = self.rng.randbytes(3)
            if self.rng.random() < 0.6 or not theirs:
                for d in (ours, theirs):
                    (d.append if i % 3 else d.appendleft)(value)
            else:
                self.assertEqual((ours.pop if i % 2 else ours.popleft)(), (theirs.pop if i % 2 else theirs.popleft)())
        self.assertEqual(list(ours), list(theirs), SEED)

    def test_tree(self):
        ours, theirs = extmem.BTree("<i", "<Q", ctx=self.ctx), {}
        self.assertIsInstance(ours, abc.MutableMapping)
        for _ in range(3000):
            key, value = self.rng.randrange(-200, 200), self.rng.getrandbits(64)
            do = self.rng.choice(("set", "set", "get", "del", "pop", "default", "in"))
            results = []
            for m in (ours, theirs):
                try:
                    results.append(m.__setitem__(key, value) if do == "set" else m[key] if do == "get" else
                                   m.__delitem__(key) if do == "del" else m.pop(key, None) if do == "pop" else
                                   m.setdefault(key, value) if do == "default" else key in m)
                except KeyError:
                    results.append(KeyError)
            self.assertEqual(results[0], results[1], (SEED, do, key))
        self.assertEqual(list(ours.items()), sorted(theirs.items()), SEED)
        self.assertEqual(list(reversed(ours)), sorted(theirs, reverse=True))
        self.assertEqual(dict(ours), theirs)
        self.assertTrue(ours.keys() == theirs.keys())
        for low, high in ((-50, 50), (None, 0), (0, None), (10, 5)):
            want = [k for k in sorted(theirs) if (low is None or k >= low) and (high is None or k < high)]
            self.assertEqual([k for k, _ in ours.range(low, high)], want)
            self.assertEqual([k for k, _ in ours.range(low, high, reverse=True)], want[::-1])
        self.assertEqual(ours.popitem(), (min(theirs), theirs[min(theirs)]))
        ours.verify()
        ours.clear()
        self.assertRaises(KeyError, ours.popitem)

    def test_tree_changes_while_passed(self):
        t = extmem.BTree("<I", 0, {i: b"" for i in range(100)}, ctx=self.ctx)
        for key in t:
            del t[key]
        self.assertEqual(len(t), 0)

    def test_tree_cursor_and_many(self):
        t = extmem.BTree("<I", "<I", {i: i * i for i in range(0, 100, 2)}, ctx=self.ctx)
        c = t.cursor()
        self.assertEqual(c.seek(51), (52, 2704))
        self.assertEqual(c.prev(), (50, 2500))
        c.erase()
        self.assertIsNone(c.get())
        self.assertEqual(c.next(), (52, 2704))
        records, found = t.get_many([2, 3, 98])
        self.assertEqual(bytes(found), b"\1\0\1")
        self.assertEqual(struct.unpack("<6I", records), (2, 4, 0, 0, 98, 9604))
        self.assertEqual(t.update_records(struct.pack("<4I", 3, 9, 2, 5)), 1)
        self.assertEqual((t[3], t[2], t.count(0, 3), t.erase_range(None, 3)), (9, 5, 3, 2))
        # Keys and items of iterators that call the library.
        self.assertEqual(bytes(t.get_many(key + 1 for key, _ in t.range(96))[1]), b"\0\0")
        self.assertEqual(t.update_records((key + 1, value) for key, value in t.range(90)), 5)

    def visited_tree(self):
        return extmem.BTree("<Q", ">IB", {2 * i: (i, i % 7) for i in range(1000)}, leaf_bytes=4096, ctx=self.ctx)

    @staticmethod
    def items(some):
        some = bytes(some)
        return [(some[at:at + 8], some[at + 8:at + 13]) for at in range(0, len(some), 13)]

    @staticmethod
    def items_of(t, start, stop):
        return [(struct.pack("<Q", key), struct.pack(">IB", *value)) for key, value in t.range(start, stop)]

    def test_tree_for_each(self):
        t = self.visited_tree()
        for start, stop in ((101, 1501), (None, 600), (1200, None), (None, None), (7, 7)):
            seen, places = [], []

            def see(i, some):
                self.assertEqual(i, len(seen))
                places.append(i)
                seen.extend(self.items(some))
            t.for_each(see, start, stop)
            self.assertEqual(seen, self.items_of(t, start, stop))
        t.for_each(see)
        self.assertGreater(len(places), 1)
        with self.assertRaises(ZeroDivisionError):
            t.for_each(lambda i, some: 1 // 0, 5)
        self.assertRaises(extmem.UsageError, t.for_each, lambda i, some: t.clear())
        self.assertRaises(struct.error, t.for_each, see, "5")
        self.assertEqual(len(t), 1000)

    def test_tree_for_each_many(self):
        t, starts, stops = self.visited_tree(), (1200, 7, 101), (1999, 7, 1301)
        for some, others in ((starts, stops), (array.array("Q", starts), iter(stops)), (starts, None), (None, stops)):
            seen = [[], [], []]

            def see(i, part):
                seen[i] += self.items(part)
            t.for_each_many(see, some, others)
            self.assertEqual(seen, [self.items_of(t, start if some else None, stop if others else None)
                                    for start, stop in zip(starts, stops)])
        t.for_each_many(self.fail, [], None)
        with self.assertRaises(ZeroDivisionError):
            t.for_each_many(lambda i, some: 1 // 0, starts, stops)
        for some, others, why in (((1, 2, 3), (4, 5), "3 ranges begin, and 2 end"), (None, None, "keys where")):
            self.assertRaisesRegex(extmem.UsageError, why, t.for_each_many, self.fail, some, others)
        self.assertRaises(ValueError, t.for_each_many, self.fail, starts, b"1234567")
        self.assertRaises(struct.error, t.for_each_many, self.fail, starts, "567")

    def test_tree_is_loaded(self):
        t = extmem.BTree("<Q", "<Q", ctx=self.ctx)
        s = extmem.Sorter(16, t.order, ctx=self.ctx)
        s.push(b"".join(struct.pack("<QQ", i * 7919 % 10007, i) for i in range(10007)))
        s.finish()
        t.load(s)
        self.assertEqual((len(t), t[7919], list(t)[:3]), (10007, 1, [0, 1, 2]))
        t.verify()

    def test_heaps(self):
        q, h, model = extmem.PriorityQueue("<IQ", "-f0", ctx=self.ctx), extmem.RadixHeap("<Q", ctx=self.ctx), []
        items = [(self.rng.getrandbits(32), i) for i in range(1000)]
        q.extend(items)
        q.push((5, 5))
        self.assertEqual(q.pop()[0], max(items)[0])
        self.assertEqual(q.pushpop((2**32 - 1, 1)), (2**32 - 1, 1))
        self.assertEqual(len(bytes(q.pop_many(10))), 120)
        self.assertEqual([k for k, _ in q.drain()], sorted([k for k, _ in items] + [5], reverse=True)[11:])
        self.assertRaises(IndexError, q.pop)
        h.extend(range(10))
        self.assertEqual((h.pop(), h.peek(), list(h.pop_many(3)), h.last, len(h)), (0, 1, [1, 2, 3], 3, 6))
        self.assertEqual(model, [])

    def test_stack_queue(self):
        for cls in (extmem.Stack, extmem.Queue):
            c = cls("<Q", ctx=self.ctx)
            self.assertFalse(c)
            c.extend(range(100000))
            c.push(7)
            self.assertTrue(c)
            self.assertEqual((c.peek(), c.pop()), (7, 7) if cls is extmem.Stack else (0, 0))
            some = list(c.pop_many(200000))
            self.assertEqual(len(some), 100000)
            self.assertRaises(IndexError, c.pop)
            self.assertEqual(c.stats()["records"], 0)


class Buffers(Base):
    def test_any_buffer(self):
        want = self.numbers(1000)
        raw = want.tobytes()
        for data in (want, raw, bytearray(raw), memoryview(raw),
                     (ctypes.c_uint64 * 1000).from_buffer_copy(raw), list(want)):
            s = extmem.Sorter("<Q", ctx=self.ctx)
            s.push(data)
            self.assertEqual(list(s), sorted(want), SEED)
        s = extmem.Sorter("<Q", ctx=self.ctx)
        self.assertRaises(ValueError, s.push, b"1234567")
        self.assertRaises(TypeError, s.push, array.array("I", [1, 2]))
        self.assertRaises(TypeError, s.push, array.array("d", [1]))
        self.assertRaises(BufferError, s.push, memoryview(raw)[::2])
        self.assertEqual(list(s), [])

    def test_sort(self):
        a = array.array("d", [2.5, -1.0, 3.25])
        self.assertEqual(extmem.sort(a), array.array("d", [-1.0, 2.5, 3.25]))
        self.assertEqual(a[0], 2.5)
        self.assertEqual(bytes(extmem.sort(b"cab")), b"abc")
        self.assertEqual(bytes(extmem.sort([b"xy", b"ab"], records=2)), b"abxy")
        self.assertEqual(extmem.sort(array.array("Q", [3, 1, 3]), unique=True), array.array("Q", [1, 3]))
        got = extmem.sort(array.array("Q", range(1000)), lambda some: [2**64 - 1 - n for n in some])
        self.assertEqual(list(got), list(range(999, -1, -1)))
        self.assertRaises(TypeError, extmem.sort, 5)
        self.assertRaises(KeyError, extmem.Sorter, "<QQ", "f2")

    def test_formats(self):
        """Items of a format are those of struct, alone and many, and lie where struct has them."""
        values = {"?": True, "b": -1, "B": 255, "h": -2, "H": 65535, "i": -3, "I": 7, "l": -5, "L": 9, "q": -4,
                  "Q": 2**64 - 1, "f": 0.5, "d": -0.25, "s": b"a", "5s": b"hello"}
        for _ in range(200):
            codes = [self.rng.choice(list(values)) for _ in range(self.rng.randrange(1, 5))]
            order, pad = self.rng.choice(("", "=", "@", "<", ">", "!")), self.rng.choice(("", "x", "3x"))
            spec, some = order + pad.join(["", *codes]), [values[code] for code in codes]
            model, item = struct.Struct(spec if order else "=" + spec), tuple(some) if len(some) > 1 else some[0]
            raw = model.pack(*some)
            with extmem.Stack(spec, ctx=self.ctx) as s:
                s.push(item)
                s.extend([item, item])
                self.assertEqual(s.records.bytes, model.size, spec)
                self.assertEqual(bytes(s.pop_many(2)), raw * 2, spec)
                self.assertEqual((s.peek(), s.pop()), (item, item), spec)
            begin = struct.calcsize((order or "=") + pad + codes[0]) - struct.calcsize((order or "=") + codes[0])
            self.assertEqual(extmem.Order(spec, "f0", ctx=self.ctx).name.split("@")[1], str(begin), spec)
        for spec, number in (("<l", 2**31), ("=L", 2**32), ("@l", 2**(8 * struct.calcsize("l") - 1))):
            with extmem.Vector(spec, ctx=self.ctx) as v:
                self.assertRaises(OverflowError, v.append, number)
                v.extend([number - 1, 1])
                self.assertEqual((list(v), v.read(0, 2).tolist()), ([number - 1, 1], [number - 1, 1]), spec)
        self.assertRaises(TypeError, extmem.Stack, "<Qe", ctx=self.ctx)

    def test_external(self):
        data, total = self.numbers(1 << 19), []
        with extmem.Context(memory=2 << 20, dirs=[self.dir.name]) as ctx:
            s = extmem.Sorter("<Q", ctx=ctx, progress=lambda phase, done, all_: total.append((phase, done)) and None)
            for i in range(0, len(data), 1000):
                s.push(data[i:i + 1000])
            self.assertEqual(s.read().tolist(), sorted(data))
            self.assertGreater(s.stats()["runs"], 1)
            self.assertGreater(s.stats()["phases"]["runs"]["bytes_written"], 0)
            self.assertGreater(ctx.stats()["bytes_written"], 0)

    def test_keys_that_are_wrong(self):
        for key in (lambda some: [1], lambda some: bytes(3), lambda some: [-1] * len(some), lambda some: 5):
            s = extmem.Sorter("<Q", key, ctx=self.ctx)
            with self.assertRaises((ValueError, OverflowError, TypeError)):
                s.push(range(100))
                s.read()

    def test_lines(self):
        lines = [b"%d\t%d" % (self.rng.randrange(50), i) for i in range(3000)]
        s = extmem.Sorter("lines", "-k1,1n -s", ctx=self.ctx)
        s.push(lines)
        self.assertEqual(list(s), sorted(lines, key=lambda line: int(line.split(b"\t")[0])))
        self.assertRaises(ValueError, extmem.Sorter, "lines", "-k0")
        self.assertRaises(ValueError, extmem.Sorter, "lines", "--what")

    @unittest.skipIf(np is None, "NumPy is not there")
    def test_numpy(self):
        rng = np.random.default_rng(SEED)
        for dtype in ("u8", "i8", "u4", "i2", "u1", "f8", "f4", ">u8", ">i4", "S5", "M8[s]"):
            a = np.frombuffer(rng.bytes(8000), "u1").view("u8") if dtype not in ("S5", "f8", "f4") else rng.random(1000)
            a = a.astype(dtype)
            got = extmem.sort(a, ctx=self.ctx)
            self.assertEqual(got.dtype, a.dtype)
            np.testing.assert_array_equal(got, np.sort(a, kind="stable"), dtype)
        a = np.zeros(1000, dtype=[("name", "S4"), ("n", "<i4"), ("x", ">f8")])
        a["n"], a["x"] = rng.integers(-5, 5, 1000), rng.random(1000)
        np.testing.assert_array_equal(extmem.sort(a, "n,-x"), a[np.lexsort((-a["x"], a["n"]))])
        got = extmem.sort(a, lambda some: some["n"].astype("i8").view("u8") ^ np.uint64(1 << 63))
        np.testing.assert_array_equal(got, a[np.argsort(a["n"], kind="stable")])
        self.assertRaises(TypeError, extmem.sort, a, lambda some: some["n"])
        b = extmem.sort(a, "n", unique=True)
        self.assertEqual(b["n"].tolist(), sorted(set(a["n"].tolist())))

    @unittest.skipIf(np is None, "NumPy is not there")
    def test_numpy_view_is_checked(self):
        s = extmem.Sorter(np.dtype("u8"), ctx=self.ctx)
        s.push(np.arange(100000, dtype="u8")[::-1].copy())
        s.finish()
        batch = s.next_batch()
        view = np.asarray(batch)
        self.assertEqual(view.dtype, np.dtype("u8"))
        self.assertEqual(view[0], 0)
        with self.assertRaises(BufferError):
            s.next_batch()
        self.assertRaises(BufferError, s.close)
        self.assertFalse(s.closed)
        self.assertEqual(view[5], 5)
        del s, batch
        gc.collect()
        self.assertEqual(view[len(view) - 1], len(view) - 1)
        del view
        total = n = 0
        s = extmem.Sorter("<Q", ctx=self.ctx)
        s.push(range(1000))
        for batch in s.batches():
            total, n = total + int(np.asarray(batch).sum()), n + len(batch)
        self.assertEqual((total, n), (499500, 1000))

    @unittest.skipIf(np is None, "NumPy is not there")
    def test_numpy_containers(self):
        v = extmem.Vector(np.dtype("i4"), np.arange(10, dtype="i4"), ctx=self.ctx)
        np.testing.assert_array_equal(v[2:5], np.array([2, 3, 4], "i4"))
        v[0:2] = np.array([7, 8], "i4")
        self.assertEqual((v[1], v.read_many([9, 0]).tolist()), (8, [9, 7]))
        pair = np.dtype([("a", "<u4"), ("b", "<u4")])
        v = extmem.Vector(pair, ctx=self.ctx)
        v.append((1, 2))
        self.assertEqual((v[0], v[0:1]["b"][0]), ((1, 2), 2))

    def test_vector_functions(self):
        v = extmem.Vector("<Q", range(100000), ctx=self.ctx)
        seen = []
        v.for_each(lambda i, some: seen.append((i, len(some))))
        self.assertEqual(sum(n for _, n in seen), 100000)

        def double(i, some):
            for j in range(len(some)):
                some[j] *= 2
        v.mutate(double)
        self.assertEqual(v[99999], 199998)
        v.reverse()
        v.shuffle(3)
        self.assertEqual(v.sort(unique=True), 100000)
        self.assertEqual(v[1], 2)
        with self.assertRaises(ZeroDivisionError):
            v.for_each(lambda i, some: 1 // 0)
        v.export(self.path("exported"))
        self.assertEqual(os.path.getsize(self.path("exported")), 800000)
        self.assertRaises(extmem.UsageError, v.mutate, lambda i, some: v.append(1))


try:
    import pyarrow as pa
except ImportError:
    pa = None


@unittest.skipIf(pa is None, "pyarrow is not there")
class Arrow(Base):
    def test_table(self):
        n = 5000
        columns = {"a": pa.array([self.rng.randrange(50) for _ in range(n)], pa.int32()),
                   "b": pa.array([self.rng.random() for _ in range(n)]),
                   "t": pa.array([self.rng.randrange(1 << 40) for _ in range(n)], pa.timestamp("us")),
                   "f": pa.array([self.rng.randbytes(3) for _ in range(n)], pa.binary(3))}
        whole = pa.table(columns)
        table = pa.concat_tables([whole.slice(0, 1001), whole.slice(1001)])
        got = pa.table(extmem.sort(table, "a,-b", ctx=self.ctx))
        self.assertEqual(got.schema.types, table.schema.types)
        want = table.sort_by([("a", "ascending"), ("b", "descending")])
        self.assertEqual(got, want.combine_chunks().cast(got.schema))
        self.assertRaises(KeyError, extmem.sort, table, "none")

    def test_column(self):
        numbers = self.numbers(3000)
        got = pa.chunked_array(extmem.sort(pa.array(numbers, pa.uint64()).slice(7), ctx=self.ctx))
        self.assertEqual(got.to_pylist(), sorted(numbers[7:]))
        self.assertEqual(pa.table(extmem.sort(pa.table({"x": [3, 1]}), ctx=self.ctx))["x"].to_pylist(), [1, 3])

    def test_refused(self):
        self.assertRaises(ValueError, extmem.sort, pa.table({"x": [1, None]}))
        self.assertRaises(TypeError, extmem.sort, pa.table({"x": ["text"]}))
        stream = extmem.sort(pa.table({"x": [2, 1]})).__arrow_c_stream__()
        del stream
        s = extmem.sort(pa.table({"x": [2, 1]}))
        s.sorter.close()
        with self.assertRaises(Exception):
            pa.table(s)


class Files(Base):
    def test_files(self):
        a, b, out = self.path("a", b"b,2\na,10\n"), self.path("b", b"c,1\na,10\n"), self.path("out")
        self.assertEqual(extmem.sort_file([a, b], out, "-t, -k2,2n")["records_out"], 4)
        self.assertEqual(self.content(out), b"c,1\nb,2\na,10\na,10\n")
        extmem.unique_file(out, self.path("u"), count=True)
        self.assertEqual(self.content(self.path("u")), b"2\ta,10\n1\tb,2\n1\tc,1\n")
        extmem.top_file([a, b], self.path("t"), 1, "-t, -k2,2n")
        self.assertEqual(self.content(self.path("t")), b"c,1\n")
        extmem.merge_files([self.path("t"), self.path("t")], self.path("m"))
        self.assertEqual(self.content(self.path("m")), b"c,1\nc,1\n")
        extmem.shuffle_file(out, self.path("s"), seed=3)
        self.assertEqual(sorted(self.content(self.path("s")).split()), sorted(self.content(out).split()))
        self.assertEqual(extmem.check_file(out, "-t, -k2,2n")["disorders"], 0)
        found = extmem.check_file(out)
        self.assertEqual((found["first_disorder"], found["first"]), (2, b"b,2"))
        extmem.sort_file(self.path("n", struct.pack("<3q", 5, -1, 2)), self.path("no"), records="<q")
        self.assertEqual(self.content(self.path("no")), struct.pack("<3q", -1, 2, 5))
        self.assertRaises(TypeError, extmem.sort_file, a, out, what=1)
        extmem.sort_file(self.path("c.csv", b'2,"x\ny"\n1,z\n'), out, "--csv -k1,1n")
        self.assertEqual(self.content(out), b'1,z\n2,"x\ny"\n')

    def test_sorter_and_files(self):
        s = extmem.Sorter("<q", ctx=self.ctx)
        s.push_file(self.path("in", struct.pack("<3q", 5, -1, 2)))
        s.push([3])
        self.assertEqual(len(s), 4)
        s.write_file(self.path("out"))
        self.assertEqual(self.content(self.path("out")), struct.pack("<4q", -1, 2, 3, 5))
        s.clear()
        s.push([2, 1])
        self.assertEqual((len(s), list(s)), (2, [1, 2]))

    def test_saved_tree(self):
        with extmem.BTree("<Q", "<Q", {i: i * i for i in range(1000)}, ctx=self.ctx) as t:
            t.save(self.path("tree"))
        with extmem.BTree("<Q", "<Q", path=self.path("tree"), ctx=self.ctx) as t:
            self.assertEqual((len(t), t[31], list(t.range(998))), (1000, 961, [(998, 996004), (999, 998001)]))
            with self.assertRaises(PermissionError):
                t[1] = 2
            with self.assertRaises(PermissionError):
                del t[1]
        self.assertRaises(extmem.DataError, extmem.BTree, "<I", "<Q", path=self.path("tree"), ctx=self.ctx)

    def test_errors(self):
        with self.assertRaises(FileNotFoundError) as caught:
            extmem.sort_file(self.path("none"), self.path("out"))
        e = caught.exception
        self.assertEqual((e.errno, e.filename, e.path, e.op, e.status_name), (2, self.path("none"), self.path("none"),
                                                                             "open", "EM_ERR_NOENT"))
        self.assertIsInstance(e, extmem.Error)
        with self.assertRaises(extmem.DataError):
            extmem.sort_file(self.path("odd", b"12345"), self.path("out"), records="<Q")
        with self.assertRaises(extmem.UsageError):
            extmem.Context(isa="none of these", flags=1 << 30)
        v = extmem.Vector("<Q", path=self.path("v", bytes(8)), mode="r", ctx=self.ctx)
        self.assertRaises(PermissionError, v.append, 1)
        self.assertRaises(extmem.DataError, extmem.Vector, "<Q", path=self.path("w", bytes(9)), ctx=self.ctx)
        self.assertRaises(extmem.UsageError, extmem.Vector, "<Q", path=self.path("x"), mode="x", ctx=self.ctx)
        self.assertFalse(os.path.exists(self.path("x")))
        self.assertIn("mistake", extmem.UsageError.__doc__)
        odd = self.path(os.fsdecode(b"\xff\xfe"))
        with self.assertRaises(FileNotFoundError) as caught:
            extmem.sort_file(odd, self.path("out"))
        self.assertEqual(caught.exception.filename, odd)


class Life(Base):
    def test_exit(self):
        """A process that ends with everything open, and at work."""
        code = """if True:
            import extmem, threading, time
            ctx = extmem.Context(memory="16M", dirs=["{0}"])
            s = extmem.Sorter("<Q", lambda some: some, ctx=ctx, progress=lambda *a: None, run_records=1000)
            s.push(bytes(8 << 16)); s.finish(); batch = s.next_batch()
            t = extmem.BTree("<Q", "<Q", {{i: i for i in range(1000)}}, ctx=ctx)
            it = t.range(); next(it); c = t.cursor()
            disks = extmem.Disks(ctx)
            rq = disks.write(disks.alloc(1, 1 << 20)[0], bytes(1 << 20), lambda *a: time.sleep(0.02))
            other = extmem.Sorter("<Q", ctx=extmem.Context("memory=8M,dir={0}"))
            threading.Thread(target=lambda: [other.push(bytes(1 << 20)) for _ in range(50)], daemon=True).start()
            """.format(self.dir.name)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_log(self):
        lines = []

        def log(level, line):
            lines.append((level, line, threading.current_thread() is threading.main_thread()))
        ctx = extmem.Context(memory="8M", dirs=[self.dir.name], log=log)
        s = extmem.Sorter("<Q", ctx=ctx, run_records=1000)
        s.push(self.rng.randbytes(8 << 17))
        self.assertEqual(s.read().tolist()[0] >= 0, True)
        with self.assertRaises(TypeError):
            extmem.Context(log=log, what=1)
        del s, ctx
        gc.collect()
        self.assertTrue(lines)
        self.assertTrue(all(isinstance(line, str) and here for _, line, here in lines))

    def test_sizes(self):
        with extmem.Context("memory=8M,threads=1", flags=0) as ctx:
            self.assertEqual((ctx.stats()["memory"], ctx.stats()["threads"]), (8 << 20, 1))
        for bad in ("8X", "", "-1"):
            self.assertRaises(extmem.UsageError, extmem.Context, memory=bad)
        self.assertRaises(extmem.UsageError, extmem.Context, "what=1")

    def test_any_order(self):
        for _ in range(50):
            ctx = extmem.Context(memory=4 << 20)
            things = [ctx, extmem.Order("<Q", ctx=ctx), extmem.Sorter("<Q", ctx=ctx),
                      extmem.Vector("<Q", range(9), ctx=ctx),
                      extmem.BTree("<Q", 0, {1: b""}, ctx=ctx), extmem.PriorityQueue("<Q", ctx=ctx)]
            things.append(things[4].range())
            next(things[6])
            things.append(things[4].cursor())
            self.rng.shuffle(things)
            del ctx
            while things:
                thing = things.pop()
                if self.rng.random() < 0.5:
                    thing.close()

    def test_cycle_through_a_callback(self):
        class Watch:
            def tell(self, *_):
                return self.sorter is None
        freed = []
        w = Watch()
        w.sorter = extmem.Sorter("<Q", ctx=self.ctx, progress=w.tell)
        gone = __import__("weakref").finalize(w, freed.append, 1)
        del w
        gc.collect()
        self.assertFalse(gone.alive)

    def test_no_leak(self):
        def one():
            with extmem.Sorter("<Q", lambda some: some, ctx=self.ctx, memory=1 << 20, progress=print) as s:
                s.push([2, 1])
                list(s)
            extmem.Vector("<Q", [1], ctx=self.ctx).close()

        def churn(n):
            handle = self.ctx._h
            for _ in range(n):
                extmem._c.em_order_parse(handle, 8, "u64le@0").close()

        def resident():
            with open("/proc/self/statm", encoding="ascii") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        for _ in range(20):
            one()
        churn(1000)
        gc.collect()
        before, used = resident(), self.ctx.stats()["memory_used"]
        churn(100000)
        for _ in range(500):
            one()
        gc.collect()
        self.assertEqual(self.ctx.stats()["memory_used"], used)
        # AddressSanitizer keeps what is freed.
        if "asan" not in os.environ.get("LD_PRELOAD", ""):
            self.assertLess(resident() - before, 4 << 20)

    def test_wrong_records(self):
        """What are no records is refused, and not filled up, cut off, or read in another way."""
        s, v = extmem.Sorter(4, ctx=self.ctx), extmem.Vector("<4s", ctx=self.ctx)
        for data in ([4], [b"ab", b"cdefgh"], [b"abc"], ["abcd"]):
            self.assertRaises((TypeError, ValueError), s.push, data)
        self.assertRaises(ValueError, v.append, b"12345")
        self.assertRaises(ValueError, v.extend, [b"1234", b"12345"])
        self.assertRaises(TypeError, list, extmem.BTree(8, 8, ctx=self.ctx).range(8))
        self.assertEqual((len(s), len(v)), (0, 0))
        for spec in ("zz", "", "<3", None):
            self.assertRaises((TypeError, ValueError), extmem.Sorter, spec, ctx=self.ctx)
        for other in ({"cmp": lambda a, b: 0}, {"key": lambda some: some}):
            self.assertRaises(TypeError, extmem.Sorter, "lines", ctx=self.ctx, **other)
        for code in "lLqQiI":
            self.assertEqual(extmem.sort(array.array(code, [3, 1, 2]), ctx=self.ctx), array.array(code, [1, 2, 3]))
            self.assertEqual(extmem.sort(memoryview(array.array(code, [3, 1])), ctx=self.ctx).tolist(), [1, 3])

    @unittest.skipUnless(np, "needs NumPy")
    def test_numpy_types(self):
        s = extmem.Sorter(np.dtype("u8"), ctx=self.ctx)
        for wrong in (np.arange(3, dtype=">u8"), np.arange(3, dtype="i8"), np.arange(3.0), np.zeros(3, "u4,u4")):
            self.assertRaises(TypeError, s.push, wrong)
        self.assertRaises(TypeError, extmem.Sorter(">Q", ctx=self.ctx).push, np.arange(3, dtype="u8"))
        pairs = extmem.Sorter(np.dtype([("a", "u4"), ("b", "u4")]), ctx=self.ctx)
        self.assertRaises(TypeError, pairs.push, np.zeros(3, [("x", "f8")]))
        for unsorted in (np.array(["b"]), np.array([1j]), np.zeros(2, [("a", "U4"), ("b", "u4")])):
            self.assertRaises(TypeError, extmem.sort, unsorted, ctx=self.ctx)
        dates = np.array([("2020-01-02", 1), ("1960-01-01", 2)], [("t", "M8[s]"), ("v", "u4")])
        self.assertEqual(extmem.sort(dates, "t", ctx=self.ctx)["v"].tolist(), [2, 1])
        v = extmem.Vector("<Q", ctx=self.ctx)
        for number in (np.uint64(2**64 - 1), np.int8(5), np.uint64(7)):
            v.append(number)
        self.assertEqual((list(v), v[np.int64(-1)], v[np.uint8(1)]), ([2**64 - 1, 5, 7], 7, 5))
        q = extmem.PriorityQueue("<Q", ctx=self.ctx)
        q.push(np.uint64(3))
        self.assertEqual(q.pop_many(np.int64(2)).tolist(), [3])

    def test_lists_of_paths(self):
        for dirs in (self.dir.name, pathlib.Path(self.dir.name), (d for d in [self.dir.name]), {self.dir.name}):
            extmem.Context(memory="8M", dirs=dirs).close()
        self.assertRaises(OverflowError, extmem.Context, priority=1 << 40)

    def test_copies(self):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            self.assertRaises(TypeError, copied, extmem.Vector("<Q", ctx=self.ctx))

    def test_left_early(self):
        q = extmem.PriorityQueue("<Q", ctx=self.ctx)
        q.extend(range(10))
        for n in q.drain():
            if n == 2:
                break
        self.assertEqual(list(q.drain()), list(range(3, 10)))

    def test_closed_by_its_function(self):
        s = extmem.Stream("<Q", [bytes(16)], ctx=self.ctx).map(lambda some: (s.close(), some)[1])
        self.assertRaises(extmem.UsageError, s.read)

    def test_closed_while_used(self):
        def progress(*_):
            s.close()
            return False
        s = extmem.Sorter("<Q", ctx=self.ctx, run_records=1000, progress=progress)
        with self.assertRaises((extmem.CanceledError, extmem.UsageError)):
            while True:
                s.push(bytes(8 << 16))
        self.assertTrue(s.closed)

    def test_nested(self):
        """A call within a function of the caller's knows records of its own receiver, and leaves those of the other."""
        with extmem.Vector(24, [bytes([i]) * 24 for i in range(3)], ctx=self.ctx) as other:
            def key(some):
                self.assertEqual(other.get(1), bytes([1]) * 24)
                made = extmem.Stack("<I", ctx=self.ctx)
                made.push(7)
                self.assertEqual((other[1], other[0:2].nbytes, made.pop()), (bytes([1]) * 24, 48, 7))
                other[2] = bytes([9]) * 24
                return some
            self.assertEqual(extmem.sort(array.array("Q", [3, 1, 2]), key, ctx=self.ctx).tolist(), [1, 2, 3])
            self.assertEqual(other[2], bytes([9]) * 24)
            failed = []

            def refuses(some):
                try:
                    other[99]
                except IndexError:
                    failed.append(1)
                with self.assertRaises(extmem.UsageError):
                    extmem.Order("<Q", "nothing@0", ctx=self.ctx)
                return some
            self.assertEqual(extmem.sort(array.array("Q", [2, 1]), refuses, ctx=self.ctx).tolist(), [1, 2])
            self.assertTrue(failed)

    def test_dump(self):
        q = extmem.PriorityQueue("<Q", ctx=self.ctx)
        self.assertIn("record bytes: 8", q.dump())
        q.close()
        self.assertRaises(extmem.UsageError, lambda: q.dump())


if __name__ == "__main__":
    print("seed", SEED)
    unittest.main()
