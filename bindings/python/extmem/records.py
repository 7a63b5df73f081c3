# SPDX-License-Identifier: BSL-1.0
"""What records look like, and in which order they come."""
import struct
import sys
from array import array
from itertools import accumulate

from . import _extmem as _c
from .base import NAMES, _Object, default_context

_KEYS = {"B": "u8", "b": "i8", "H": "u16", "h": "i16", "I": "u32", "i": "i32", "Q": "u64", "q": "i64", "f": "f32",
         "d": "f64", "?": "u8"}
_NUMPY = {"u1": "B", "i1": "b", "u2": "H", "i2": "h", "u4": "I", "i4": "i", "u8": "Q", "i8": "q", "f4": "f", "f8": "d",
          "b1": "?", "M8": "q", "m8": "q"}
_NATIVE = "<" if sys.byteorder == "little" else ">"


def _of_struct(spec):
    """Name, code, bytes, offset and order of bytes of each field of a format of struct, and that it is an item."""
    order, codes, count, n = spec[0], spec[1:], "", 0
    for at, code in enumerate(codes):
        if code.isdigit():
            count += code
        elif not code.isspace():
            # struct itself knows where a field lies that is aligned.
            end = struct.calcsize(order + codes[:at + 1])
            size = struct.calcsize("=" + count * (code in "sx") + code)
            many, count = 0 if code == "x" else 1 if code == "s" else int(count or 1), ""
            for i in range(many):
                yield f"f{n + i}", code, size, end - size * (many - i), order, True
            n += many


def _of_numpy(dtype):
    """The same of a dtype; what has a form of its own is no item, and without a code no key, either."""
    for name in dtype.names or ["f0"]:
        one, offset = (dtype.fields or {"f0": (dtype, 0)})[name][:2]
        code = "s" if one.kind in "SV" else _NUMPY.get(one.str[1:3])
        yield name, code, one.itemsize, offset, one.byteorder, code and not one.fields and not one.shape


class Records:
    """Records of one size, from a number of bytes, a format of struct ("<QI"), or a NumPy dtype, plain or structured.

    An item is bytes; a number; or a tuple, where there are several fields.  Many of them are bytes-like, a memoryview,
    or an array of NumPy.
    """

    def __init__(self, spec):
        self.fields, self.dtype, layout = [], None, ()
        if isinstance(spec, int):
            self.bytes = spec
        elif isinstance(spec, str) and "numpy" not in str(type(spec)):
            spec = spec if spec[0] in "<>=@!" else "=" + spec
            self.bytes, layout = struct.calcsize(spec), _of_struct(spec)
        else:
            import numpy
            self.dtype = numpy.dtype(spec)
            self.bytes, layout = self.dtype.itemsize, _of_numpy(self.dtype)
        codes, end, orders, items = "", 0, set(), True
        for name, code, size, offset, order, item in layout:
            order = {"!": ">", ">": ">", "<": "<"}.get(order, _NATIVE) if size > 1 and code != "s" else ""
            if code and code != "s" and code not in _KEYS:
                raise TypeError(f"records have no fields of the type {code!r}")
            if code:
                type_ = f"bytes{size}" if code == "s" else _KEYS[code] + {"<": "le", ">": "be", "": ""}[order]
                self.fields.append((name, type_, offset))
            items = items and item and offset >= end
            codes, end = codes + f"{offset - end}x{size if code == 's' else ''}{code}", offset + size
            orders.add(order)
        orders.discard("")
        packer = items and len(orders) < 2 and struct.Struct(f"{''.join(orders) or '<'}{codes}{self.bytes - end}x")
        if not self.fields:
            self.pack = self.unpack = bytes
        elif not packer:
            self.pack = self.unpack = self._no_item
        elif len(self.fields) == 1:
            self.pack, self.unpack = packer.pack, lambda record: packer.unpack(record)[0]
        else:
            self.pack, self.unpack = lambda item: packer.pack(*item), packer.unpack
        self._packer = packer
        #: The format of a record that is one number as memory has it, or None.
        one = codes.removeprefix("0x")
        self.native = one if one in _KEYS and end == self.bytes and not orders - {_NATIVE} else None
        self.format = (self.bytes, self.native.encode()) if self.native else (1, b"B")

    def _no_item(self, *_):
        raise TypeError("these records have no single items in Python; use arrays of them")

    def names_of(self, key):
        """The name of an order (em_order_name()) by fields: None for all, "field", "-field" for descending, several."""
        if isinstance(key, str) and "@" in key:
            return key
        if key is None:
            return ",".join(f"{type_}@{offset}" for _, type_, offset in self.fields) or f"bytes{self.bytes}@0"
        known, names = {name: (type_, offset) for name, type_, offset in self.fields}, []
        for one in key.split(",") if isinstance(key, str) else key:
            name = one.removeprefix("-")
            if name not in known:
                raise KeyError(f"records have no field {name!r}: {', '.join(known) or 'only bytes'}")
            names.append("{}@{}{}".format(*known[name], ":r" * one.startswith("-")))
        return ",".join(names)

    def many(self, data):
        """Items, or a buffer of records, as a buffer."""
        if getattr(getattr(data, "dtype", None), "kind", "") in ("M", "m"):
            data = data.view("i8")
        try:
            view = memoryview(data)
        except TypeError:
            return b"".join(map(self.pack, data))
        if view.itemsize > 1 and (view.itemsize != self.bytes and len(self.fields) == 1 or self.native and
                                  struct.calcsize(view.format) == self.bytes and view.format.lstrip("<>=@") !=
                                  self.native and {view.format[-1], self.native} not in ({"l", "q"}, {"L", "Q"})):
            raise TypeError(f"records are {self.native or self.bytes}, and not items of the format {view.format!r}")
        return view

    def wrap(self, data):
        """A buffer as an array of NumPy if that is what records came from, else as a memoryview of numbers or bytes."""
        if self.dtype is not None:
            import numpy
            return numpy.frombuffer(data, self.dtype)
        view = memoryview(data)
        return view.cast("B").cast(self.native) if self.native and view.format != self.native else view

    def items(self, data):
        """The items of a buffer."""
        if self.native:
            return memoryview(data).cast("B").cast(self.native).tolist()
        if self.fields and self.pack != self._no_item:
            rows = self._packer.iter_unpack(data)
            return [row[0] for row in rows] if len(self.fields) == 1 else list(rows)
        return [self.unpack(data[i:i + self.bytes]) for i in range(0, len(data), self.bytes)]


