# SPDX-License-Identifier: BSL-1.0
"""A hundred thousand visits: sorted by page and time, the pages counted in a tree, the slowest ones by a heap."""
import random
import tempfile

import extmem

rng = random.Random(1)
ctx = extmem.Context(memory=32 << 20, dirs=[tempfile.gettempdir()])
visits = extmem.Sorter("<IId", "f0,f1", ctx=ctx)                     # page, second, milliseconds it took
visits.push((rng.randrange(1000), second, rng.expovariate(0.1)) for second in range(100_000))

pages = extmem.BTree("<I", "<QQ", ctx=ctx)                           # page -> visits, last second
slowest = extmem.PriorityQueue("<dI", "-f0", ctx=ctx)                # the slowest first
for page, second, took in visits:
    n, last = pages.get(page, (0, 0))
    if second < last:
        raise SystemExit("not sorted")
    pages[page] = n + 1, second
    if took > 100:
        slowest.push((took, page))
print(len(pages), "pages, the last five:", [page for page, _ in pages.range(995)])
print(len(slowest), "slow visits, the slowest of page", slowest.peek()[1])
if sum(n for n, _ in pages.values()) != 100_000:
    raise SystemExit("visits were lost")
ctx.close()
