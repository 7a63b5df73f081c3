# SPDX-License-Identifier: BSL-1.0
"""What everything hangs from."""
import os
from functools import partial

from . import _extmem as _c
from .errors import UsageError

_PHASES = ("runs", "merge", "output")


class _Object:
    """What has a handle: closed once, by `with`, or by the collector.

    A function em_KIND_NAME() or em_KIND_NAME_get() of the C interface is its method NAME, without the handle and what
    it returns by pointers; so here is only what Python does in another way.
    """
    _h = None

    def __getattr__(self, name):
        if name[0] != "_" and self._h is not None:
            function = f"{self._h.kind}_{name}"
            function = getattr(_c, function, None) or getattr(_c, function + "_get", None)
            if function:
                method = self.__dict__[name] = partial(function, self._h)
                return method
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def close(self):
        if self._h is not None:
            self._h.close()

    def cancel(self):
        """Stop whatever is done to it, from any thread; it cannot be undone."""
        self._h.cancel()

    @property
    def closed(self):
        return self._h is None or self._h.closed

    def __enter__(self):
        if self.closed:
            raise UsageError("it is closed")
        return self

    def __exit__(self, *_):
        self.close()


def _progress(opts):
    """progress(phase, done, total) gets the name of the phase."""
    fn = opts.get("progress")
    if fn is not None:
        opts["progress"] = lambda phase, done, total: fn(_PHASES[phase] if phase < 3 else str(phase), done, total)
    return opts


class Context(_Object):
    """Budgets, scratch disks, threads: the fields of em_ctx_opts by name (memory, threads, dirs, disks, ...), or as
    a text ("memory=64M,threads=2,dir=/fast").  Sizes may be texts, too."""

    def __init__(self, text=None, *, log=None, **opts):
        # log(level, line): 0 to 2, from details to warnings.
        if log is not None:
            opts["log"] = lambda level, line: log(level, line.decode(errors="replace"))
        self._h = _c.em_ctx_open(opts) if text is None else _c.em_ctx_open_text(text, opts)

    def stats(self):
        """What all of its files moved, and its memory."""
        more = {name: getattr(self, name)() for name in ("memory", "memory_used", "memory_peak", "threads", "backend",
                                                         "isa")}
        return self.io_stats() | more | {"version": _c.em_version(), "lz4": _c.em_feature("lz4") != 0}


_default = (None, None)


def default_context():
    """The context of what was given none: one for each process."""
    global _default
    if _default[0] != os.getpid():
        _default = os.getpid(), Context()
    return _default[1]
