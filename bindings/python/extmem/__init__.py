# SPDX-License-Identifier: BSL-1.0
"""External memory: sorting and containers for more records than memory holds, on the disks of libextmem.

    import extmem
    sorted_array = extmem.sort(array, memory=64 << 20)
    extmem.sort_file("in.txt", "out.txt", key="-t, -k3,3nr")
"""
from array import array as _array

from . import _extmem as _c
from . import containers, errors
from .base import CLASSES, NAMES, STUB, default_context, define, make_classes
from .records import format_of, order_of
from .streams import _Batches

__version__ = _c.em_version()


class _Pull(_Batches):
    """Push, finish, pull: what sorters and tops have in common."""
    _done = False

    def finish(self):
        """End the input."""
        getattr(_c, self._kind + "_finish")(self._h)
        self._done = True


class Sorter(_Pull):
    """Sort records: push, finish, and iterate, or pull batches.

    records, key, cmp: see Order.  opts: the fields of em_sort_opts by name, also memory; unique: keep the first of
    equal ones.  progress(phase, done, total): something that is true stops it.
    """

    def write_file(self, path):
        """Finish if that was not done, and write what is left to a file, which appears when it is whole."""
        if not self._done:
            self.finish()
        self.pull_file(path)

    def clear(self):
        """Begin anew, also after a failure."""
        _c.em_sorter_clear(self._h)
        self._done = False


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


def check_file(path, key=None, *, records="lines", ctx=None, **opts):
    """Look whether a file is sorted: what was found, with `first`, the first record that is not in its place."""
    first, ctx = [], ctx or default_context()
    found = _c.em_check_file(ctx, order_of(records, key, ctx), path, opts, lambda number, record: first.append(record))
    return found | {"first": first[0] if first else None}


make_classes()
globals().update((name, fn) for name, fn in define(STUB[""]).items() if name not in globals())
globals().update((name, NAMES[name]) for name in NAMES if name[:3] == "EM_" or name in CLASSES and name[0] != "_")
