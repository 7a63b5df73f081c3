# SPDX-License-Identifier: BSL-1.0
"""Streams, whose records are made when they are asked for, and sinks, to which they are pushed: batch by batch, with
nothing in between on a disk."""
from functools import partial

from . import _extmem as _c
from .base import _Object, _progress, default_context
from .records import Order, Records, of

_ALL = 2**64 - 1
_SETS = ("union", "intersection", "difference", "symmetric")
_JOINS = ("inner", "left", "full", "semi", "anti")


class _Batches(_Object):
    """What has records that come once, in batches."""
    _done = True

    def _opened(self, handle, records):
        self._h, self.records, self._next = handle, records, partial(getattr(_c, handle.kind + "_next"), handle)
        if records:
            handle.format = records.format
        return self

    def next_batch(self):
        """A view of the next records, or None behind the last; of lines, that and where they end.

        The next call releases it.  If an array of NumPy still looks at it then, that call raises BufferError.
        """
        return self._next()

    def batches(self):
        """Iterate over batches, which are views until the next one comes; a sorter is finished if it was not."""
        if not self._done:
            self.finish()
        while (batch := self._next()) is not None:
            yield batch
            del batch

    def __iter__(self):
        for batch in self.batches():
            if self.records:
                yield from self.records.items(batch)
            else:
                data, ends = bytes(batch[0]), batch[1].tolist()
                del batch
                for begin, end in zip([0] + ends, ends):
                    yield data[begin:end]

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
        kind = self._h.kind
        if kind in ("em_vector", "em_deque"):
            start, stop, _ = slice(start, stop).indices(len(self))
            args = start, max(stop - start, 0), reverse * _c.EM_VECTOR_REVERSE
        else:
            args = (self._bound(start), self._bound(stop)) if kind == "em_btree" else ()
        return _made(Stream, self._ctx, getattr(_c, "em_stream_" + kind[3:])(self._h, *args), self.records)

    def sink(self, start=None):
        """A Sink to it: over records of a vector from start on, or behind the last one."""
        kind = self._h.kind
        args = (len(self) if start is None else start,) if kind == "em_vector" else (None,) * (kind == "em_btree")
        return _made(Sink, self._ctx, getattr(_c, "em_sink_" + kind[3:])(self._h, *args), self.records)


def _spelled(name):
    """A field of the name of an order, "u64le@0:r", as the command has it: "0:u64le:r"."""
    type_, _, at = name.partition("@")
    at, *more = at.split(":")
    return ":".join([at, type_, *more])


def _made(cls, ctx, handle, records):
    made = object.__new__(cls)
    made._ctx = ctx
    return made._opened(handle, records)


