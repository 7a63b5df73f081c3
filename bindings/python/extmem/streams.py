# SPDX-License-Identifier: BSL-1.0
"""Streams, whose records are made when they are asked for, and sinks, to which they are pushed: batch by batch, with
nothing in between on a disk; and runs, which streams are merged of."""
from functools import partial

from . import _extmem as _c
from .base import _Object, _progress, default_context
from .records import Order, Records, joined, of, split

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
                lines = split(batch)
                del batch
                yield from lines

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


def _sum(records, fn):
    """fn(sum, many more), of items and records, for bytes."""
    return lambda sum_, more: records.pack(fn(records.unpack(sum_), records.wrap(more)))


class Stream(_Batches):
    """batches: an iterable of buffers of records, such as a generator, or what NumPy makes of another stream's batches.
    What takes streams has them from then on, and their own objects are closed.

    A stream of lines has records None.  It is sorted as Order("lines", key) says; functions get lists of bytes.  Nodes
    of lines are filter(), inspect(), sort(), slice(), concat() and map(), which makes records of one size."""

    def __init__(self, records, batches, *, ctx=None, count=_ALL):
        records, self._ctx = of(records), ctx or default_context()
        self._opened(_c.em_stream_iterate(self._ctx._h, records.bytes, count, iter(batches)), records)

    @classmethod
    def file(cls, records, paths, *, ctx=None):
        """The records of files, one after the other, read ahead."""
        records, ctx, names = of(records), ctx or default_context(), paths if isinstance(paths, list) else [paths]
        return _made(cls, ctx, _c.em_stream_file(ctx._h, records.bytes, names), records)

    @classmethod
    def lines(cls, paths, format=None, *, ctx=None):
        """The lines of files; format has fields of em_format, and says how other records of any length stand there."""
        ctx, names = ctx or default_context(), paths if isinstance(paths, list) else [paths]
        return _made(cls, ctx, _c.em_stream_lines(ctx._h, names, format), None)

    def _node(self, handle, records=None):
        records, size = of(records) if records else self.records, _c.em_stream_record_bytes(handle)
        if size != (records.bytes if records else 0):
            records = Records(size)
        return _made(Stream, self._ctx, handle, records)

    def _ordered(self, key):
        return key if isinstance(key, Order) else Order(self.records or "lines", key, ctx=self._ctx)

    def _order(self, key):
        return self._ordered(key)._h

    def _named(self, key):
        if not self.records:
            raise TypeError("records of any length have no fields")
        return self.records.names_of(key)

    def _show(self, fn):
        """fn with what is natural; of lines the module makes lists."""
        wrap = self.records and self.records.wrap
        return (lambda some: fn(wrap(some))) if wrap else fn

    def map(self, fn, records=None):
        """What fn makes of each batch: a buffer of any number of records, None for none; of this kind, or another,
        which has to be told for lines."""
        if not (records or self.records):
            raise TypeError("map() of lines needs records: what they become")
        show = self._show(fn if self.records else lambda batch: fn(split(batch)))

        def made():
            for batch in self.batches():
                some = show(batch)
                yield b"" if some is None else some
                del some
        return Stream(records or self.records, made(), ctx=self._ctx)

    def filter(self, fn):
        """Those for which fn(many records) has 1, or True: an array of bool of NumPy, bytes, or an iterable."""
        node = _c.em_stream_filter if self.records else _c.em_stream_lines_filter
        return self._node(node(self._h, self._show(fn)))

    def inspect(self, fn):
        """As they are, shown to fn(many records)."""
        node = _c.em_stream_inspect if self.records else _c.em_stream_lines_inspect
        return self._node(node(self._h, self._show(fn)))

    def progress(self, fn):
        """Have fn(phase, done, total) called, at most every 0.1 s, while this is pulled: phases, from 1, and records
        are those of graph_info(); total is 0 if nobody knows.  If it returns what is true, the graph is canceled."""
        _c.em_stream_progress(self._h, fn)
        return self

    def sort(self, key=None, **opts):
        order = self._ordered(key)
        if order.unique:
            opts["flags"] = opts.get("flags", 0) | _c.EM_SORT_UNIQUE
        return self._node(_c.em_stream_sort(self._h, order._h, _progress(opts)))

    def sort_reduce(self, fn, key=None, **opts):
        """As sort() and reduce() behind it, which adds before anything is written: sums must not depend on the order
        of what is added, nor change how records are sorted.  runs_info() tells of its runs."""
        return self._node(_c.em_stream_sort_reduce(self._h, self._order(key), _progress(opts), _sum(self.records, fn)))

    def unique(self, key=None, *, count=False, records=None):
        """Of neighbours that are equal the first; count: with how many they were, 8 bytes more."""
        return self._node(_c.em_stream_unique(self._h, self._order(key), count * _c.EM_UNIQUE_COUNT), records)

    def reduce(self, fn, key=None):
        """Of neighbours that are equal one record: fn(sum, many more) gives another sum; it begins as the first."""
        return self._node(_c.em_stream_reduce(self._h, self._order(key), _sum(self.records, fn)))

    def slice(self, skip, take=_ALL):
        return self._node(_c.em_stream_slice(self._h, skip, take))

    def reverse(self, memory=0):
        return self._node(_c.em_stream_reverse(self._h, memory))

    def window(self, n, step=1, *, records=None):
        """n neighbours as one record, and again `step' records later."""
        return self._node(_c.em_stream_window(self._h, n, step), records)

    def prefix_sum(self, field=None):
        """A field, a number of 8 bytes, becomes its sum with those before."""
        type_, _, at = self._named(field).partition("@")
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
        keys = [",".join(map(_spelled, one._named(k).split(","))) for one, k in (
            (self, key), (other, key if other_key is None else other_key))]
        if fn:
            records, left, right = of(records or self.records), self.records.unpack, other.records.unpack

            def pair(a, b):
                return records.pack(fn(None if a is None else left(a), None if b is None else right(b)))
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
    def lines(cls, path, format=None, *, ctx=None):
        """A file of lines, or of other records of any length, as Stream.lines() has them."""
        ctx = ctx or default_context()
        return _made(cls, ctx, _c.em_sink_lines(ctx._h, path, format), None)

    @classmethod
    def discard(cls, records, *, ctx=None):
        """Nothing: they are counted."""
        records, ctx = of(records), ctx or default_context()
        return _made(cls, ctx, _c.em_sink_discard(ctx._h, records.bytes), records)

    def push(self, data):
        """A buffer, or an iterable of items; of lines, bytes or str without their newlines."""
        if self.records:
            _c.em_sink_push(self._h, self.records.many(data))
        else:
            _c.em_sink_push_lines(self._h, joined(data))

    def __len__(self):
        return _c.em_sink_count(self._h)

    def __exit__(self, failed, *_):
        try:
            if failed is None and not self.closed:
                self.finish()
        finally:
            self.close()


