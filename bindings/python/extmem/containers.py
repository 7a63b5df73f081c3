# SPDX-License-Identifier: BSL-1.0
"""Containers of any number of records of one size: part of the package extmem."""
from collections.abc import MutableMapping, MutableSequence
from functools import partial

from . import _extmem as _c
from .base import NAMES, _Object, default_context
from .records import Order, Records, of

_CHUNK = 1 << 20


class _Container(_Object):
    """opts are the fields of its options by name."""


class _Sequence(_Container, MutableSequence):
    """Positions and slices of vectors and deques.  Items come and go at the ends; elsewhere what is behind moves."""

    def _at(self, i):
        """A position from 0 on, or several."""
        try:
            return range(len(self))[i]
        except IndexError:
            raise IndexError(f"there is no record {i}") from None

    def __getitem__(self, i):
        at = self._at(i)
        if not isinstance(i, slice):
            return self.get(at)
        return self.read(at.start, len(at)) if at.step == 1 else [self.get(j) for j in at]

    def __setitem__(self, i, value):
        at = self._at(i)
        if not isinstance(i, slice):
            return self.set(at, value)
        data = memoryview(self.records.many(value)).cast("B")
        if at.step != 1 or data.nbytes != len(at) * self.records.bytes:
            raise ValueError("a slice is replaced by as many records, side by side")
        return self.write(at.start, data)

    def __delitem__(self, i):
        at = self._at(i)
        for j in sorted(at, reverse=True) if isinstance(i, slice) else [at]:
            self._shift(j + 1, len(self), -1)
            self._drop()

    def _shift(self, begin, end, by):
        """Move the records of [begin, end) by 1 or -1."""
        step = max(_CHUNK // self.records.bytes, 1)
        for at in range(begin, end, step)[::-by]:
            self.write(at + by, self.read(at, min(step, end - at)))

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

    def __eq__(self, other):
        return NotImplemented if not isinstance(other, _Sequence) else len(self) == len(other) and all(
            a == b for a, b in zip(self, other))


class _Ends(_Container):
    """What is pushed, popped and looked at, one record or many."""

    def _own(self, *args):
        # The path of one record is as short as can be.
        self.push, self.pop = (partial(getattr(_c, f"{self._kind}_{name}"), args[0]) for name in ("push", "pop"))
        return super()._own(*args)


class _Pairs(Records):
    """Keys with values behind them."""

    def __init__(self, key, value):
        super().__init__(key.bytes + value.bytes)
        self.pack = lambda item: key.pack(item[0]) + value.pack(item[1])
        self.unpack = lambda record: (key.unpack(record[:key.bytes]), value.unpack(record[key.bytes:]))


def some(item, missing="the tree is empty"):
    if item is None:
        raise KeyError(missing)
    return item


NAMES |= {"some": some, "MutableSequence": MutableSequence}


class BTree(_Container, MutableMapping):
    """A B+-tree: keys and values of one size each.  Keys are sorted as Records has their fields.  With path=...,
    one that was saved, to be read."""

    def __init__(self, key, value=0, items=None, *, order=None, path=None, ctx=None, **opts):
        self.key_records, self.value_records, ctx = of(key), of(value), ctx or default_context()
        records = _Pairs(self.key_records, self.value_records)
        self.order = Order(records.bytes, self.key_records.names_of(order), ctx=ctx)
        open_, names = (_c.em_btree_open, ()) if path is None else (_c.em_btree_open_file, (path,))
        self._own(open_(ctx, *names, self.order, opts), ctx, records)
        self._h.keys = self.key_records
        if items is not None:
            self.update(items)

    def range(self, start=None, stop=None, *, reverse=False):
        """Items whose keys are at least start and less than stop, in order; the tree may change meanwhile."""
        cursor, begin = self.cursor(), True
        while (item := _c.emb_btree_walk(cursor, start, stop, begin, reverse)) is not None:
            yield item
            begin = False
