# SPDX-License-Identifier: BSL-1.0
"""External memory: sorting and containers for more records than memory holds, on the disks of libextmem.

    import extmem
    sorted_array = extmem.sort(array, memory=64 << 20)
    extmem.sort_file("in.txt", "out.txt", key="-t, -k3,3nr")
"""
from array import array as _array

from . import _extmem as _c
from .errors import (AccessFailure, CallbackError, CanceledError, DataError, Error, ExistsFailure, IOFailure,
                     MemoryLimitError, NoSpaceError, NotFoundFailure, PipeFailure, UsageError)
from .base import STUB, Context, default_context, define
from .records import Order, Records, format_of, order_of
from .streams import Runs, Sink, Stream, _Batches, _Flows

__version__ = _c.em_version()


class _Pull(_Batches):
    """Push, finish, pull: what sorters and tops have in common."""
    _done = False

    def __init__(self, records, key=None, *, cmp=None, ctx=None, ranks=(), **opts):
        self._ctx = ctx or default_context()
        self.order = order_of(records, key, self._ctx, cmp)
        self._h = getattr(_c, self._kind + "_open")(self._ctx, self.order, *ranks, opts)

    def finish(self):
        """End the input."""
        getattr(_c, self._kind + "_finish")(self._h)
        self._done = True


class Sorter(_Pull, _Flows):
    """Sort records: push, finish, and iterate, or pull batches.

    records, key, cmp: see Order.  opts: the fields of em_sort_opts by name, also memory; unique: keep the first of
    equal ones.  progress(phase, done, total): something that is true stops it.
    """
    _kind = "em_sorter"

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
    """Keep the records of ranks start, ..., start + k - 1, without sorting the others.  The rest is as of Sorter."""
    _kind = "em_top"

    def __init__(self, records, k, key=None, *, start=0, **opts):
        super().__init__(records, key, ranks=(start, k), **opts)


def sort(data, key=None, *, records=None, **opts):
    """A sorted copy of an array: of NumPy, also structured (key="field,-other"), of array.array, or any buffer of
    numbers, or with records=... of bytes or of items in an iterable.  key may be a function: see Order.  Tables of
    Arrow come back as what pyarrow, polars, pandas, DuckDB read.  opts: as of Sorter."""
    if records is None and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        from .arrow import sort_table
        return sort_table(data, key, Sorter, opts)
    kind = getattr(data, "dtype", None)
    spec = records if records is not None else kind if kind is not None else format_of(memoryview(data))
    with Sorter(spec, key, **opts) as s:
        s.push(data)
        out = s.read()
        return _array(data.typecode, out.tobytes()) if isinstance(data, _array) else out


# Files; the stub has the others.

def unique_file(inputs, output, key=None, *, records="lines", ctx=None, count=False, presorted=False, min_count=0,
                max_count=0, **opts):
    """The first of equal records; with count, how many there were."""
    ctx = ctx or default_context()
    return _c.em_unique_files(ctx, order_of(records, key, ctx), inputs, output, {
        "count": count, "presorted": presorted, "min_count": min_count, "max_count": max_count, "sort": opts})


def check_file(path, key=None, *, records="lines", ctx=None, **opts):
    """Look whether a file is sorted: what was found, with `first`, the first record that is not in its place."""
    first, ctx = [], ctx or default_context()
    found = _c.em_check_file(ctx, order_of(records, key, ctx), path, opts, lambda number, record: first.append(record))
    return found | {"first": first[0] if first else None}


from .containers import (BTree, BTreeCursor, Deque, PriorityQueue, Queue, RadixHeap, Stack, Vector)  # noqa: E402

globals().update((name, fn) for name, fn in define(STUB[""]).items() if name not in globals())


def __getattr__(name):
    if name.startswith("EM_"):
        return getattr(_c, name)
    if name in ("File", "Request", "Disks", "BlockPool", "BlockWriter", "BlockList", "BlockReader", "Cache"):
        from . import blocks
        return getattr(blocks, name)
    raise AttributeError(f"module 'extmem' has no attribute {name!r}")
