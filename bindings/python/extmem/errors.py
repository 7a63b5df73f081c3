# SPDX-License-Identifier: BSL-1.0
"""Failures of the library as exceptions: each is an Error, and what Python calls such a thing beside.  The stub has
those for single statuses."""
from os import fsdecode

from . import _extmem as _c
from .base import CLASSES, NAMES, STUB, fill


class Error(Exception):
    """status, status_name, errno, op, path, offset, bytes, record, done: the detail of the failure (em_errinfo)."""
    status, op = 0, ""
    path = offset = bytes = record = done = None


NAMES["Error"] = Error
fill(Error, STUB["Error"])
_OF = {code: name for name, (_, codes, _) in CLASSES.items() for code in codes.split()}


def _make(status, errno, op, path, offset, nbytes, record, text, done):
    cls = NAMES[_OF.get(_c.em_status_name(status)) or (
        "UsageError" if status > -100 else "IOFailure" if status > -300 else "DataError" if status > -400 else "Error")]
    text = text.decode(errors="replace")
    path = fsdecode(path) if path else None
    if issubclass(cls, OSError):
        error = cls(errno, text, path) if path else cls(errno, text)
    else:
        error = cls(f"{path}: {text}" if path and path not in text else text)
        error.errno = errno
    error.status, error.op, error.path = status, op, path
    error.offset = None if offset == 2**64 - 1 else offset
    error.bytes, error.record, error.done = nbytes or None, record or None, done
    return error


_c.set_error(_make)
