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
_LONGS = {"l4": "i", "L4": "I", "l8": "q", "L8": "Q"}
_NATIVE = "<" if sys.byteorder == "little" else ">"


def _kind(order, code, size):
    """Of what struct knows by these: "<", ">", or "" where bytes have no order; the code if it is no long, which has
    any size; and the type of a key, or None."""
    code = _LONGS.get(f"{code}{size}", code)
    if code == "s":
        return "", code, f"bytes{size}"
    order = {"<": "<", ">": ">", "!": ">"}.get(order, _NATIVE) if size > 1 else ""
    return order, code, _KEYS[code] + {"<": "le", ">": "be", "": ""}[order] if code in _KEYS else None


def _of_struct(spec):
    """Name (none), kind, bytes and offset of each field of a format of struct."""
    count = ""
    for end, code in enumerate(spec[1:], 2):
        if code.isdigit():
            count += code
        elif not code.isspace():
            # struct itself knows where a field lies that is aligned.
            behind, size = struct.calcsize(spec[:end]), struct.calcsize(spec[0] + count * (code in "sx") + code)
            for i in range({"x": 0, "s": 1}.get(code, int(count or 1)), 0, -1):
                yield "", _kind(spec[0], code, size), size, behind - size * i
            count = ""


def _of_numpy(dtype):
    """The same of a dtype; what has a form of its own has no type: it is neither an item nor a key."""
    for name in dtype.names or [""]:
        one, offset = dtype.fields[name][:2] if name else (dtype, 0)
        code = "" if one.fields or one.shape else {"S": "s", "V": "s", "M": "q", "m": "q"}.get(one.kind, one.char)
        yield name, _kind(one.byteorder, code, one.itemsize), one.itemsize, offset


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
            try:
                spec = spec if spec[0] in "<>=@!" else "=" + spec
                self.bytes, layout = struct.calcsize(spec), _of_struct(spec)
            except (struct.error, IndexError):
                raise ValueError(f"{spec!r} is no format of records: '<Q', '>Id8s', a number of bytes, ...") from None
        elif spec is None:
            raise TypeError("records are a number of bytes, a format, or a dtype")
        else:
            import numpy
            self.dtype = numpy.dtype(spec)
            self.bytes, layout = self.dtype.itemsize, _of_numpy(self.dtype)
        codes, end, orders, items = "", 0, set(), True
        for name, (order, code, type_), size, offset in layout:
            if type_:
                self.fields.append((name or f"f{len(self.fields)}", type_, offset))
            elif self.dtype is None:
                raise TypeError(f"records have no fields of the type {code!r}")
            items = items and type_ and offset >= end
            codes, end = codes + f"{offset - end}x{size if code == 's' else ''}{code}", offset + size
            orders.add(order)
        order = "".join(orders)
        self._packer = packer = items and len(order) < 2 and struct.Struct(f"{order or '<'}{codes}{self.bytes - end}x")
        self._long = [(i, int(type_[5:])) for i, (_, type_, _) in enumerate(self.fields) if type_[:5] == "bytes"]
        pack = self._whole if self._long else packer and packer.pack
        if items and not self.fields:
            self.pack, self.unpack = self._exact, bytes
        elif not packer:
            self.pack = self.unpack = self._no_item
        elif len(self.fields) == 1:
            self.pack, self.unpack = pack, lambda record: packer.unpack(record)[0]
        else:
            self.pack, self.unpack = lambda item: pack(*item), packer.unpack
        #: The format of a record that is one number as memory has it, or None.
        one = codes.removeprefix("0x")
        self.native = one if one in _KEYS and end == self.bytes and order in ("", _NATIVE) else None

    def _exact(self, item):
        item = bytes(memoryview(item))
        if len(item) != self.bytes:
            raise ValueError(f"{len(item)} bytes are no record of {self.bytes}")
        return item

    def _whole(self, *item):
        """struct itself would cut off what is too long."""
        for i, size in self._long:
            if len(item[i]) > size:
                raise ValueError(f"a field has at most {size} bytes")
        return self._packer.pack(*item)

    def _no_item(self, *_):
        raise TypeError("these records have no single items in Python; use arrays of them")

    def names_of(self, key):
        """The name of an order (em_order_name()) by fields: None for all, "field", "-field" for descending, several."""
        if isinstance(key, str) and "@" in key:
            return key
        if key is None:
            if self.dtype is not None and len(self.fields) < len(self.dtype.names or "1"):
                raise TypeError(f"records of {self.dtype} have a field that has no order: name those of the key")
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
        dtype = getattr(data, "dtype", None)
        if getattr(dtype, "kind", "") in ("M", "m"):
            data = data.view(dtype.byteorder + "i8")
        try:
            view = memoryview(data)
        except TypeError:
            return b"".join(map(self.pack, data))
        except ValueError:
            # NumPy shows no dates in fields.
            if dtype is None or dtype != self.dtype:
                raise
            return memoryview(data.view(f"V{dtype.itemsize}"))
        if not self._fits(view, dtype):
            raise TypeError(f"records are {self.dtype or self.fields[0][1]}, and no items of format {view.format!r}")
        return view

    def _fits(self, view, dtype):
        """Whether what a buffer has is such records, or bytes."""
        if not self.fields or view.itemsize == 1 or view.format == self.native:
            return True
        if view.format[0] == "T":
            return view.itemsize == self.bytes and (dtype is None or self.dtype is None or dtype == self.dtype)
        type_, size = self.fields[0][1], view.itemsize
        return len(self.fields) > 1 or type_[:5] == "bytes" or (
            size == self.bytes and type_ == _kind(view.format[0], view.format[-1], size)[2])

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


def format_of(view):
    """What Records() takes for such items as a buffer has."""
    return "".join(_kind(view.format[0], view.format.lstrip("<>=@!"), view.itemsize)[:2])


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
        if isinstance(records, str) and records == "lines":
            if cmp or callable(key):
                raise TypeError("lines are sorted by options of the command")
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
