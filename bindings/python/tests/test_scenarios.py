# SPDX-License-Identifier: BSL-1.0
"""The scenarios that the tests of all languages run: bindings/scenarios.txt."""
import os
import random
import struct
import tempfile
import unittest

import extmem
from extmem import _extmem as _c

_SPECS = {"u64": "<Q", "i64": "<q", "u32": "<I", "i32": "<i"}


def numbers(text):
    return [] if text == "-" else [int(word) for word in text.split()]


class Mine(Exception):
    pass


def fail(*_):
    raise Mine("of the caller")


class Scenarios(unittest.TestCase):
    def setUp(self):
        self.ctx = extmem.Context(memory=16 << 20)
        self.dir = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.ctx.close()
        self.dir.cleanup()

    def sort(self, spec, values):
        return list(self.sorter(_SPECS[spec], values))

    def sorter(self, records, values, key=None, **opts):
        s = extmem.Sorter(records, key, ctx=self.ctx, **opts)
        s.push(values)
        return s

    def run_sort(self, spec, values):
        return self.sort(spec, numbers(values))

    def run_sort2(self, name, first, second, expected):
        pairs = list(self.sorter("<QQ", zip(numbers(first), numbers(second)), name))
        self.assertEqual([a for a, _ in pairs], numbers(expected))
        return [b for _, b in pairs]

    def run_unique(self, spec, values):
        return list(self.sorter(_SPECS[spec], numbers(values), unique=True))

    def run_top(self, spec, k, values):
        t = extmem.Top(_SPECS[spec], int(k), ctx=self.ctx)
        t.push(numbers(values))
        return list(t)

    def run_lines(self, keys, text):
        return b"|".join(self.sorter("lines", text.split("|"), keys)).decode()

    def run_heap(self, spec, values):
        q = extmem.PriorityQueue(_SPECS[spec], ctx=self.ctx)
        for value in numbers(values):
            q.push(value)
        return [q.pop() for _ in range(len(q))]

    def run_radix(self, values):
        h = extmem.RadixHeap("<Q", ctx=self.ctx)
        h.extend(numbers(values))
        return [h.pop() for _ in range(len(h))]

    def run_late(self, pushes, pops, late):
        h = extmem.RadixHeap("<Q", ctx=self.ctx)
        h.extend(numbers(pushes))
        for _ in range(int(pops)):
            h.pop()
        h.push(int(late))

    def run_tree(self, keys, erased):
        t = extmem.BTree("<Q", "<Q", {key: 2 * key % 2**64 for key in numbers(keys)}, ctx=self.ctx)
        for key in numbers(erased):
            del t[key]
        for key, value in t.items():
            self.assertEqual(value, 2 * key % 2**64)
        return list(t)

    def run_range(self, keys, start, stop):
        t = extmem.BTree("<Q", 0, {key: b"" for key in numbers(keys)}, ctx=self.ctx)
        return [key for key, _ in t.range(int(start), int(stop))]

    def run_vector(self, values):
        path = os.path.join(self.dir.name, "vector")
        with extmem.Vector("<Q", numbers(values), path=path, ctx=self.ctx) as v:
            v.flush()
        with open(path, "rb") as f:
            data = f.read()
        with extmem.Vector("<Q", path=path, mode="r", ctx=self.ctx) as v:
            self.assertEqual(list(v), numbers(values))
        return [n for n, in struct.iter_unpack("<Q", data)]

    def run_callback(self, where):
        s = extmem.Sorter("<Q", ctx=self.ctx, run_records=1000, **{where: fail})
        with self.assertRaises(Mine) as caught:
            # Progress is told five times a second at least: so this goes on until that is so.
            while True:
                s.push(random.Random(1).randbytes(8 * 300000))
                if where != "progress":
                    s.finish()
        self.assertEqual(str(caught.exception), "of the caller")
        s.push([1])

    def run_full(self, limit, n):
        with extmem.Context(memory=4 << 20, scratch_max=int(limit)) as ctx:
            s = extmem.Sorter("<Q", ctx=ctx)
            data = random.Random(1).randbytes(8 * int(n))
            s.push(data)
            s.finish()

    def run_memory(self, limit):
        extmem.Context(memory=int(limit))

    def run_closed(self, what):
        make = {"sorter": lambda: extmem.Sorter("<Q", ctx=self.ctx),
                                                "vector": lambda: extmem.Vector("<Q", ctx=self.ctx),
                "tree": lambda: extmem.BTree("<Q", ctx=self.ctx),
                                "heap": lambda: extmem.PriorityQueue("<Q", ctx=self.ctx)}
        use = {"sorter": lambda x: x.push([1]), "vector": lambda x: x.append(1), "tree": lambda x: x[1], "heap":
               lambda x: x.push(1)}
        x = make[what]()
        x.close()
        x.close()
        self.assertTrue(x.closed)
        use[what](x)

    def run_misorder(self, values):
        s = self.sorter("<Q", numbers(values))
        with self.assertRaises(extmem.UsageError) as caught:
            s.next_batch()
        self.assertEqual(caught.exception.status_name, "EM_ERR_STATE")
        return list(s)

    def run_reentry(self, what):
        errors = []

        def progress(*_):
            try:
                getattr(s, what)([1])
            except extmem.Error as e:
                errors.append(e)
        s = extmem.Sorter("<Q", ctx=self.ctx, run_records=1000, progress=progress)
        while not errors:
            s.push(bytes(8 * 300000))
        raise errors[0]

    def run_batch(self, values):
        s = self.sorter("<Q", numbers(values))
        s.finish()
        batch = s.next_batch()
        self.assertEqual(batch.tolist(), sorted(numbers(values)))
        self.assertIsNone(s.next_batch())
        batch[0]

    def run_missing(self, path):
        extmem.sort_file(os.path.join(self.dir.name, path), os.path.join(self.dir.name, "out"), ctx=self.ctx)

    def stream(self, values):
        return extmem.Stream("<Q", [struct.pack(f"<{len(numbers(values))}Q", *numbers(values))], ctx=self.ctx)

    def run_stream(self, values):
        def more(batch):
            some = [(n + 1) % 2**64 for n, in struct.iter_unpack("<Q", bytes(batch))]
            return struct.pack(f"<{len(some)}Q", *some)
        return list(self.stream(values).map(more).sort().unique())

    def run_set(self, operation, first, second):
        return list(self.stream(first).set(operation, self.stream(second)))

    def run_split(self, values):
        q = extmem.Queue("<Q", ctx=self.ctx)
        with q.sink() as odd:
            stays = list(self.stream(values).split(lambda some: [n % 2 for n in some], odd))
        return stays + list(q.stream())

    def formed(self, pushed, in_order=(), records="<Q", **opts):
        r = extmem.Runs(records, ctx=self.ctx, **opts)
        r.push(pushed)
        if in_order:
            r.append(in_order)
            r.end()
        r.finish()
        return r

    def run_runs(self, pushed, in_order, start, stop, skip, take):
        part = {"start": start, "stop": stop, "skip": skip, "take": take}
        r = self.formed(numbers(pushed), numbers(in_order))
        return list(r.merge(**{name: int(n) for name, n in part.items() if n != "-"}))

    def run_twice(self, values):
        r = self.formed(numbers(values))
        first, second = r.merge(), r.merge()
        r.close()
        self.assertTrue(r.closed)
        return [n for pair in zip(first, second) for n in pair]

    def run_early(self, values):
        r = extmem.Runs("<Q", ctx=self.ctx)
        s = r.merge()
        r.push(numbers(values))
        with self.assertRaises(extmem.UsageError) as caught:
            s.next_batch()
        self.assertEqual(caught.exception.status_name, "EM_ERR_STATE")
        r.finish()
        return list(s)

    @staticmethod
    def add(total, more):
        return total[0], total[1] + sum(n for _, n in struct.iter_unpack("<QQ", more))

    def run_combine(self, keys, counts):
        r = self.formed(zip(numbers(keys), numbers(counts)), records="<QQ", key="f0", combine=self.add)
        return [n for pair in r.merge() for n in pair]

    def run_totals(self, keys, counts):
        batches = [struct.pack("<QQ", *pair) for pair in zip(numbers(keys), numbers(counts))]
        return [n for pair in extmem.Stream("<QQ", batches, ctx=self.ctx).sort_reduce(self.add, "f0") for n in pair]

    def run_sour(self, values):
        r = extmem.Runs("<Q", combine=fail, ctx=self.ctx)
        with self.assertRaises(Mine):
            r.push(numbers(values))
            r.finish()
        r.push([1])

    def lines(self, text, name="in"):
        path = os.path.join(self.dir.name, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text.replace("|", "\n") + "\n")
        return extmem.Stream.lines(path, ctx=self.ctx)

    def run_text(self, key, text):
        path = os.path.join(self.dir.name, "out")
        with extmem.Sink.lines(path, ctx=self.ctx) as out:
            self.lines(text).filter(lambda some: [not line.startswith(b"#") for line in some]).sort(key).pump(out)
        with open(path, encoding="ascii") as f:
            return f.read().removesuffix("\n").replace("\n", "|")

    def run_lengths(self, text):
        return list(self.lines(text).map(lambda some: b"".join(struct.pack("<Q", len(line)) for line in some), "<Q"))

    @staticmethod
    def told(lines):
        return b"|".join(lines).decode()

    def run_linejoin(self, how, left, right, by, first, second):
        by = None if by == "-" else by
        return self.told(self.lines(first).join(self.lines(second, "right"), left, right, how=how, separator=by))

    def run_linepairs(self, how, left, right, first, second):
        def pair(a, b):
            return (b"-" if a is None else a) + b"+" + (b"-" if b is None else b)
        return self.told(self.lines(first).join(self.lines(second, "right"), left, right, how=how, fn=pair))

    def run_linesour(self, text):
        s = self.lines(text).join(self.lines(text, "right"), fn=fail)
        with self.assertRaises(Mine):
            s.next_batch()
        s.next_batch()

    def left(self, s):
        """What loops have seen that are left at the first and at the second item, then what is left."""
        seen = []
        for stop in 1, 2:
            for n, item in enumerate(s, 1):
                seen.append(item)
                if n == stop:
                    break
        seen.append(next(iter(s)))
        seen += s.records.items(s.next_batch()) if s.records else []
        return seen + list(s)

    def run_leave(self, what, values):
        if what == "stream":
            return self.left(self.stream(values))
        s = extmem.Top("<Q", 100, ctx=self.ctx) if what == "top" else self.sorter("<Q", [])
        s.push(numbers(values))
        return self.left(s)

    def run_lineleave(self, text):
        return b"|".join(self.left(self.sorter("lines", text.split("|")))).decode()

    def run_linetee(self, text):
        return "|".join(map(self.told, self.lines(text).tee(spill=True)))

    def run_lineset(self, operation, first, second):
        return self.told(self.lines(first).set(operation, self.lines(second, "right")))

    def run_linesum(self, key, text):
        return self.told(self.lines(text).reduce(lambda total, more: b"+".join([total, *more]), key))

    def run_linewords(self, text):
        return self.told(self.lines(text).map(lambda some: (word for line in some for word in line.split())))

    def run_linesplit(self, text):
        path = os.path.join(self.dir.name, "sent")
        with extmem.Sink.lines(path, ctx=self.ctx) as sent:
            stays = list(self.lines(text).split(lambda some: [line.startswith(b"#") for line in some], sent))
        return self.told(stays + list(extmem.Stream.lines(path, ctx=self.ctx)))

    def run_linecount(self, key, first, second):
        merged = self.lines(first).merge(self.lines(second, "right"), key=key)
        return self.told(merged.unique(key, count=True)).replace("\t", ":")

    def run_broken(self, values):
        s = self.stream(values).map(fail)
        with self.assertRaises(Mine) as caught:
            s.next_batch()
        self.assertEqual(str(caught.exception), "of the caller")
        s.next_batch()

    def run_told(self, some):
        def endless(fn):
            batch = bytes(8 * int(some))
            return extmem.Stream("<Q", iter(lambda: batch, None), ctx=self.ctx).progress(fn)

        def pull(s):
            while True:
                s.next_batch()
        with self.assertRaises(extmem.CanceledError):
            pull(endless(lambda phase, done, total: (phase, total) == (1, 0) and done % int(some) == 0))
        s = endless(fail)
        self.assertRaises(Mine, pull, s)
        s.next_batch()


