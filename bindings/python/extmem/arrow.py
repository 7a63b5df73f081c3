# SPDX-License-Identifier: BSL-1.0
"""Tables of Arrow: what has __arrow_c_stream__ or __arrow_c_array__ is sorted, and has the former again."""
from . import _extmem as _c
from .records import Records

_CODES = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "f": "f", "g": "d"}


class SortedTable:
    """A table in order, as a stream that is pulled once, batch by batch: pyarrow.table(it), ..."""

    def __init__(self, sorter, fields, is_struct):
        self.sorter, self._fields, self._is_struct = sorter, fields, is_struct

    def __arrow_c_stream__(self, requested_schema=None):
        return _c.arrow_stream(self._fields, self._is_struct, self.sorter.batches())


def _arrays(data):
    """The schema, and arrays."""
    if hasattr(data, "__arrow_c_stream__"):
        stream = data.__arrow_c_stream__()
        yield _c.arrow_next(stream, 0)
        yield from iter(lambda: _c.arrow_next(stream, 1), None)
    else:
        yield from data.__arrow_c_array__()


def sort_table(data, key, sorter, opts):
    arrays = _arrays(data)
    schema = next(arrays)
    fields, is_struct, code = _c.arrow_fields(schema), _c.arrow_is_struct(schema), "<"
    for name, format_, width, _ in fields:
        if not width:
            raise TypeError(f"column {name!r} of the format {format_!r} has no values of one width")
        code += _CODES.get(format_) or (f"{width}s" if format_[0] == "w" else "i" if width == 4 else "q")
    records = Records(code)
    records.fields = [(fields[i][0] or name, *rest) for i, (name, *rest) in enumerate(records.fields)]
    s, widths = sorter(records, key, **opts), tuple(field[2] for field in fields)
    for array in arrays:
        rows, _keep = _c.arrow_rows(array, widths, is_struct)
        if len(rows):
            s.push(rows)
        del rows, _keep
    s.finish()
    return SortedTable(s, fields, is_struct)
