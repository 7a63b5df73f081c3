# SPDX-License-Identifier: BSL-1.0
"""What records look like, and in which order they come."""
import struct
import sys
from array import array
from itertools import accumulate

from . import _extmem as _c
from .base import _Object, default_context

_KEYS = {"B": "u8", "b": "i8", "H": "u16", "h": "i16", "I": "u32", "i": "i32", "Q": "u64", "q": "i64", "f": "f32",
         "d": "f64", "?": "u8"}
_NUMPY = {"u1": "B", "i1": "b", "u2": "H", "i2": "h", "u4": "I", "i4": "i", "u8": "Q", "i8": "q", "f4": "f", "f8": "d",
          "b1": "?", "M8": "q", "m8": "q"}
_NATIVE = "<" if sys.byteorder == "little" else ">"


class Records:
    """Records of one size, from a number of bytes, a format of struct ("<QI"), or a NumPy dtype, plain or structured.

    An item is bytes; a number; or a tuple, where there are several fields.  Many of them are bytes-like, a memoryview,
    or an array of NumPy.
    """

    def __init__(self, spec):
        self.fields, self.dtype, code = [], None, None
        if isinstance(spec, int):
            self.bytes, self.pack, self.unpack = spec, bytes, bytes
        elif isinstance(spec, str) and "numpy" not in str(type(spec)):
            code = self._of_struct(spec)
        else:
            import numpy
            self.dtype = numpy.dtype(spec)
            code = self._of_numpy(self.dtype)
        if code is not None:
            packer = struct.Struct(code)
            self.bytes = packer.size
            if len(self.fields) == 1:
                self.pack, self.unpack = packer.pack, lambda record: packer.unpack(record)[0]
            else:
                self.pack, self.unpack = lambda item: packer.pack(*item), packer.unpack
            self._packer = packer
        #: The format of a record that is one number as memory has it, or None.
        self.native = None
        if code and len(self.fields) == 1 and code[-1] in _KEYS and len(code) == 2 and code[0] in ("=@" + _NATIVE):
            self.native = code[-1]
        self.format = (self.bytes, self.native.encode()) if self.native else (1, b"B")

    def _of_struct(self, spec):
        order, codes = (spec[0], spec[1:]) if spec[0] in "<>=@!" else ("=", spec)
        order, at, count = ">" if order == "!" else order, 0, ""
        for code in codes:
            if code.isdigit():
                count += code
                continue
            if code.isspace():
                continue
            # struct itself knows where a field lies that is aligned.
            end = struct.calcsize(order + codes[:codes.index(code, at) + 1])
            at = codes.index(code, at) + 1
            size = struct.calcsize("=" + (count if code in "sx" else "") + code)
            n, count = 1 if code in "sx" else int(count or 1), ""
            for i in range(n if code != "x" else 0):
                self._field(f"f{len(self.fields)}", code, size, end - size * (n - i), order)
        return order + codes

    def _of_numpy(self, dtype):
        code, end, orders = "", 0, set()
        fields = dtype.fields or {"f0": (dtype, 0)}
        for name in dtype.names or ["f0"]:
            one, offset = fields[name][:2]
            order = _NATIVE if one.byteorder in "=|" else one.byteorder
            char = f"{one.itemsize}s" if one.kind in "SV" else _NUMPY.get(one.str[1:3])
            if char is None or offset < end or one.fields or one.shape:
                code = None
            if char:
                orders.update(order if one.itemsize > 1 and one.kind not in "SV" else "")
                self._field(name, char[-1], one.itemsize, offset, order)
            if code is not None:
                code, end = code + f"{offset - end}x" * (offset > end) + char, offset + one.itemsize
        self.bytes, self.pack, self.unpack = dtype.itemsize, self._no_item, self._no_item
        if code is None or len(orders) > 1:
            return None
        return (orders.pop() if orders else "<") + code + f"{dtype.itemsize - end}x" * (dtype.itemsize > end)

    def _field(self, name, code, size, offset, order):
        if code != "s" and code not in _KEYS:
            raise TypeError(f"records have no fields of the type {code!r}")
        big = "be" if order == ">" or order in "=@" and _NATIVE == ">" else "le"
        self.fields.append((name, f"bytes{size}" if code == "s" else _KEYS[code] + (big if size > 1 else ""), offset))

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

    @staticmethod
    def same(item):
        """Items that are numbers stay as they are."""
        return item

    def room(self, n):
        return bytearray(n * self.bytes)

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


def _text_order(ctx, key):
    """An order of lines from options of the command: "-t, -k3,3nr -k1,1"."""
    import shlex
    keys, letters, flags, separator, csv, words = [], "", 0, None, 0, shlex.split(key or "")
    while words:
        word = words.pop(0)
        if word[:2] in ("-k", "-t"):
            value = word[2:] or (words.pop(0) if words else "")
            if word[1] == "k":
                keys.append(value)
            elif len(value.encode()) == 1 or value == "\\t":
                separator = 9 if value == "\\t" else value.encode()[0]
            else:
                raise ValueError(f"-t takes one byte, and not {value!r}")
        elif word == "--csv":
            csv, separator = _c.EM_TEXT_CSV, ord(",") if separator is None else separator
        elif word[:1] == "-" and word[1:] and not set(word[1:]) - set("bdfghiMnrVus"):
            letters += word[1:]
        else:
            raise ValueError(f"there is no option {word!r}")
    own = "".join(c for c in letters if c not in "us")
    if "r" in own:
        flags |= _c.EM_TEXT_LAST_REVERSE
    if not keys and own.strip("r"):
        keys = ["1"]
    keys = [k if any(c.isalpha() for c in k) else k + own for k in keys]
    if set(letters) & set("us") and keys:
        flags = _c.EM_TEXT_KEYS_ONLY
    opts = {"flags": flags | csv, "separator": _c.EM_TEXT_BLANKS if separator is None else separator}
    return _c.em_order_text(ctx, keys, opts), "u" in letters, separator if csv else None


class Order(_Object):
    """How records are sorted; `records` is what Records() takes, or "lines".

    key: None (all fields, or bytes), fields as Records.names_of() has them, options of the command for lines, or a
    function that gets many records and returns a number below 2**64 for each.  cmp: a function of two items, slow.
    """

    def __init__(self, records, key=None, *, cmp=None, ctx=None):
        handle = (ctx or default_context())._h
        self.csv = self.unique = None
        if records == "lines":
            self.records = None
            self._h, self.unique, self.csv = _text_order(handle, key)
            return
        self.records = records = of(records)
        if cmp:
            unpack = records.unpack
            self._h = _c.em_order_cmp(handle, (records.bytes, None, lambda a, b: cmp(unpack(a), unpack(b))))
        elif callable(key):
            def keys(some):
                result = key(records.wrap(some))
                if getattr(result, "dtype", None) is None:
                    return result
                return result.astype("u8", order="C", casting="safe", copy=False)
            self._h = _c.em_order_key_fn(handle, (records.bytes, None, keys))
        else:
            self._h = _c.em_order_parse(handle, records.bytes, records.names_of(key))

    @property
    def name(self):
        return _c.em_order_name(self._h)

    def compare(self, a, b):
        """-1, 0, 1."""
        if self.records is None:
            return _c.em_text_compare(self._h, a, b)
        return _c.em_order_compare(self._h, self.records.pack(a), self.records.pack(b))
