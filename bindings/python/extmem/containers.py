# SPDX-License-Identifier: BSL-1.0
"""Containers of any number of records of one size: part of the package extmem."""
from collections.abc import MutableMapping, MutableSequence
from functools import partial

from . import _extmem as _c
from .base import NAMES, _Object, default_context
from .records import Order, Records, of, order_of
from .streams import _Flows

_CHUNK = 1 << 20


class _Container(_Object, _Flows):
    """opts are the fields of its options by name."""

    def __init__(self, records, *, ctx=None, **opts):
        records = of(records)
        self._begin(getattr(_c, self._kind + "_open"), records, ctx, opts | {"record_bytes": records.bytes})

    def _begin(self, open_, records, ctx, *args):
        self._ctx = ctx or default_context()
        self._h = open_(self._ctx, *args)
        self._h.records = records


class _Sequence(_Container, MutableSequence):
    """Positions and slices of vectors and deques.  Items come and go at the ends; elsewhere what is behind moves."""
    __hash__ = None

    def __init__(self, records, items=None, *, ctx=None, **opts):
        super().__init__(records, ctx=ctx, **opts)
        self._h.end = IndexError, "pop from an empty container"
        if items is not None:
            self.extend(items)

    def _at(self, i):
        n = len(self)
        if not -n <= i < n:
            raise IndexError("there is no such record")
        return i + n if i < 0 else i

    def __getitem__(self, i):
        if not isinstance(i, slice):
            return self.get(self._at(i))
        start, stop, step = i.indices(len(self))
        return self.read(start, max(stop - start, 0)) if step == 1 else [self[j] for j in range(start, stop, step)]

    def __setitem__(self, i, value):
        if not isinstance(i, slice):
            self.set(self._at(i), value)
            return
        start, stop, step = i.indices(len(self))
        data = memoryview(self.records.many(value)).cast("B")
        if step != 1 or data.nbytes != max(stop - start, 0) * self.records.bytes:
            raise ValueError("a slice is replaced by as many records, side by side")
        self.write(start, data)

    def _shift(self, begin, end, by):
        """Move the records of [begin, end) by 1 or -1."""
        step = max(_CHUNK // self.records.bytes, 1)
        for at in range(begin, end, step)[::-by]:
            self.write(at + by, self.read(at, min(step, end - at)))

    def __delitem__(self, i):
        for j in sorted(range(*i.indices(len(self))), reverse=True) if isinstance(i, slice) else [self._at(i)]:
            self._shift(j + 1, len(self), -1)
            self._drop()

    def insert(self, i, value):
        n = len(self)
        i = max(i + n, 0) if i < 0 else min(i, n)
        self.append(value)
        self._shift(i, n, 1)
        self.set(i, value)

    def __iter__(self):
        step, at = max(_CHUNK // self.records.bytes, 1), 0
        while at < (n := len(self)):
            yield from self.records.items(self.read(at, min(step, n - at)))
            at += step

    def pop(self, i=-1):
        value = self[i]
        del self[i]
        return value

    def __eq__(self, other):
        return NotImplemented if not isinstance(other, _Sequence) else len(self) == len(other) and all(
            a == b for a, b in zip(self, other))


class Vector(_Sequence):
    """An array on disks with a cache; with path=..., the file is the array (mode "r", "r+", or "w")."""
    _kind = "em_vector"

    def __init__(self, records, items=None, *, path=None, mode="r+", ctx=None, **opts):
        if path is not None:
            opts |= {"path": path, "flags": opts.get("flags", 0) | {"r": _c.EM_VECTOR_READ_ONLY, "r+":
                     _c.EM_VECTOR_CREATE, "w": _c.EM_VECTOR_CREATE | _c.EM_VECTOR_TRUNCATE}[mode]}
        super().__init__(records, items, ctx=ctx, **opts)

    def _drop(self):
        self.resize(len(self) - 1)


class Deque(_Sequence):
    """Records enter and leave at both ends."""
    _kind = "em_deque"

    def _drop(self):
        return self.pop_back()

    def pop(self, i=-1):
        return self._drop() if i == -1 else super().pop(i)


class _Ends(_Container):
    """What is pushed, popped and looked at, one record or many."""

    def _begin(self, *args):
        super()._begin(*args)
        self._h.end = IndexError, "pop from an empty container"
        # The path of one record is as short as can be.
        self.push, self.pop = (partial(getattr(_c, f"{self._kind}_{name}"), self._h) for name in ("push", "pop"))


class Stack(_Ends):
    """What was pushed last is popped first."""
    _kind = "em_stack"


class Queue(_Ends):
    """What was pushed first is popped first."""
    _kind = "em_queue"


class PriorityQueue(_Ends):
    """The first record of an order comes out, whatever has been pushed; stable: of equal ones the one pushed first."""
    _kind = "em_pq"

    def __init__(self, records, key=None, *, cmp=None, ctx=None, **opts):
        order = order_of(records, key, ctx, cmp)
        self._begin(_c.em_pq_open, order.records, ctx, opts | {"order": order})

    def drain(self):
        """Take out item after item."""
        while self:
            yield self.pop()


class RadixHeap(_Ends):
    """A priority queue for keys that are numbers and never go back: key names the field."""
    _kind = "em_radix_heap"
    last = property(_c.em_radix_heap_last, doc="The key that was popped last: a later one may not be less.")

    def __init__(self, records, key=None, *, ctx=None, **opts):
        super().__init__(records, ctx=ctx, key=of(records).names_of(key), **opts)


class _Pairs(Records):
    """Keys with values behind them."""

    def __init__(self, key, value):
        super().__init__(key.bytes + value.bytes)
        self.pack = lambda item: key.pack(item[0]) + value.pack(item[1])
        self.unpack = lambda record: (key.unpack(record[:key.bytes]), value.unpack(record[key.bytes:]))


def some(item):
    if item is None:
        raise KeyError("the tree is empty")
    return item


NAMES |= {"some": some}


class BTree(_Container, MutableMapping):
    """A B+-tree: keys and values of one size each.  Keys are sorted as Records has their fields.  With path=...,
    one that was saved, to be read."""
    _kind = "em_btree"

    def __init__(self, key, value=0, items=None, *, order=None, path=None, ctx=None, **opts):
        self.key_records, self.value_records = of(key), of(value)
        records = _Pairs(self.key_records, self.value_records)
        self.order = Order(records.bytes, self.key_records.names_of(order), ctx=ctx)
        open_, names = (_c.em_btree_open, ()) if path is None else (_c.em_btree_open_file, (path,))
        self._begin(open_, records, ctx, *names, self.order, opts)
        self._h.keys = self.key_records
        if items is not None:
            self.update(items)

    def __getitem__(self, key):
        item = _c.em_btree_get(self._h, key)
        if item is None:
            raise KeyError(key)
        return item[1]

    def __delitem__(self, key):
        if _c.em_btree_erase(self._h, key) is None:
            raise KeyError(key)

    def range(self, start=None, stop=None, *, reverse=False):
        """Items whose keys are at least start and less than stop, in order; the tree may change meanwhile."""
        c, pack, empty = self.cursor(), self.key_records.pack, bytes(self.value_records.bytes)
        step, last = (c.prev, start) if reverse else (c.next, stop)
        last = None if last is None else pack(last) + empty
        item = c.seek(stop if reverse else start, _c.EM_BTREE_GE if not reverse else
                      _c.EM_BTREE_LE if stop is None else _c.EM_BTREE_LT)
        while item is not None:
            side = -1 if last is None else _c.em_order_compare(self.order, pack(item[0]) + empty, last)
            if last is not None and (side < 0 if reverse else side >= 0):
                return
            yield item
            item = step()


class BTreeCursor(_Object):
    """A place in a tree, which stays where it is while that changes.  Methods return an item, or None."""
    _kind = "em_btree_cursor"