_CLASSES = {"EM_ERR_STATE": ValueError, "EM_ERR_BUSY": ValueError, "EM_ERR_RANGE": ValueError,
            "EM_ERR_NOSPACE": OSError, "EM_ERR_NOENT": FileNotFoundError, "EM_ERR_MEMLIMIT": MemoryError,
            "EM_ERR_USER": extmem.CallbackError, "EM_ERR_CANCELED": extmem.CanceledError, "": ValueError}


def _add(name, kind, *rest):
    *arguments, expected = rest

    def test(self):
        run = getattr(self, "run_" + kind)
        if not expected.startswith("!"):
            result = run(*arguments)
            self.assertEqual(result, expected if isinstance(result, str) else numbers(expected))
            return
        with self.assertRaises(_CLASSES[expected[1:]]) as caught:
            run(*arguments)
        self.assertEqual(getattr(caught.exception, "status_name", ""), expected[1:])
    setattr(Scenarios, "test_" + name.replace("-", "_"), test)


with open(os.path.join(os.environ["EM_SRCDIR"], "bindings", "scenarios.txt"), encoding="ascii") as _file:
    for _line in _file:
        if not _line.startswith("#"):
            _add(*_line.rstrip("\n").split("\t"))

if __name__ == "__main__":
    unittest.main()
