# SPDX-License-Identifier: BSL-1.0
"""What everything hangs from: objects with a handle, and classes and methods that are calls of the module.

The stub, __init__.pyi, says the interface once: for type checkers, for help(), and for what is only a call.  Beside the
head of a class a comment says that its handles are of the kind em_KIND; or, of an exception, for which statuses it is.
A class that no file defines is made of the stub.  A function of the stub that its class does not define here is

    em_KIND_NAME(self, arguments), or em_KIND_NAME_get(), or what comments `# = expression' below it say,

in which names of functions need no em_KIND_, and % is the kind.  The module takes objects for their handles, and items
for records.  The type in the stub is what becomes of the result: None, bool, Self, which is the object, or an object
that a new handle is given to; __init__ takes it as its own.  `of RECORDS' behind the expression are the records of such
a handle, if they are not those of what it is made of.  What is not given as ctx is the default context.  Other comments
below a head are what help() says.
"""
import os
import re
from functools import lru_cache, partial

from . import _extmem as _c

# What calls are written in: the module, and what the files of this package add.
NAMES = vars(_c) | {"__name__": __package__}
# Decorator, indentation, class or def, name, head, and comments beside and below that.
_ENTRY = re.compile(r"^( *@.*\n)?( *)(class|def) (\w+)((?:[^:]|:(?!\n| \.\.\.|  #))*):(.*)((?:\n *#.*)*)", re.M)


def _read_stub():
    """Of each class its bases, its kind or statuses, and what help() says; and of it, and of "", by name the head of a
    function up to its colon, its call, and what help() says."""
    classes, stub = {}, {"": {}}
    with open(os.path.join(os.path.dirname(__file__), "__init__.pyi"), encoding="ascii") as f:
        entries = _ENTRY.findall(f.read())
    for decorator, indent, what, name, head, beside, below in entries:
        comments = [line.strip() for line in below.splitlines()]
        said = "".join(line[4:] for line in comments if line.startswith("# = "))
        doc = "\n".join(line[2:] for line in comments if not line.startswith("# = ")).strip()
        if what == "class":
            classes[name], functions = (head.strip("()"), beside.partition("# ")[2], doc), stub.setdefault(name, {})
        else:
            (functions if indent else stub[""])[name] = f"{decorator.strip()}\ndef {name}{head}", said, doc
    return classes, stub


CLASSES, STUB = _read_stub()


def _sources(functions, prefix):
    """Those that are calls, as source."""
    for name, (head, said, doc) in functions.items():
        names = re.findall(r"(\**\w+): ", head)
        call = (said or f"{name}({', '.join(['self', *names])})").replace("%", prefix[3:-1])
        call, of_, records = call.partition(" of ")
        function, _, rest = call.partition("(")
        known = next((fn for fn in (prefix + function, f"{prefix}{function}_get") if fn in NAMES), None)
        if not known and (not said or function.startswith("em_") and function not in NAMES):
            continue
        call, result = f"{known or function}({rest}" if rest else call, head.rpartition(" -> ")[2]
        more = ", " * bool(of_) + records
        if name == "__init__":
            call = f"self._own({call}, {'ctx' if 'ctx' in names else names[0]}{more})" + (
                "\n if items is not None:\n  self.extend(items)" * ("items" in names))
        elif result in CLASSES:
            call = f"return made({call}, {'cls, ctx' if '(cls,' in head else result + ', self'}{more})"
        elif result == "Self":
            call += "\n return self"
        elif result != "None":
            call = f"return ({call})" + " != 0" * (result == "bool")
        ctx = " ctx = ctx or default_context()\n" * ("ctx" in names)
        yield f"{head}:\n {doc!r}\n{ctx} {call}\n"


def define(functions, prefix=""):
    """Functions of the stub that are calls, by name."""
    made_ = {}
    exec("from __future__ import annotations\n" + "".join(_sources(functions, prefix)), NAMES, made_)  # noqa: S102
    return {name: fn for name, fn in made_.items() if name in functions}


def fill(cls, functions, prefix=""):
    """Such functions become methods of a class."""
    for name, function in define(functions, prefix).items():
        setattr(cls, name, function)


def make_classes():
    """Those that only the stub has."""
    for name, (bases, _, doc) in CLASSES.items():
        if name not in NAMES:
            bases = eval(f"({bases},)", NAMES)  # noqa: S307
            NAMES[name] = type(name, bases, {"__doc__": doc or None, "__module__": __package__})


class _Object:
    """What has a handle: closed once, by `with`, or by the collector.  A function em_KIND_NAME() or em_KIND_NAME_get()
    of the C interface for its kind of handle is its method NAME, also where the stub has none."""
    _h = _kind = None
    records = property(lambda self: self._h.records, doc="What its records are; None: of any length.")

    def __init_subclass__(cls):
        # Not those of users.
        if cls.__module__.partition(".")[0] != __package__:
            return
        functions, NAMES[cls.__name__], kind = {}, cls, CLASSES[cls.__name__][1]
        if not kind:
            return
        cls._kind = kind
        for base in reversed(cls.__mro__):
            functions |= STUB.get(base.__name__, {})
            functions = {name: said for name, said in functions.items() if name not in vars(base)}
        fill(cls, functions, kind + "_")

    def _own(self, handle, owner, records=None):
        """It has this handle, in the context of its owner, of such records, or those of what the handle was made of."""
        self._h, self._ctx = handle, owner._ctx
        if records is not None or handle.record_bytes and not handle.records:
            handle.records = NAMES["of"](records or handle.record_bytes)
        return self

    def _by(self, records, key, ctx, cmp):
        """Its order."""
        self.order = NAMES["order_of"](records, key, ctx, cmp)
        return self.order

    def __getattr__(self, name):
        if name[0] != "_" and self._h is not None:
            for function in (f"{self._h.kind}_{name}", f"{self._h.kind}_{name}_get"):
                if function in NAMES:
                    method = self.__dict__[name] = partial(NAMES[function], self._h)
                    return method
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce_ex__(self, _):
        raise TypeError(f"cannot pickle or copy {type(self).__name__!r} object: it has memory and disks")

    def __enter__(self):
        if self.closed:
            raise NAMES["UsageError"]("it is closed")
        return self


fill(_Object, STUB["_Object"])


class Context(_Object):
    """Budgets, scratch disks, threads: the fields of em_ctx_opts by name (memory, threads, dirs, disks, ...), or as
    a text ("memory=64M,threads=2,dir=/fast").  Sizes may be texts, too.  log(level, line): 0 to 2, from details to
    warnings."""
    _ctx = property(lambda self: self)

    def __init__(self, text=None, **opts):
        self._h = _c.em_ctx_open(opts) if text is None else _c.em_ctx_open_text(text, opts)


@lru_cache(1)
def _context_of(process):
    return Context()


def default_context():
    """The context of what was given none: one for each process."""
    return _context_of(os.getpid())


def made(handle, cls, *of_):
    """An object of a class for a handle: see _own()."""
    return object.__new__(cls)._own(handle, *of_)


def short(room, n):
    """So much of what was to be filled."""
    del room[n:]
    return room


NAMES |= {"_Object": _Object, "default_context": default_context, "made": made, "short": short}
