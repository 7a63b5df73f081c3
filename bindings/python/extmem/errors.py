# SPDX-License-Identifier: BSL-1.0
"""Failures of the library as exceptions: each is an Error, and what Python calls such a thing beside."""
from os import fsdecode, strerror

from . import _extmem as _c


class Error(Exception):
    """status, status_name, errno, op, path, offset, bytes, record, done: the detail of the failure (em_errinfo)."""
    status = 0
    op = ""
    path = None
    offset = bytes = record = done = None

    @property
    def status_name(self):
        return _c.em_status_name(self.status)


class UsageError(Error, ValueError):
    """A mistake of the caller's: the object is as it was."""


class MemoryLimitError(Error, MemoryError):
    """The budget, or the machine, has too little memory; bytes is what would do, if that is known."""


class IOFailure(Error, OSError):
    """Disks and files, descriptors and threads."""


class NotFoundFailure(IOFailure, FileNotFoundError):
    pass


class AccessFailure(IOFailure, PermissionError):
    pass


class ExistsFailure(IOFailure, FileExistsError):
    pass


class PipeFailure(IOFailure, BrokenPipeError):
    pass


class NoSpaceError(IOFailure):
    """No space is left for the data."""


class DataError(Error, ValueError):
    """Data is damaged, or not what the options say."""


class CallbackError(Error):
    """A function of the caller's said that it failed."""


class CanceledError(Error):
    """The work was canceled."""


_OF = {_c.EM_ERR_NOENT: NotFoundFailure, _c.EM_ERR_ACCESS: AccessFailure, _c.EM_ERR_EXIST: ExistsFailure,
       _c.EM_ERR_PIPE: PipeFailure, _c.EM_ERR_NOSPACE: NoSpaceError, _c.EM_ERR_NOMEM: MemoryLimitError,
       _c.EM_ERR_MEMLIMIT: MemoryLimitError, _c.EM_ERR_CANCELED: CanceledError, _c.EM_ERR_USER: CallbackError}


def _make(status, errno, op, path, offset, nbytes, record, text, done):
    cls = _OF.get(status) or (UsageError if status > -100 else IOFailure if status > -300 else
                              DataError if status > -400 else Error)
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
