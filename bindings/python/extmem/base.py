# SPDX-License-Identifier: BSL-1.0
"""What everything hangs from: objects with a handle, and methods that are calls of the module.

The stub, __init__.pyi, says the interface once: for type checkers, for help(), and for those functions that are only a
call.  A function of the stub that its class does not define here, where the class has a handle of the kind em_KIND, is

    em_KIND_NAME(self, arguments), or em_KIND_NAME_get(), or what a comment `# = expression' below it says,

in which names of functions need no em_KIND_.  The module takes objects for their handles, and items for records.  The
type in the stub is what becomes of the result: None, bool, or an object that a new handle is given to; __init__ takes
it as its own.  What is not given as ctx is the default context.  Other comments below it are what help() says.
"""
import os
from functools import partial

from . import _extmem as _c
from .errors import UsageError

# What calls are written in: the module, and what the files of this package add.
NAMES = vars(_c) | {"__name__": __package__}


def _read_stub():
    """Of each class, and of "": by name the lines of a function up to its colon, its call, and what help() says."""
    stub, functions, decorator = {}, {}, ""
    with open(os.path.join(os.path.dirname(__file__), "__init__.pyi"), encoding="ascii") as f:
        for line in f:
            text = line.strip()
            if text.startswith("class "):
                functions = stub[text[6:].partition("(")[0].rstrip(":. ")] = {}
            elif line.startswith(("def ", "@")):
                functions = stub.setdefault("", {})
            if text.startswith("@"):
                decorator = text + "\n"
            elif text.startswith("def "):
                last = functions[text[4:].partition("(")[0]] = [decorator + text, "", ""]
                decorator = ""
            elif text.startswith("# ") and functions:
                last[1 if text.startswith("# = ") else 2] += text[4:] if text.startswith("# = ") else text[2:] + "\n"
            elif functions and ": ..." not in last[0]:
                last[0] += text
    return stub


STUB = _read_stub()


def _sources(functions, prefix):
    """Those that are calls, as source."""
    for name, (head, call, doc) in functions.items():
        head = head.partition(": ...")[0]
        arguments = head.partition("(")[2].rpartition(")")[0].split(",")
        names = [one.split(":")[0].strip() for one in arguments if one.strip() not in ("", "*", "/", "self")]
        function, _, rest = (call or f"{name}({', '.join(['self', *names])})").partition("(")
        known = next((fn for fn in (prefix + function, f"{prefix}{function}_get") if fn in NAMES), None)
        if not call and not known:
            continue
        call, result = f"{known or function}({rest}" if rest else call, head.rpartition(" -> ")[2]
        if name == "__init__":
            call = f"self._ctx = {'ctx' if 'ctx' in names else names[0]}\n self._h = {call}" + (
                "\n self._h.records = of(records)" * ("records" in names))
        elif result in STUB:
            call = f"return made({call}, {'cls, ctx' if 'cls' in names else result + ', self'}" + (
                ", records)" if "records" in names else ")")
        elif result != "None":
            call = f"return ({call})" + " != 0" * (result == "bool")
        ctx = " ctx = ctx or default_context()\n" * ("ctx" in names)
        yield f"{head}:\n {doc.strip()!r}\n{ctx} {call}\n"


def define(functions, prefix=""):
    """Functions of the stub that are calls, by name."""
    made_ = {}
    exec("from __future__ import annotations\n" + "".join(_sources(functions, prefix)), NAMES, made_)  # noqa: S102
    return {name: fn for name, fn in made_.items() if name in functions}


class _Object:
    """What has a handle: closed once, by `with`, or by the collector.  A function em_KIND_NAME() or em_KIND_NAME_get()
    of the C interface for its kind of handle is its method NAME, also where the stub has none."""
    _h = None
    records = property(lambda self: self._h.records, doc="What its records are; None: of any length.")

    def __init_subclass__(cls):
        if "_kind" not in vars(cls):
            return
        functions, NAMES[cls.__name__] = {}, cls
        for base in reversed(cls.__mro__):
            functions |= STUB.get(base.__name__, {})
            for name in functions.keys() & vars(base).keys():
                del functions[name]
        for name, function in define(functions, cls._kind + "_").items():
            setattr(cls, name, function)

    def __getattr__(self, name):
        if name[0] != "_" and self._h is not None:
            for function in (f"{self._h.kind}_{name}", f"{self._h.kind}_{name}_get"):
                if function in NAMES:
                    method = self.__dict__[name] = partial(NAMES[function], self._h)
                    return method
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce_ex__(self, _):
        raise TypeError(f"cannot pickle or copy {type(self).__name__!r} object: it has memory and disks")

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


class Context(_Object):
    """Budgets, scratch disks, threads: the fields of em_ctx_opts by name (memory, threads, dirs, disks, ...), or as
    a text ("memory=64M,threads=2,dir=/fast").  Sizes may be texts, too.  log(level, line): 0 to 2, from details to
    warnings."""

    def __init__(self, text=None, **opts):
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


def made(handle, cls, owner, records=None):
    """An object for a handle that was made of something; records: where they are not those of that."""
    new = object.__new__(cls)
    new._h, new._ctx = handle, owner if isinstance(owner, Context) else owner._ctx
    if records is not None or handle.record_bytes and not handle.records:
        handle.records = NAMES["of"](records or handle.record_bytes)
    return new


NAMES |= {"default_context": default_context, "made": made}
