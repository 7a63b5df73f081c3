# SPDX-License-Identifier: BSL-1.0
"""What containers are made of: files, requests, blocks on disks by ids, which are (disk, offset), pools."""
from . import _extmem as _c
from .base import _Object, default_context
from .records import of
from .streams import _Batches

_MODES = {"r": _c.EM_OPEN_READ, "w": _c.EM_OPEN_READ | _c.EM_OPEN_WRITE,
          "x": _c.EM_OPEN_READ | _c.EM_OPEN_WRITE | _c.EM_OPEN_CREATE, "temp": _c.EM_OPEN_TEMP}


class Request(_Object):
    """A transfer under way; its memory is kept until it is done.  Closing waits for it."""

    def __init__(self, handle):
        self._h = handle

    def wait_for(self, seconds):
        return _c.em_request_wait_for(self._h, seconds) != 0

    def poll(self):
        return _c.em_request_poll(self._h) != 0

    def cancel(self):
        """True if it had not begun."""
        return _c.em_request_cancel(self._h) != 0

    @property
    def moved(self):
        return _c.em_request_moved(self._h)


def wait_all(requests):
    """Wait for all; the first failure in their order raises."""
    _c.em_request_wait_all([rq._h for rq in requests])


class File(_Object):
    """A file with transfers at any place; mode "r", "w" (and reading), "x" (make it), "temp" (path is a directory)."""

    def __init__(self, path, mode="r", *, ctx=None, flags=0):
        self._ctx = ctx or default_context()
        self._h = _c.em_file_open(self._ctx._h, path, {"flags": _MODES[mode] | flags})

    def __len__(self):
        return self.size()

    def read(self, n, offset):
        room = bytearray(n)
        del room[self.readinto(room, offset):]
        return room

    def readinto(self, buffer, offset):
        return _c.em_file_read(self._h, buffer, offset)

    def read_async(self, buffer, offset, done=None):
        """done(status, bytes moved) is called by the thread that notices."""
        return Request(_c.em_file_read_async(self._h, buffer, offset, done))

    def write_async(self, data, offset, done=None):
        return Request(_c.em_file_write_async(self._h, data, offset, done))


class Disks(_Object):
    """Blocks on the scratch disks of a context."""

    def __init__(self, ctx=None, **opts):
        self._ctx = ctx or default_context()
        self._h = _c.em_disks_open(self._ctx._h, opts)

    def __len__(self):
        return self.count()

    def alloc(self, n, block_bytes):
        return _c.em_bids_alloc(self._h, n, block_bytes, 0)

    def free(self, bids, block_bytes):
        _c.em_bids_free(self._h, bids, block_bytes)

    def read(self, bid, buffer, done=None):
        return Request(_c.em_block_read(self._h, bid, buffer, done))

    def write(self, bid, data, done=None):
        return Request(_c.em_block_write(self._h, bid, data, done))

    def stats(self, disk=2**32 - 1):
        return _c.em_disks_stats_get(self._h, disk)


class Cache(_Object):
    """Some blocks of many in memory: read(bid) and write(bid, data) copy them, and flush() writes what was changed."""

    def __init__(self, disks, block_bytes, frames, **opts):
        self._disks, self.block_bytes = disks, block_bytes
        self._h = _c.em_cache_open(disks._h, opts | {"block_bytes": block_bytes, "frames": frames})
        self._h.record_bytes = block_bytes

    def read(self, bid):
        room = bytearray(self.block_bytes)
        _c.em_cache_read(self._h, bid, room)
        return room


class BlockWriter(_Object):
    """Records to new blocks, one after the other, written behind; finish() gives the list of them."""

    def __init__(self, disks, records, **opts):
        self._disks, self.records = disks, of(records)
        self._h = _c.em_block_writer_open(disks._h, opts | {"record_bytes": self.records.bytes})
        self._h.record_bytes = self.records.bytes

    def push(self, data):
        _c.em_block_writer_push(self._h, self.records.many(data))

    def finish(self):
        return BlockList(_c.em_block_writer_finish(self._h), self)


class BlockList(_Object):
    """Blocks with records; they stay until free_blocks(), or until a reader consumes them."""

    def __init__(self, handle, writer):
        self._h, self._disks, self.records = handle, writer._disks, writer.records

    def info(self):
        return _c.em_block_list_info_get(self._h)

    def reader(self, **opts):
        """Batches, read ahead; flags=EM_BLOCKS_REVERSE: from the last block to the first; EM_BLOCKS_CONSUME: which are
        freed when they were read."""
        return BlockReader()._opened(_c.em_block_reader_open(self._h, opts), self.records)


class BlockReader(_Batches):
    """The records of a list."""


class BlockPool(_Object):
    """Buffers for writing behind the caller's back, and for reading what was hinted at: lend() one to fill, which
    write() or give_back() takes back."""

    def __init__(self, disks, block_bytes, write_buffers=4, prefetch_buffers=4):
        self._disks, self.block_bytes = disks, block_bytes
        self._h = _c.em_block_pool_open(disks._h, {"block_bytes": block_bytes, "write_buffers": write_buffers,
                                                   "prefetch_buffers": prefetch_buffers})
        self._h.record_bytes = block_bytes

    def give_back(self, buffer):
        _c.em_block_pool_return(self._h, buffer)

    def hint(self, bid):
        return _c.em_block_pool_hint(self._h, bid) != 0

    def read(self, bid):
        """A copy of the block, as it was written last."""
        room = bytearray(self.block_bytes)
        _c.em_block_pool_read(self._h, bid, room)
        return room