def of(spec):
    return spec if isinstance(spec, Records) else Records(spec)


def joined(lines):
    """Lines, bytes or str, side by side, and where they end."""
    lines = [line.encode() if isinstance(line, str) else bytes(line) for line in lines]
    return b"".join(lines), array("Q", accumulate(map(len, lines)))


def split(batch):
    """A batch of lines as a list."""
    data, ends = bytes(batch[0]), batch[1].tolist()
    return [data[begin:end] for begin, end in zip([0] + ends, ends)]


class Order(_Object):
    """How records are sorted; `records` is what Records() takes, or "lines".

    key: None (all fields, or bytes), fields as Records.names_of() has them, options of the command for lines
    ("-t, -k3,3nr -k1,1"), or a function that gets many records and returns a number below 2**64 for each.  cmp: a
    function of two items, slow.
    """

    def __init__(self, records, key=None, *, cmp=None, ctx=None):
        ctx = ctx or default_context()
        if records == "lines":
            self._h = _c.emb_order_options(ctx, key)
            return
        records = of(records)
        if cmp:
            unpack = records.unpack
            self._h = _c.em_order_cmp(ctx, (records.bytes, None, lambda a, b: cmp(unpack(a), unpack(b))))
        elif callable(key):
            def keys(some):
                result = key(records.wrap(some))
                return result if getattr(result, "dtype", None) is None else result.astype(
                    "u8", order="C", casting="safe", copy=False)
            self._h = _c.em_order_key_fn(ctx, (records.bytes, None, keys))
        else:
            self._h = _c.em_order_parse(ctx, records.bytes, records.names_of(key))
        self._h.records = records


def order_of(records, key, ctx, cmp=None):
    return key if isinstance(key, Order) else Order(records, key, cmp=cmp, ctx=ctx)


def ordered(self, key):
    """The order of what has records, or lines."""
    return order_of(self.records or "lines", key, self._ctx)


NAMES |= {"Records": Records, "of": of, "joined": joined, "order_of": order_of, "ordered": ordered}
