# SPDX-License-Identifier: BSL-1.0
"""What everything hangs from."""
import os

from . import _extmem as _c
from .errors import UsageError


class _Object:
    """What has a handle: closed once, by `with`, or by the collector."""
    _h = None

    def close(self):
        if self._h is not None:
            self._h.close()

    @property
    def closed(self):
        return self._h is None or self._h.closed

    def __enter__(self):
        if self.closed:
            raise UsageError("it is closed")
        return self

    def __exit__(self, *_):
        self.close()


def _call(fn, doc=None):
    """A method that calls a function of the module with the handle and its own arguments."""
    def method(self, *args):
        return fn(self._h, *args)
    method.__doc__ = doc
    return method


class Context(_Object):
    """Budgets, scratch disks, threads: the fields of em_ctx_opts by name (memory, threads, dirs, disks, ...), or as
    a text ("memory=64M,threads=2,dir=/fast").  Sizes may be texts, too."""

    def __init__(self, text=None, *, log=None, **opts):
        # log(level, line): 0 to 2, from details to warnings.
        if log is not None:
            opts["log"] = lambda level, line: log(level, line.decode(errors="replace"))
        self._h = _c.em_ctx_open(opts) if text is None else _c.em_ctx_open_text(text, opts)

    cancel = _call(_c.em_ctx_cancel, "Cancel everything in it, from any thread; it cannot be undone.")

    def stats(self):
        """What all of its files moved, and its memory."""
        return _c.em_ctx_io_stats_get(self._h) | {
            "memory": _c.em_ctx_memory(self._h), "memory_used": _c.em_ctx_memory_used(self._h),
            "memory_peak": _c.em_ctx_memory_peak(self._h), "threads": _c.em_ctx_threads(self._h),
            "version": _c.em_version(), "lz4": _c.em_feature("lz4") != 0, "backend": _c.em_ctx_backend(self._h),
            "isa": _c.em_ctx_isa(self._h)}


_default = (None, None)


def default_context():
    """The context of what was given none: one for each process."""
    global _default
    if _default[0] != os.getpid():
        _default = os.getpid(), Context()
    return _default[1]
