# SPDX-License-Identifier: BSL-1.0
"""Streams, whose records are made when they are asked for, and sinks, to which they are pushed: batch by batch, with
nothing in between on a disk."""
from functools import reduce
from operator import iadd, length_hint

from . import _extmem as _c
from .base import NAMES, _Object, made
from .records import of, ordered, split


class _Batches(_Object):
    """What has records that come once, in batches."""
    _done = True

    def batches(self):
        """Iterate over batches, which are views until the next one comes; a sorter is finished if it was not."""
        self._done or self.finish()
        yield from iter(self.next_batch, None)

    def __iter__(self):
        """Items; a loop that is left gives back what it has not come to, unless other batches were read meanwhile."""
        for batch in self.batches():
            items, mark = iter(self.records.items(batch) if self.records else split(batch)), self.back(0, 0)
            try:
                yield from items
            finally:
                self.closed or self.back(mark, length_hint(items))

    def read(self):
        """All that is left, copied: an array of NumPy, a memoryview, or bytes; a list of lines."""
        return self.records.wrap(reduce(iadd, self.batches(), bytearray())) if self.records else list(self)


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
    map(), filter(), inspect(), sort(), unique(), reduce(), merge(), set(), join(), tee(), split(), slice() and
    concat()."""

    def map(self, fn, records=None):
        """What fn makes of each batch: a buffer of any number of records, None for none; of this kind, or another.  Of
        lines it makes any number of lines, as an iterable such as a generator, or, if they are named, records."""
        if not (records or self.records):
            return made(_c.em_stream_lines_flat_map(self, fn), Stream, self)
        show = self.records.wrap if self.records else split
        # Nothing here keeps a batch, or what was made of it.
        some = filter(lambda made_: made_ is not None, map(lambda batch: fn(show(batch)), self.batches()))
        return Stream(records or self.records, some, ctx=self._ctx)

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


class Sink(_Object):
    """Where records are pushed to: fn(many records), and fn(None) when it is finished.  `with' finishes it."""

    def __exit__(self, failed, *_):
        try:
            if failed is None and not self.closed:
                self.finish()
        finally:
            self.close()
