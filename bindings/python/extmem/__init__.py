# SPDX-License-Identifier: BSL-1.0
"""External memory: sorting and containers for more records than memory holds, on the disks of libextmem.

    import extmem
    sorted_array = extmem.sort(array, memory=64 << 20)
    extmem.sort_file("in.txt", "out.txt", key="-t, -k3,3nr")
"""
import os
from array import array as _array
from functools import partial

from . import _extmem as _c
from .errors import (AccessFailure, CallbackError, CanceledError, DataError, Error, ExistsFailure, IOFailure,
                     MemoryLimitError, NoSpaceError, NotFoundFailure, PipeFailure, UsageError)
from .base import Context, _Object, _progress, default_context
from .records import Order, Records, joined
from .streams import Runs, Sink, Stream, _Batches, _Flows

__version__ = _c.em_version()


class _Pull(_Batches):
    """Push, finish, pull: what sorters and tops have in common."""

    def _begin(self, open_, ctx, records, key, cmp, memory, unique, opts):
        self._ctx = ctx or default_context()
        self.order = key if isinstance(key, Order) else Order(records, key, cmp=cmp, ctx=self._ctx)
        if unique or self.order.unique:
            opts["flags"] = opts.get("flags", 0) | _c.EM_SORT_UNIQUE
        self._opened(open_(self._ctx._h, self.order._h, _progress(opts | {"memory": memory})), self.order.records)
        self._push, self._finish = (partial(getattr(_c, f"{self._h.kind}_{fn}"), self._h) for fn in ("push", "finish"))
        self._done = False

    def push(self, data):
        """Add records: a buffer, or an iterable of items; of lines, bytes or str without their newlines."""
        if self.records:
            return self._push(self.records.many(data)) and None
        self.push_batch(joined(data))

    def finish(self):
        """End the input."""
        self._finish()
        self._done = True

    def __len__(self):
        """How many records were pushed."""
        return self.pushed()


class Sorter(_Pull, _Flows):
    """Sort records: push, finish, and iterate, or pull batches.

    records, key, cmp: see Order.  opts: the fields of em_sort_opts by name.  progress(phase, done, total): something
    that is true stops it.
    """

    def __init__(self, records, key=None, *, cmp=None, ctx=None, memory=0, unique=False, **opts):
        self._begin(_c.em_sorter_open, ctx, records, key, cmp, memory, unique, opts)

    def write_file(self, path):
        """Finish if that was not done, and write what is left to a file, which appears when it is whole."""
        if not self._done:
            self.finish()
        self.pull_file(path)

    def clear(self):
        """Begin anew, also after a failure."""
        _c.em_sorter_clear(self._h)
        self._done = False


class Top(_Pull):
    """Keep the records of ranks start, ..., start + k - 1, without sorting the others."""

    def __init__(self, records, k, key=None, *, start=0, cmp=None, ctx=None, memory=0, unique=False, **opts):
        def open_(ctx_, order, opts_):
            return _c.em_top_open(ctx_, order, start, k, opts_)
        self._begin(open_, ctx, records, key, cmp, memory, unique, opts)


def sort(data, key=None, *, records=None, cmp=None, memory=0, unique=False, ctx=None, **opts):
    """A sorted copy of an array: of NumPy, also structured (key="field,-other"), of array.array, or any buffer of
    numbers, or with records=... of bytes or of items in an iterable.  key may be a function: see Order.  Tables of
    Arrow come back as what pyarrow, polars, pandas, DuckDB read."""
    kind = getattr(data, "dtype", None)
    if records is None and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        from .arrow import sort_table
        return sort_table(data, key, Sorter, opts | {"cmp": cmp, "memory": memory, "unique": unique, "ctx": ctx})
    spec = records if records is not None else kind if kind is not None else memoryview(data).format
    with Sorter(spec, key, cmp=cmp, ctx=ctx, memory=memory, unique=unique, **opts) as s:
        s.push(data)
        out = s.read()
        return _array(data.typecode, out.tobytes()) if isinstance(data, _array) else out


# Files.

def _names(paths):
    return [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)


class _Files:
    """The order and the options of a call for files."""

    def __init__(self, records, key, ctx, opts):
        self.ctx = ctx or default_context()
        self.order = key if isinstance(key, Order) else Order(records, key, ctx=self.ctx)
        self.opts = _progress(opts)
        if self.order.csv is not None and "format" not in opts:
            opts["format"] = {"kind": _c.EM_FORMAT_CSV, "separator": self.order.csv}
        if self.order.unique:
            opts["flags"] = opts.get("flags", 0) | _c.EM_SORT_UNIQUE

    @property
    def handles(self):
        return self.ctx._h, self.order._h


def sort_file(inputs, output, key=None, *, records="lines", ctx=None, **opts):
    """Sort one file or several into one, and return the statistics.  key is as the command has it ("-t, -k3,3nr"), or,
    of binary records, as Order has it.  opts: the fields of em_sort_opts by name, also memory and progress."""
    f = _Files(records, key, ctx, opts)
    return _c.em_sort_files(*f.handles, _names(inputs), output, f.opts)


def merge_files(inputs, output, key=None, *, records="lines", ctx=None, **opts):
    """Merge files that are sorted."""
    f = _Files(records, key, ctx, opts)
    return _c.em_merge_files(*f.handles, _names(inputs), output, f.opts)


def unique_file(inputs, output, key=None, *, records="lines", ctx=None, count=False, presorted=False, min_count=0,
                max_count=0, **opts):
    """The first of equal records; with count, how many there were."""
    f = _Files(records, key, ctx, opts)
    flags = count * _c.EM_UNIQUE_COUNT | presorted * _c.EM_UNIQUE_PRESORTED
    return _c.em_unique_files(*f.handles, _names(inputs), output, {"flags": flags, "min_count": min_count,
                                                                   "max_count": max_count, "sort": f.opts})


def top_file(inputs, output, k, key=None, *, start=0, records="lines", ctx=None, **opts):
    """The k first records."""
    f = _Files(records, key, ctx, opts)
    return _c.em_top_files(*f.handles, _names(inputs), start, k, output, f.opts)


def shuffle_file(inputs, output, *, records="lines", seed=0, ctx=None, **opts):
    """All records in random order, or count=... of them."""
    size = 0 if records == "lines" else Records(records).bytes
    return _c.em_shuffle_files((ctx or default_context())._h, size, _names(inputs), output,
                               _progress(opts) | {"seed": seed})


def check_file(path, key=None, *, records="lines", ctx=None, **opts):
    """Look whether a file is sorted: what was found, with `first`, the first record that is not in its place."""
    f, first = _Files(records, key, ctx, opts), []
    found = _c.em_check_file(*f.handles, path, f.opts, lambda number, record: first.append(record))
    return found | {"first": first[0] if first else None}


from .containers import (BTree, BTreeCursor, Deque, PriorityQueue, Queue, RadixHeap, Stack, Vector)  # noqa: E402


def __getattr__(name):
    if name.startswith("EM_"):
        return getattr(_c, name)
    if name in ("File", "Request", "Disks", "BlockPool", "BlockWriter", "BlockList", "BlockReader", "Cache", "wait_all"):
        from . import blocks
        return getattr(blocks, name)
    raise AttributeError(f"module 'extmem' has no attribute {name!r}")
