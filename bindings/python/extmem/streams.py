# SPDX-License-Identifier: BSL-1.0
"""Streams, whose records are made when they are asked for, and sinks, to which they are pushed: batch by batch, with
nothing in between on a disk; and runs, which streams are merged of."""
from . import _extmem as _c
from .base import NAMES, _Object, default_context, made
from .records import of, order_of, ordered, split


class _Batches(_Object):
    """What has records that come once, in batches."""
    _done = True

    def batches(self):
        """Iterate over batches, which are views until the next one comes; a sorter is finished if it was not."""
        if not self._done:
            self.finish()
        while (batch := self.next_batch()) is not None:
            yield batch
            del batch

    def __iter__(self):
        for batch in self.batches():
            items = self.records.items(batch) if self.records else split(batch)
            del batch
            yield from items

    def read(self):
        """All that is left, copied: an array of NumPy, a memoryview, or bytes; a list of lines."""
        if not self.records:
            return list(self)
        out = bytearray()
        for batch in self.batches():
            out += batch
        return self.records.wrap(out)


class _Flows:
    """What streams take records from, and sinks push them to: containers and sorters.  A stream or sink may be used as
    long as it is open, also when what it is on was closed, which is done then."""

    def stream(self, start=None, stop=None, *, reverse=False):
        """Its records as a Stream: of vectors and deques those of [start, stop), of trees those whose keys are at
        least start and less than stop.  Stacks, queues, priority queues and sorters have none, and give records away.
        """
        kind, args = self._kind[3:], ()
        if kind in ("vector", "deque"):
            start, stop, _ = slice(start, stop).indices(len(self))
            args = start, max(stop - start, 0), reverse * _c.EM_VECTOR_REVERSE
        elif kind == "btree":
            args = start, stop
        return made(getattr(_c, "em_stream_" + kind)(self, *args), Stream, self, self._flowing())

    def sink(self, start=None):
        """A Sink to it: over records of a vector from start on, or behind the last one."""
        kind = self._kind[3:]
        args = (len(self) if start is None else start,) if kind == "vector" else (None,) * (kind == "btree")
        return made(getattr(_c, "em_sink_" + kind)(self, *args), Sink, self, self._flowing())

    def _flowing(self):
        return self.order.records if self._kind == "em_btree" else None


def named(stream, key):
    if not stream.records:
        raise TypeError("records of any length have no fields")
    return stream.records.names_of(key)


def separated(by):
    """A byte between fields as a number; None: as the order of the left stream has it."""
    return _c.EM_TEXT_BLANKS if by is None else ord(by)


KINDS = ("inner", "left", "full", "semi", "anti")
NAMES |= {"named": named, "SETS": ("union", "intersection", "difference", "symmetric")}


class Stream(_Batches):
    """batches: an iterable of buffers of records, such as a generator, or what NumPy makes of another stream's batches.
    What takes streams has them from then on, and their own objects are closed.

    key is as Order() has it; records: what the node makes, where that are not records of the same size.  A stream of
    lines has records None.  It is sorted as Order("lines", key) says; functions get lists of bytes.  Nodes of lines are
    filter(), inspect(), sort(), unique(), reduce(), merge(), set(), join(), tee(), slice(), concat() and map(), which
    makes records of one size."""
    _kind = "em_stream"
    def map(self, fn, records=None):
        """What fn makes of each batch: a buffer of any number of records, None for none; of this kind, or another,
        which has to be told for lines."""
        if not (records or self.records):
            raise TypeError("map() of lines needs records: what they become")
        show = self.records.wrap if self.records else split

        def some():
            for batch in self.batches():
                one = fn(show(batch))
                yield b"" if one is None else one
                del one
        return Stream(records or self.records, some(), ctx=self._ctx)

    def progress(self, fn):
        """Have fn(phase, done, total) called, at most every 0.1 s, while this is pulled: phases, from 1, and records
        are those of graph_info(); total is 0 if nobody knows.  If it returns what is true, the graph is canceled."""
        _c.em_stream_progress(self, fn)
        return self

    def join(self, other, key=None, other_key=None, *, how="inner", fn=None, records=None, memory=0,
             separator=None):
        """Pairs with equal keys of two that are sorted by them: how is "inner", "left", "full", "semi" or "anti".
        fn(left, right) makes a record of such items, of which one may be None; without it they stand side by side.

        Keys of lines are orders, or options of the command ("-t, -k2,2").  Without fn a line has the fields of the
        keys, then the others of the left one and of the right one, with `separator', a byte, in between."""
        if not self.records and not other.records:
            orders = ordered(self, key), ordered(other, key if other_key is None else other_key)
            return made(_c.em_stream_lines_join(self, other, KINDS.index(how), *orders, memory, separated(separator),
                                                fn), Stream, self)
        keys = named(self, key), named(other, key if other_key is None else other_key)
        if fn:
            records, left, right = of(records or self.records), self.records.unpack, other.records.unpack

            def pair(a, b):
                return records.pack(fn(None if a is None else left(a), None if b is None else right(b)))
        return made(_c.em_stream_join(self, other, KINDS.index(how), *keys, memory,
                                      records.bytes if fn else 0, pair if fn else None), Stream, self, records)

    def tee(self, n=2, *, spill=False, buffer_bytes=0):
        """It n times.  What one has read and another one has not is in a buffer, or, with spill, on disks."""
        opts = {"spill": spill, "buffer_bytes": buffer_bytes}
        return [made(h, Stream, self) for h in _c.em_stream_tee(n, self, opts)]


class Sink(_Object):
    """Where records are pushed to: fn(many records), and fn(None) when it is finished.  `with' finishes it."""
    _kind = "em_sink"

    def __exit__(self, failed, *_):
        try:
            if failed is None and not self.closed:
                self.finish()
        finally:
            self.close()


class Runs(_Object):
    """Sorted runs: formed once, merged as often as one likes, also in parts; then cleared, and formed anew.

    records, key, cmp: see Order.  combine(sum, many more) makes one of equal records, as Stream.sort_reduce() does.
    memory, merge_memory: bytes for forming runs, and for a merge.  opts: the fields of em_sort_opts, for forming, also
    unique and progress."""
    _kind = "em_runs"

    def __init__(self, records, key=None, *, cmp=None, combine=None, ctx=None, merge_memory=0, **opts):
        self._ctx = ctx or default_context()
        self.order = order_of(records, key, self._ctx, cmp)
        self._h = _c.em_runs_open(self._ctx, self.order, {"form": opts, "merge_memory": merge_memory}, combine)
