# SPDX-License-Identifier: BSL-1.0
"""Containers of any number of records of one size: part of the package extmem."""
from collections.abc import MutableMapping, MutableSequence
from functools import partial

from . import _extmem as _c
from . import _progress
from .base import _call, _Object, default_context
from .records import Order, Records

_CHUNK = 1 << 20


class _Container(_Object):
    """A container with the functions em_NAME_...; opts are the fields of its options by name."""

    def _begin(self, name, records, ctx, opts):
        self.records = records if isinstance(records, Records) else Records(records)
        self._ctx, self._name = ctx or default_context(), name
        self._h = self._open(getattr(_c, f"em_{name}_open"), opts)
        for fn in ("size", "stats_get", "clear"):
            setattr(self, "_" + fn, getattr(_c, f"em_{name}_{fn}", None))
        self._pack, self._unpack = self.records.pack, self.records.unpack
        if self.records.native and name != "btree":
            # The module takes and gives numbers.
            self._h.number = self.records.native.encode()
            self._pack = self._unpack = self.records.same

    def _open(self, fn, opts):
        return fn(self._ctx._h, opts)

    def __len__(self):
        return self._size(self._h)

    def __bool__(self):
        return self._size(self._h) > 0

    def stats(self):
        return self._stats_get(self._h)

    def clear(self):
        self._clear(self._h)

    def _one(self, record, what="pop from an empty container"):
        if record is None:
            raise IndexError(what)
        return self._unpack(record)


