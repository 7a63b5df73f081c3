# SPDX-License-Identifier: BSL-1.0
"""What tests share: a context, a directory, and numbers of the seed."""
import array
import os
import random
import signal
import tempfile
import unittest

import extmem

try:
    import numpy as np
except ImportError:
    np = None

# A program that a shell has started in the background ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)

SEED = int(os.environ.get("EXTMEM_TEST_SEED", "0")) or random.SystemRandom().randrange(1 << 32)


class Base(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(SEED)
        self.ctx = extmem.Context(memory=16 << 20)
        self.dir = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.ctx.close()
        self.dir.cleanup()

    def path(self, name, data=None):
        path = os.path.join(self.dir.name, name)
        if data is not None:
            with open(path, "wb") as f:
                f.write(data)
        return path

    def content(self, path):
        with open(path, "rb") as f:
            return f.read()

    def numbers(self, n):
        return array.array("Q", self.rng.randbytes(8 * n))