class Stream(_Batches):
    """batches: an iterable of buffers of records, such as a generator, or what NumPy makes of another stream's batches.
    What takes streams has them from then on, and their own objects are closed."""

    def __init__(self, records, batches, *, ctx=None, count=_ALL):
        records, self._ctx = of(records), ctx or default_context()
        self._opened(_c.em_stream_iterate(self._ctx._h, records.bytes, count, iter(batches)), records)

    @classmethod
    def file(cls, records, paths, *, ctx=None):
        """The records of files, one after the other, read ahead."""
        records, ctx, names = of(records), ctx or default_context(), paths if isinstance(paths, list) else [paths]
        return _made(cls, ctx, _c.em_stream_file(ctx._h, records.bytes, names), records)

    def _node(self, handle, records=None):
        records = of(records) if records else self.records
        size = _c.em_stream_record_bytes(handle)
        return _made(Stream, self._ctx, handle, records if size == records.bytes else Records(size))

    def _order(self, key):
        return (key if isinstance(key, Order) else Order(self.records, key, ctx=self._ctx))._h

    def _show(self, fn):
        return lambda some: fn(self.records.wrap(some))

    def map(self, fn, records=None):
        """What fn makes of each batch: a buffer of any number of records, None for none; of this kind, or another."""
        def made():
            for batch in self.batches():
                some = fn(self.records.wrap(batch))
                yield b"" if some is None else some
                del some
        return Stream(records or self.records, made(), ctx=self._ctx)

    def filter(self, fn):
        """Those for which fn(many records) has 1, or True: an array of bool of NumPy, bytes, or an iterable."""
        return self._node(_c.em_stream_filter(self._h, self._show(fn)))

    def inspect(self, fn):
        """As they are, shown to fn(many records)."""
        return self._node(_c.em_stream_inspect(self._h, self._show(fn)))

    def sort(self, key=None, **opts):
        return self._node(_c.em_stream_sort(self._h, self._order(key), _progress(opts)))

    def unique(self, key=None, *, count=False, records=None):
        """Of neighbours that are equal the first; count: with how many they were, 8 bytes more."""
        return self._node(_c.em_stream_unique(self._h, self._order(key), count * _c.EM_UNIQUE_COUNT), records)

    def reduce(self, fn, key=None):
        """Of neighbours that are equal one record: fn(sum, many more) gives another sum; it begins as the first."""
        one = self.records
        return self._node(_c.em_stream_reduce(self._h, self._order(key), lambda sum_, more: one.pack(
            fn(one.unpack(sum_), one.wrap(more)))))

    def slice(self, skip, take=_ALL):
        return self._node(_c.em_stream_slice(self._h, skip, take))

    def reverse(self, memory=0):
        return self._node(_c.em_stream_reverse(self._h, memory))

    def window(self, n, step=1, *, records=None):
        """n neighbours as one record, and again `step' records later."""
        return self._node(_c.em_stream_window(self._h, n, step), records)

    def prefix_sum(self, field=None):
        """A field, a number of 8 bytes, becomes its sum with those before."""
        type_, _, at = self.records.names_of(field).partition("@")
        return self._node(_c.em_stream_prefix_sum(self._h, int(at), getattr(_c, "EM_KEY_" + type_[:3].upper())))

    def concat(self, *others):
        return self._node(_c.em_stream_concat([s._h for s in (self, *others)]))

    def zip(self, *others, records=None):
        """The i-th records of all as one."""
        return self._node(_c.em_stream_zip([s._h for s in (self, *others)]), records)

    def merge(self, *others, key=None):
        """Those that are sorted, as one."""
        return self._node(_c.em_stream_merge([s._h for s in (self, *others)], self._order(key)))

    def set(self, how, other, key=None):
        """Of two that are sorted the "union", "intersection", "difference" or "symmetric" (difference)."""
        return self._node(_c.em_stream_set(self._h, other._h, self._order(key), _SETS.index(how)))

    def join(self, other, key=None, other_key=None, *, how="inner", fn=None, records=None, memory=0):
        """Pairs with equal keys of two that are sorted by them: how is "inner", "left", "full", "semi" or "anti".
        fn(left, right) makes a record of such items, of which one may be None; without it they stand side by side."""
        if fn:
            records, left, right = of(records or self.records), self.records.unpack, other.records.unpack

            def pair(a, b):
                return records.pack(fn(None if a is None else left(a), None if b is None else right(b)))
        keys = [",".join(map(_spelled, one.names_of(k).split(","))) for one, k in (
            (self.records, key), (other.records, key if other_key is None else other_key))]
        return self._node(_c.em_stream_join(self._h, other._h, _JOINS.index(how), *keys, memory, records.bytes if fn
                                            else 0, pair if fn else None), records)

    def tee(self, n=2, *, spill=False, buffer_bytes=0):
        """It n times.  What one has read and another one has not is in a buffer, or, with spill, on disks."""
        return [self._node(h) for h in _c.em_stream_tee(n, self._h, {"flags": spill * _c.EM_TEE_SPILL,
                                                                     "buffer_bytes": buffer_bytes})]

    def split(self, fn, *sinks):
        """What stays, while fn(many records) tells of each where it goes: 0, or the number of a sink, from 1."""
        return self._node(_c.em_stream_split(self._h, [k._h for k in sinks], self._show(fn)))

    def pump(self, sink):
        """Push all that there is to a sink, which is left open: how many these were."""
        return _c.em_stream_pump(self._h, sink._h)

    def to_vector(self, vector, start=0):
        """Write all to a vector from a position on; returns the position behind the last."""
        return _c.em_stream_to_vector(self._h, vector._h, start)

    def stats(self):
        """Of one that sort() made."""
        return _c.em_stream_sort_stats_get(self._h)


class Sink(_Object):
    """Where records are pushed to: fn(many records), and fn(None) when it is finished.  `with' finishes it."""

    def __init__(self, records, fn, *, ctx=None):
        records, self._ctx = of(records), ctx or default_context()
        self._opened(_c.em_sink_function(self._ctx._h, records.bytes, lambda some: fn(
            None if some is None else records.wrap(some)) and None), records)

    def _opened(self, handle, records):
        self._h, self.records = handle, records
        return self

    @classmethod
    def file(cls, records, path, *, ctx=None):
        """A file, which is there when it is finished."""
        records, ctx = of(records), ctx or default_context()
        return _made(cls, ctx, _c.em_sink_file(ctx._h, records.bytes, path), records)

    @classmethod
    def discard(cls, records, *, ctx=None):
        """Nothing: they are counted."""
        records, ctx = of(records), ctx or default_context()
        return _made(cls, ctx, _c.em_sink_discard(ctx._h, records.bytes), records)

    def push(self, data):
        """A buffer, or an iterable of items."""
        _c.em_sink_push(self._h, self.records.many(data))

    def __len__(self):
        return _c.em_sink_count(self._h)

    def __exit__(self, failed, *_):
        try:
            if failed is None and not self.closed:
                self.finish()
        finally:
            self.close()
