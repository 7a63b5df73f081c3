# SPDX-License-Identifier: BSL-1.0
"""Failures of the library as exceptions: each is an Error, and what Python calls such a thing beside."""
from os import fsdecode

from . import _extmem as _c


class Error(Exception):
    """status, status_name, errno, op, path, offset, bytes, record, done: the detail of the failure (em_errinfo)."""
    status = 0
    op = ""
    path = offset = bytes = record = done = None

    @property
    def status_name(self):
        return _c.em_status_name(self.status)


def _kind(name, *bases, doc=None):
    return type(name, bases, {"__doc__": doc, "__module__": __package__})


UsageError = _kind("UsageError", Error, ValueError, doc="A mistake of the caller's: the object is as it was.")
MemoryLimitError = _kind("MemoryLimitError", Error, MemoryError, doc="""The budget, or the machine, has too little
    memory; bytes is what would do, if that is known.""")
IOFailure = _kind("IOFailure", Error, OSError, doc="Disks and files, descriptors and threads.")
NotFoundFailure = _kind("NotFoundFailure", IOFailure, FileNotFoundError)
AccessFailure = _kind("AccessFailure", IOFailure, PermissionError)
ExistsFailure = _kind("ExistsFailure", IOFailure, FileExistsError)
PipeFailure = _kind("PipeFailure", IOFailure, BrokenPipeError)
NoSpaceError = _kind("NoSpaceError", IOFailure, doc="No space is left for the data.")
DataError = _kind("DataError", Error, ValueError, doc="Data is damaged, or not what the options say.")
CallbackError = _kind("CallbackError", Error, doc="A function of the caller's said that it failed.")
CanceledError = _kind("CanceledError", Error, doc="The work was canceled.")

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