class Runs(_Object):
    """Sorted runs: formed once, merged as often as one likes, also in parts; then cleared, and formed anew.

    records, key, cmp: see Order.  combine(sum, many more) makes one of equal records, as Stream.sort_reduce() does.
    memory, merge_memory: bytes for forming runs, and for a merge.  opts: the fields of em_sort_opts, for forming."""

    def __init__(self, records, key=None, *, cmp=None, combine=None, ctx=None, memory=0, merge_memory=0, unique=False,
                 **opts):
        self._ctx = ctx or default_context()
        self.order = key if isinstance(key, Order) else Order(records, key, cmp=cmp, ctx=self._ctx)
        self.records = self.order.records
        opts["flags"] = opts.get("flags", 0) | unique * _c.EM_SORT_UNIQUE
        self._h = _c.em_runs_open(self._ctx._h, self.order._h, {
            "form": _progress(opts | {"memory": memory}), "merge_memory": merge_memory},
            combine and _sum(self.records, combine))

    def push(self, data):
        """Add records in any order: a buffer, or an iterable of items."""
        _c.em_runs_push(self._h, self.records.many(data))

    def append(self, data):
        """Add records of a sorted sequence, which goes on with the next call, and ends with end()."""
        _c.em_runs_append(self._h, self.records.many(data))

    def feed(self, stream, *, sorted=False):
        """Add what a stream has, which stays the caller's, at its end."""
        _c.em_runs_feed(self._h, stream._h, sorted * _c.EM_RUNS_SORTED)

    def sink(self, *, sorted=False, more=False):
        """A Sink that adds, and finishes the runs when it is finished; more: it ends a sequence."""
        return _made(Sink, self._ctx, _c.em_sink_runs(self._h, sorted * _c.EM_RUNS_SORTED | more * _c.EM_RUNS_MORE),
                     self.records)

    def merge(self, start=None, stop=None, *, skip=0, take=_ALL, memory=0):
        """A Stream of the records from start to before stop, which are items; of these `take' behind the first `skip'.
        The runs stay, also for other merges at the same time."""
        low, high = (None if one is None else self.records.pack(one) for one in (start, stop))
        made = _made(Stream, self._ctx, _c.em_runs_merge(self._h, low, high, skip, take, memory), self.records)
        return made if take else made.slice(0, 0)
