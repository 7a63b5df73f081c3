# SPDX-License-Identifier: BSL-1.0
"""What containers are made of: files, requests, blocks on disks by ids, which are (disk, offset), pools."""
from . import _extmem as _c
from .base import NAMES, _Object
from .streams import _Batches

NAMES |= {"MODES": {"r": _c.EM_OPEN_READ, "w": _c.EM_OPEN_READ | _c.EM_OPEN_WRITE,
                    "x": _c.EM_OPEN_READ | _c.EM_OPEN_WRITE | _c.EM_OPEN_CREATE, "temp": _c.EM_OPEN_TEMP}}


class Request(_Object):
    """A transfer under way; its memory is kept until it is done.  Closing waits for it."""
    _kind = "em_request"


class File(_Object):
    """A file with transfers at any place; mode "r", "w" (and reading), "x" (make it), "temp" (path is a directory)."""
    _kind = "em_file"

    def read(self, n, offset):
        room = bytearray(n)
        del room[self.readinto(room, offset):]
        return room


class Disks(_Object):
    """Blocks on the scratch disks of a context."""
    _kind = "em_disks"


class Cache(_Object):
    """Some blocks of many in memory: read(bid) and write(bid, data) copy them, and flush() writes what was changed."""
    _kind = "em_cache"


class BlockWriter(_Object):
    """Records to new blocks, one after the other, written behind; finish() gives the list of them."""
    _kind = "em_block_writer"


class BlockList(_Object):
    """Blocks with records; they stay until free_blocks(), or until a reader consumes them."""
    _kind = "em_block_list"


class BlockReader(_Batches):
    """The records of a list."""
    _kind = "em_block_reader"


class BlockPool(_Object):
    """Buffers for writing behind the caller's back, and for reading what was hinted at: lend() one to fill, which
    write() or give_back() takes back."""
    _kind = "em_block_pool"
