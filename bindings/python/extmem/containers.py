# SPDX-License-Identifier: BSL-1.0
"""Containers of any number of records of one size: part of the package extmem."""
from collections.abc import MutableMapping, MutableSequence
from functools import partial

from . import _extmem as _c
from .base import _Object, _progress, default_context
from .records import Order, Records, of
from .streams import _Flows

_CHUNK = 1 << 20


class _Container(_Object, _Flows):
    """opts are the fields of its options by name."""

    def _begin(self, open_, records, ctx, *args):
        self.records, self._ctx = records, ctx or default_context()
        self._h = open_(self._ctx._h, *args)
        self._pack, self._unpack = records.pack, records.unpack
        if records.native and self._h.kind != "em_btree":
            # The module takes and gives numbers.
            self._h.number = records.native.encode()
            self._pack = self._unpack = records.same

    def __len__(self):
        return self.size()

    def __bool__(self):
        return self.size() > 0

    def _one(self, record):
        if record is None:
            raise IndexError("pop from an empty container")
        return self._unpack(record)


class _Sequence(_Container, MutableSequence):
    """Positions and slices of vectors and deques.  Items come and go at the ends; elsewhere what is behind moves."""
    __hash__ = None

    def _at(self, i):
        n = len(self)
        if not -n <= i < n:
            raise IndexError("there is no such record")
        return i + n if i < 0 else i

    def _bytes(self, i, n):
        room = self.records.room(n)
        self.read(i, room)
        return room

    def __getitem__(self, i):
        if not isinstance(i, slice):
            return self._unpack(self.get(self._at(i)))
        start, stop, step = i.indices(len(self))
        if step == 1:
            return self.records.wrap(self._bytes(start, max(stop - start, 0)))
        return [self[j] for j in range(start, stop, step)]

    def __setitem__(self, i, value):
        if not isinstance(i, slice):
            self.set(self._at(i), self._pack(value))
            return
        start, stop, step = i.indices(len(self))
        data = memoryview(self.records.many(value)).cast("B")
        if step != 1 or data.nbytes != max(stop - start, 0) * self.records.bytes:
            raise ValueError("a slice is replaced by as many records, side by side")
        self.write(start, data)

    def _shift(self, begin, end, by):
        """Move the records of [begin, end) by 1 or -1."""
        step = max(_CHUNK // self.records.bytes, 1)
        starts = range(begin, end, step)
        for at in reversed(starts) if by > 0 else starts:
            self.write(at + by, self._bytes(at, min(step, end - at)))

    def __delitem__(self, i):
        if isinstance(i, slice):
            for j in sorted(range(*i.indices(len(self))), reverse=True):
                del self[j]
            return
        i = self._at(i)
        self._shift(i + 1, len(self), -1)
        self._drop()

    def insert(self, i, value):
        n = len(self)
        i = max(i + n, 0) if i < 0 else min(i, n)
        self.append(value)
        self._shift(i, n, 1)
        self.set(i, self._pack(value))

    def append(self, value):
        self._push(self._pack(value))

    def extend(self, values):
        self._push_many(self.records.many(list(values) if values is self else values))

    def __iter__(self):
        step, at = max(_CHUNK // self.records.bytes, 1), 0
        while at < (n := len(self)):
            items = self.records.items(self._bytes(at, min(step, n - at)))
            yield from items
            at += len(items)

    def pop(self, i=-1):
        value = self[i]
        del self[i]
        return value

    def __eq__(self, other):
        return NotImplemented if not isinstance(other, _Sequence) else len(self) == len(other) and all(
            a == b for a, b in zip(self, other))


class Vector(_Sequence):
    """An array on disks with a cache; with path=..., the file is the array (mode "r", "r+", or "w")."""

    def __init__(self, records, items=None, *, path=None, mode="r+", ctx=None, **opts):
        records = of(records)
        if path is not None:
            opts["path"] = path
            opts["flags"] = opts.get("flags", 0) | {"r": _c.EM_VECTOR_READ_ONLY, "r+": _c.EM_VECTOR_CREATE, "w":
                                                    _c.EM_VECTOR_CREATE | _c.EM_VECTOR_TRUNCATE}[mode]
        self._begin(_c.em_vector_open, records, ctx, opts | {"record_bytes": records.bytes})
        self._push, self._push_many = self.push, self.push_many
        if items is not None:
            self.extend(items)

    def _drop(self):
        self.resize(len(self) - 1)

    def clear(self):
        self.resize(0)

    def read_many(self, positions):
        """The records of these positions (a buffer of unsigned numbers of 8 bytes, or ints), many read at a time."""
        return self.records.wrap(_c.em_vector_read_many(self._h, Records("Q").many(positions)))

    def flush(self, durable=False):
        _c.em_vector_flush(self._h, durable)

    def sort(self, key=None, *, unique=False, **opts):
        """Sort in place; returns how many are left in front, which are fewer with unique."""
        order = key if isinstance(key, Order) else Order(self.records, key, ctx=self._ctx)
        opts["flags"] = opts.get("flags", 0) | unique * _c.EM_SORT_UNIQUE
        return _c.em_vector_sort(self._h, 0, len(self), order._h, _progress(opts))

    def shuffle(self, seed=0, **opts):
        _c.em_vector_shuffle(self._h, 0, len(self), seed, _progress(opts))

    def reverse(self):
        _c.em_vector_reverse(self._h, 0, len(self))

    def for_each(self, fn, call=_c.em_vector_for_each):
        """fn(position, many records) of all records in order; what it returns counts as nothing."""
        wrap = self.records.wrap
        call(self._h, 0, len(self), lambda i, some: fn(i, wrap(some)) and None)

    def mutate(self, fn):
        """The same with arrays that may be changed."""
        self.for_each(fn, _c.em_vector_mutate)


class Deque(_Sequence):
    """Records enter and leave at both ends."""

    def __init__(self, records, items=None, *, ctx=None, **opts):
        records = of(records)
        self._begin(_c.em_deque_open, records, ctx, opts | {"record_bytes": records.bytes})
        self._push, self._push_many, self._drop = self.push_back, self.push_back_many, self.pop_back
        if items is not None:
            self.extend(items)

    def clear(self):
        _c.em_deque_clear(self._h)

    def appendleft(self, value):
        self.push_front(self._pack(value))

    def popleft(self):
        return self._one(self.pop_front())

    def pop(self, i=-1):
        return self._one(self.pop_back()) if i == -1 else super().pop(i)


class _Ends(_Container):
    """What is pushed, popped and looked at, one record or many."""
    _look = "top"

    def __init__(self, records, *, ctx=None, **opts):
        records = of(records)
        self._begin(self._open, records, ctx, opts | {"record_bytes": records.bytes})

    def _begin(self, *args):
        super()._begin(*args)
        self._push, self._pop, self._top = (partial(getattr(_c, f"{self._h.kind}_{name}"), self._h)
                                            for name in ("push", "pop", self._look))
        if self._pack is self.records.same:
            # The path of one number is as short as can be.
            self.push, take = self._push, self._pop

            def pop():
                value = take()
                if value is None:
                    raise IndexError("pop from an empty container")
                return value
            self.pop = pop

    def push(self, value):
        self._push(self._pack(value))

    def extend(self, values):
        self.push_many(self.records.many(values))

    def pop(self):
        return self._one(self._pop())

    def pop_many(self, n):
        """Up to n; of a stack in the order in which they were pushed."""
        room = self.records.room(min(n, len(self)))
        getattr(_c, self._h.kind + "_pop_many")(self._h, room)
        return self.records.wrap(room)

    def peek(self):
        return self._one(self._top())


class Stack(_Ends):
    """What was pushed last is popped first."""
    _open, _look = _c.em_stack_open, "peek"


class Queue(_Ends):
    """What was pushed first is popped first."""
    _open, _look = _c.em_queue_open, "front"


class PriorityQueue(_Ends):
    """The first record of an order comes out, whatever has been pushed."""

    def __init__(self, records, key=None, *, cmp=None, ctx=None, stable=False, **opts):
        order = key if isinstance(key, Order) else Order(records, key, cmp=cmp, ctx=ctx)
        opts["flags"] = opts.get("flags", 0) | stable * _c.EM_PQ_STABLE
        self._begin(_c.em_pq_open, order.records, ctx, opts | {"order": order._h})
        self._h.format = self.records.format

    def pushpop(self, value):
        return self._one(_c.em_pq_pushpop(self._h, self._pack(value)))

    def replace(self, value):
        return self._one(_c.em_pq_replace(self._h, self._pack(value)))

    def pop_until(self, bound, n=1 << 16, *, inclusive=False):
        """Up to n records that come before a bound."""
        room = self.records.room(min(n, len(self)))
        got = _c.em_pq_pop_until(self._h, self._pack(bound), inclusive * _c.EM_PQ_INCLUSIVE, room)
        return self.records.wrap(room[:(got or 0) * self.records.bytes])

    def next_batch(self):
        """A view of the next records, which are taken out; None: it is empty."""
        return _c.em_pq_next(self._h)

    def drain(self):
        """Take out item after item."""
        while (batch := _c.em_pq_next(self._h)) is not None:
            items = self.records.items(batch)
            del batch
            yield from items


class RadixHeap(_Ends):
    """A priority queue for keys that are numbers and never go back: key names the field."""
    _open = _c.em_radix_heap_open

    def __init__(self, records, key=None, *, ctx=None, **opts):
        records = of(records)
        type_, _, at = records.names_of(key).partition("@")
        opts["key_type"] = getattr(_c, "EM_KEY_" + type_.removesuffix("le").removesuffix("be").upper())
        opts["key_flags"] = type_.endswith("be") * _c.EM_KEY_BIG_ENDIAN
        super().__init__(records, ctx=ctx, **opts, key_offset=int(at))

    @property
    def last(self):
        """The key that was popped last: a later one may not be less."""
        return _c.em_radix_heap_last(self._h)


class BTree(_Container, MutableMapping):
    """A B+-tree: keys and values of one size each.  Keys are sorted as Records has their fields.  With path=...,
    one that was saved, to be read."""

    def __init__(self, key, value=0, items=None, *, order=None, path=None, ctx=None, **opts):
        self.key_records, self.value_records = of(key), of(value)
        records = Records(self.key_records.bytes + self.value_records.bytes)
        self.order = Order(records, self.key_records.names_of(order), ctx=ctx)
        open_ = _c.em_btree_open if path is None else lambda ctx_, *args: _c.em_btree_open_file(ctx_, path, *args)
        self._begin(open_, records, ctx, self.order._h, opts)
        self._key = self.key_records.pack
        if items is not None:
            self.update(items)

    def _record(self, key, value):
        return self._key(key) + self.value_records.pack(value)

    def _bound(self, key):
        return None if key is None else self._key(key)

    def _item(self, record):
        n = self.key_records.bytes
        return self.key_records.unpack(record[:n]), self.value_records.unpack(record[n:])

    def __getitem__(self, key):
        record = _c.em_btree_get(self._h, self._key(key))
        if record is None:
            raise KeyError(key)
        return self.value_records.unpack(record[self.key_records.bytes:])

    def __setitem__(self, key, value):
        _c.em_btree_upsert(self._h, self._record(key, value))

    def __delitem__(self, key):
        if _c.em_btree_erase(self._h, self._key(key)) is None:
            raise KeyError(key)

    def __contains__(self, key):
        return _c.em_btree_get(self._h, self._key(key)) is not None

    def __iter__(self):
        return (key for key, _ in self.range())

    def __reversed__(self):
        return (key for key, _ in self.range(reverse=True))

    def clear(self):
        _c.em_btree_clear(self._h)

    def range(self, start=None, stop=None, *, reverse=False):
        """Items whose keys are at least start and less than stop, in order; the tree may change meanwhile."""
        c = _c.em_btree_cursor_open(self._h)
        low, high = self._bound(start), self._bound(stop)
        if reverse:
            at, how, step = high, _c.EM_BTREE_LE if high is None else _c.EM_BTREE_LT, _c.em_btree_cursor_prev
        else:
            at, how, step = low, _c.EM_BTREE_GE, _c.em_btree_cursor_next
        n, empty, last = self.key_records.bytes, bytes(self.value_records.bytes), low if reverse else high
        if _c.em_btree_cursor_seek(c, at, how) is not None:
            return
        record = _c.em_btree_cursor_get(c)
        while record is not None:
            if last is not None:
                side = _c.em_order_compare(self.order._h, record[:n] + empty, last + empty)
                if side < 0 if reverse else side >= 0:
                    return
            yield self._item(record)
            record = step(c)

    def cursor(self):
        return BTreeCursor(self)

    def _some(self, record):
        if record is None:
            raise KeyError("the tree is empty")
        return self._item(record)

    def first(self):
        return self._some(self.min())

    def last(self):
        return self._some(self.max())

    def popitem(self, last=False):
        return self._some(self.pop_max() if last else self.pop_min())

    def update_records(self, records):
        """Add or overwrite a buffer of keys with values: how many are new."""
        return self.upsert_many(records)

    def load(self, sorter):
        """Fill an empty tree with all that a Sorter of whole records, by the order of the tree, has: each block is
        written once, and full."""
        self.load_sorted(sorter._h, None)

    def get_many(self, keys):
        """For a buffer or an iterable of keys: a buffer of records, and one of bytes: 1 where there is one."""
        return _c.em_btree_get_many(self._h, self.key_records.many(keys))[:2]

    def count(self, start=None, stop=None):
        """How many keys are at least start and at most stop."""
        return _c.em_btree_count(self._h, self._bound(start), self._bound(stop))

    def erase_range(self, start=None, stop=None):
        """Take out keys that are at least start and less than stop; returns how many."""
        return _c.em_btree_erase_range(self._h, self._bound(start), self._bound(stop))


class BTreeCursor(_Object):
    """A place in a tree, which stays where it is while that changes.  Methods return an item, or None."""

    def __init__(self, tree):
        self._tree, self._h = tree, _c.em_btree_cursor_open(tree._h)

    def _item(self, record):
        return None if record is None else self._tree._item(record)

    def seek(self, key, how=_c.EM_BTREE_GE):
        """To the first key that is not less, or as EM_BTREE_... says."""
        if _c.em_btree_cursor_seek(self._h, self._tree._bound(key), how) is None:
            return self.get()
        return None

    def get(self):
        return self._item(_c.em_btree_cursor_get(self._h))

    def next(self):
        return self._item(_c.em_btree_cursor_next(self._h))

    def prev(self):
        return self._item(_c.em_btree_cursor_prev(self._h))
