# SPDX-License-Identifier: BSL-1.0
"""What mypy --strict looks at: a program as users write them, and what comes of it."""
import array
import extmem

def main() -> None:
    with extmem.Context(memory=1 << 24) as ctx:
        a: array.array[int] = extmem.sort(array.array("Q", [3, 1]), ctx=ctx)
        s = extmem.Sorter("<Q", ctx=ctx, progress=lambda phase, done, total: False)
        s.push(a)
        print(list(s), s.stats()["records_in"])
        t = extmem.BTree("<Q", 8, ctx=ctx)
        t[1] = b"x" * 8
        for key, value in t.range(0, 5):
            print(key, value)
        stream = extmem.Stream("<Q", [a], ctx=ctx).filter(lambda some: [x > 1 for x in some])
        with extmem.Stack("<Q", ctx=ctx) as stack, stack.sink() as sink:
            print(stream.concat(stack.stream()).slice(0, 1).pump(sink), len(sink))
        with extmem.Runs("<QQ", "f0", combine=lambda total, more: total, ctx=ctx) as runs, runs.sink(more=True) as k:
            k.push([(1, 2), (1, 3)])
            runs.finish()
            some = runs.merge((0, 0), skip=1, take=5).sort_reduce(lambda total, more: total, "f0")
            print(list(some), runs.info()["records"], some.graph_info()["phases"])
        lines = extmem.Stream.lines("no-such-file", {"delimiter": 0}, ctx=ctx)
        lines = lines.filter(lambda some: [b"a" in x for x in some])
        with extmem.Sink.lines("out", ctx=ctx) as out:
            out.push(["a", b"b"])
            print(lines.sort("-k1,1n").pump(out), lines.map(lambda some: b"".join(x[:8] for x in some), "<Q").read())
        try:
            extmem.sort_file("no-such-file", "out", "-k1,1n")
        except extmem.NotFoundFailure as e:
            print(e.errno, e.status_name, e.path)

if __name__ == "__main__":
    main()