class _Sequence(_Container, MutableSequence):
    """Positions and slices of vectors and deques.  Items come and go at the ends; elsewhere what is behind moves."""
    __hash__ = None

    def _fill(self, items, back=""):
        self._get, self._set, self._read, self._write, self._append, self._append_many = (
            getattr(_c, f"em_{self._name}_{fn}") for fn in ("get", "set", "read", "write", "push" + back,
                                                            f"push{back}_many"))
        if items is not None:
            self.extend(items)

    def _at(self, i):
        n = len(self)
        if not -n <= i < n:
            raise IndexError("there is no such record")
        return i + n if i < 0 else i

    def _bytes(self, i, n):
        room = self.records.room(n)
        self._read(self._h, i, room)
        return room

    def __getitem__(self, i):
        if not isinstance(i, slice):
            return self._unpack(self._get(self._h, self._at(i)))
        start, stop, step = i.indices(len(self))
        if step == 1:
            return self.records.wrap(self._bytes(start, max(stop - start, 0)))
        return [self[j] for j in range(start, stop, step)]

    def __setitem__(self, i, value):
        if not isinstance(i, slice):
            self._set(self._h, self._at(i), self._pack(value))
            return
        start, stop, step = i.indices(len(self))
        data = memoryview(self.records.many(value)).cast("B")
        if step != 1 or data.nbytes != max(stop - start, 0) * self.records.bytes:
            raise ValueError("a slice is replaced by as many records, side by side")
        self._write(self._h, start, data)

    def _shift(self, begin, end, by):
        """Move the records of [begin, end) by 1 or -1."""
        step = max(_CHUNK // self.records.bytes, 1)
        starts = range(begin, end, step)
        for at in reversed(starts) if by > 0 else starts:
            self._write(self._h, at + by, self._bytes(at, min(step, end - at)))

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
        record = self._pack(value)
        self._append(self._h, record)
        self._shift(i, n, 1)
        self._set(self._h, i, record)

    def append(self, value):
        self._append(self._h, self._pack(value))

    def extend(self, values):
        self._append_many(self._h, self.records.many(list(values) if values is self else values))

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
        records = records if isinstance(records, Records) else Records(records)
        if path is not None:
            opts["path"] = path
            opts["flags"] = opts.get("flags", 0) | {"r": _c.EM_VECTOR_READ_ONLY, "r+": _c.EM_VECTOR_CREATE, "w":
                                                    _c.EM_VECTOR_CREATE | _c.EM_VECTOR_TRUNCATE}[mode]
        self._begin("vector", records, ctx, opts | {"record_bytes": records.bytes})
        self._fill(items)

    def _drop(self):
        _c.em_vector_resize(self._h, len(self) - 1)

    resize = _call(_c.em_vector_resize, "Have n records; new ones are zeros.")

    def clear(self):
        self.resize(0)

    def read_many(self, positions):
        """The records of these positions (a buffer of unsigned numbers of 8 bytes, or ints), many read at a time."""
        return self.records.wrap(_c.em_vector_read_many(self._h, Records("Q").many(positions)))

    def flush(self, durable=False):
        _c.em_vector_flush(self._h, durable)

    export = _call(_c.em_vector_export, "Write all into a file that appears when it is whole.")

    def sort(self, key=None, *, unique=False, **opts):
        """Sort in place; returns how many are left in front, which are fewer with unique."""
        order = key if isinstance(key, Order) else Order(self.records, key, ctx=self._ctx)
        opts["flags"] = opts.get("flags", 0) | unique * _c.EM_SORT_UNIQUE
        return _c.em_vector_sort(self._h, 0, len(self), order._h, _progress(opts))

    def shuffle(self, seed=0, **opts):
        _c.em_vector_shuffle(self._h, 0, len(self), seed, _progress(opts))

    def reverse(self):
        _c.em_vector_reverse(self._h, 0, len(self))

    def for_each(self, fn):
        """fn(position, many records) of all records in order; what it returns counts as nothing."""
        wrap = self.records.wrap
        _c.em_vector_for_each(self._h, 0, len(self), lambda i, some: fn(i, wrap(some)) and None)

    def mutate(self, fn):
        """The same with arrays that may be changed."""
        wrap = self.records.wrap
        _c.em_vector_mutate(self._h, 0, len(self), lambda i, some: fn(i, wrap(some)) and None)


class Deque(_Sequence):
    """Records enter and leave at both ends."""

    def __init__(self, records, items=None, *, ctx=None, **opts):
        records = records if isinstance(records, Records) else Records(records)
        self._begin("deque", records, ctx, opts | {"record_bytes": records.bytes})
        self._fill(items, "_back")

    def _drop(self):
        _c.em_deque_pop_back(self._h)

    def appendleft(self, value):
        _c.em_deque_push_front(self._h, self._pack(value))

    def popleft(self):
        return self._one(_c.em_deque_pop_front(self._h))

    def pop(self, i=-1):
        return self._one(_c.em_deque_pop_back(self._h)) if i == -1 else super().pop(i)


class _Ends(_Container):
    """What is pushed, popped and looked at, one record or many."""
    _functions = ("push", "push_many", "pop", "pop_many", "top")

    def __init__(self, records, *, ctx=None, **opts):
        records = records if isinstance(records, Records) else Records(records)
        self._begin(self._kind, records, ctx, opts | {"record_bytes": records.bytes})

    def _begin(self, name, records, ctx, opts):
        super()._begin(name, records, ctx, opts)
        self._push, self._push_many, self._pop, self._pop_n, self._top = (
            getattr(_c, f"em_{name}_{fn}") for fn in self._functions)

    def push(self, value):
        self._push(self._h, self._pack(value))

    def extend(self, values):
        self._push_many(self._h, self.records.many(values))

    def pop(self):
        return self._one(self._pop(self._h))

    def pop_many(self, n):
        """Up to n; of a stack in the order in which they were pushed."""
        room = self.records.room(min(n, len(self)))
        self._pop_n(self._h, room)
        return self.records.wrap(room)

    def peek(self):
        return self._one(self._top(self._h))


class Stack(_Ends):
    """What was pushed last is popped first."""
    _kind, _functions = "stack", ("push", "push_many", "pop", "pop_many", "peek")


class Queue(_Ends):
    """What was pushed first is popped first."""
    _kind, _functions = "queue", ("push", "push_many", "pop", "pop_many", "front")


class PriorityQueue(_Ends):
    """The first record of an order comes out, whatever has been pushed."""

    def __init__(self, records, key=None, *, cmp=None, ctx=None, stable=False, **opts):
        order = key if isinstance(key, Order) else Order(records, key, cmp=cmp, ctx=ctx)
        opts["flags"] = opts.get("flags", 0) | stable * _c.EM_PQ_STABLE
        self._begin("pq", order.records, ctx, opts | {"order": order._h})
        self._h.format = self.records.format

        if self._pack is self.records.same:
            # The path of one record is as short as can be.
            self.push, take = partial(_c.em_pq_push, self._h), partial(_c.em_pq_pop, self._h)

            def pop():
                value = take()
                if value is None:
                    raise IndexError("pop from an empty container")
                return value
            self.pop = pop

    def pushpop(self, value):
        return self._one(_c.em_pq_pushpop(self._h, self._pack(value)))

    def replace(self, value):
        return self._one(_c.em_pq_replace(self._h, self._pack(value)))

    def pop_until(self, bound, n=1 << 16, *, inclusive=False):
        """Up to n records that come before a bound."""
        room = self.records.room(min(n, len(self)))
        got = _c.em_pq_pop_until(self._h, self._pack(bound), inclusive * _c.EM_PQ_INCLUSIVE, room)
        return self.records.wrap(room[:(got or 0) * self.records.bytes])

    next_batch = _call(_c.em_pq_next, "A view of the next records, which are taken out; None: it is empty.")

    def drain(self):
        """Take out item after item."""
        while (batch := _c.em_pq_next(self._h)) is not None:
            items = self.records.items(batch)
            del batch
            yield from items


class RadixHeap(_Ends):
    """A priority queue for keys that are numbers and never go back: key names the field."""

    def __init__(self, records, key=None, *, ctx=None, **opts):
        records = records if isinstance(records, Records) else Records(records)
        type_, _, at = records.names_of(key).partition("@")
        opts["key_type"] = getattr(_c, "EM_KEY_" + type_.removesuffix("le").removesuffix("be").upper())
        opts["key_flags"] = type_.endswith("be") * _c.EM_KEY_BIG_ENDIAN
        self._begin("radix_heap", records, ctx, opts | {"record_bytes": records.bytes, "key_offset": int(at)})

    @property
    def last(self):
        """The key that was popped last: a later one may not be less."""
        return _c.em_radix_heap_last(self._h)


class BTree(_Container, MutableMapping):
    """A B+-tree: keys and values of one size each.  Keys are sorted as Records has their fields.  With path=...,
    one that was saved, to be read."""

    def __init__(self, key, value=0, items=None, *, order=None, path=None, ctx=None, **opts):
        self.key_records, self.value_records = (r if isinstance(r, Records) else Records(r) for r in (key, value))
        self._ctx, n = ctx or default_context(), self.key_records.bytes
        self._path, records = path, Records(n + self.value_records.bytes)
        self.order = Order(records, self.key_records.names_of(order), ctx=self._ctx)
        self._begin("btree", records, self._ctx, opts)
        self._key = self.key_records.pack
        if items is not None:
            self.update(items)

    def _open(self, fn, opts):
        if self._path is not None:
            return _c.em_btree_open_file(self._ctx._h, self._path, self.order._h, opts)
        return fn(self._ctx._h, self.order._h, opts)

    save = _call(_c.em_btree_save, "Write it to a file, which path=... opens.")

    def _record(self, key, value):
        return self._key(key) + self.value_records.pack(value)

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

    def range(self, start=None, stop=None, *, reverse=False):
        """Items whose keys are at least start and less than stop, in order; the tree may change meanwhile."""
        c = _c.em_btree_cursor_open(self._h)
        if reverse:
            at, how = stop, _c.EM_BTREE_LE if stop is None else _c.EM_BTREE_LT
        else:
            at, how = start, _c.EM_BTREE_GE
        low, high = (None if k is None else self._key(k) for k in (start, stop))
        n, empty, last = self.key_records.bytes, bytes(self.value_records.bytes), low if reverse else high
        if _c.em_btree_cursor_seek(c, None if at is None else self._key(at), how) is not None:
            return
        record = _c.em_btree_cursor_get(c)
        while record is not None:
            if last is not None:
                side = _c.em_order_compare(self.order._h, record[:n] + empty, last + empty)
                if side < 0 if reverse else side >= 0:
                    return
            yield self._item(record)
            record = _c.em_btree_cursor_prev(c) if reverse else _c.em_btree_cursor_next(c)

    def cursor(self):
        return BTreeCursor(self)

    def first(self):
        return self._item(self._some(_c.em_btree_min(self._h)))

    def last(self):
        return self._item(self._some(_c.em_btree_max(self._h)))

    def popitem(self, last=False):
        return self._item(self._some((_c.em_btree_pop_max if last else _c.em_btree_pop_min)(self._h)))

    def _some(self, record):
        if record is None:
            raise KeyError("the tree is empty")
        return record

    update_records = _call(_c.em_btree_upsert_many, "Add or overwrite a buffer of keys with values: how many are new.")

    def load(self, sorter):
        """Fill an empty tree with all that a Sorter of whole records, by the order of the tree, has: each block is
        written once, and full."""
        _c.em_btree_load_sorted(self._h, sorter._h, None)

    def get_many(self, keys):
        """For a buffer or an iterable of keys: a buffer of records, and one of bytes: 1 where there is one."""
        return _c.em_btree_get_many(self._h, self.key_records.many(keys))[:2]

    def count(self, start=None, stop=None):
        """How many keys are at least start and at most stop."""
        return _c.em_btree_count(self._h, *(None if k is None else self._key(k) for k in (start, stop)))

    def erase_range(self, start=None, stop=None):
        """Take out keys that are at least start and less than stop; returns how many."""
        return _c.em_btree_erase_range(self._h, *(None if k is None else self._key(k) for k in (start, stop)))

    verify = _call(_c.em_btree_verify)


class BTreeCursor(_Object):
    """A place in a tree, which stays where it is while that changes.  Methods return an item, or None."""

    def __init__(self, tree):
        self._tree, self._h = tree, _c.em_btree_cursor_open(tree._h)

    def _item(self, record):
        return None if record is None else self._tree._item(record)

    def seek(self, key, how=_c.EM_BTREE_GE):
        """To the first key that is not less, or as EM_BTREE_... says."""
        if _c.em_btree_cursor_seek(self._h, None if key is None else self._tree._key(key), how) is None:
            return self.get()
        return None

    def get(self):
        return self._item(_c.em_btree_cursor_get(self._h))

    def next(self):
        return self._item(_c.em_btree_cursor_next(self._h))

    def prev(self):
        return self._item(_c.em_btree_cursor_prev(self._h))

    erase = _call(_c.em_btree_cursor_erase, "Take out the item, and stand in the gap.")
