# SPDX-License-Identifier: BSL-1.0
"""The program in Python of bench/bindings; see there, and through.c.

    through.py sorter N MEMORY DIRECTORY
    through.py more DIRECTORY       what only Python has: a queue beside ctypes, and how long importing takes
"""
import array
import ctypes
import os
import statistics
import subprocess
import sys
import time

EACH = 131072


def sorter(n, memory, directory):
    import extmem
    state, numbers = 1, array.array("Q", bytes(8 * EACH))
    for i in range(EACH):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        numbers[i] = state
    # Making these takes time that a program in C does not need.
    before, back, last = time.process_time(), 0, 0
    with extmem.Context(memory=memory, dirs=[directory]) as ctx, extmem.Sorter("Q", ctx=ctx) as s:
        for i in range(n // EACH):
            numbers[i % EACH] = i
            s.push(numbers)
        for batch in s.batches():
            last = batch[-1]
            back += len(batch)
            del batch
    print(f"n={back} check={last} cpu={time.process_time() - before:.3f}")


def each(fn, n):
    """Nanoseconds of one of n."""
    begin = time.perf_counter_ns()
    fn()
    return (time.perf_counter_ns() - begin) / n


def by_ctypes(lib, n):
    """The same calls by ctypes, which knows the types of arguments."""
    lib = ctypes.CDLL(lib)
    u64, pointer = ctypes.c_uint64, ctypes.c_void_p
    ctx, order, queue = pointer(), pointer(), pointer()
    lib.em_ctx_open.argtypes = [pointer, pointer]
    lib.em_order_parse.argtypes = [pointer, pointer, u64, ctypes.c_char_p, pointer]
    lib.em_pq_open.argtypes = [pointer, pointer, pointer]
    opts = ctypes.create_string_buffer(256)
    lib.em_pq_opts_init.argtypes = [pointer, ctypes.c_size_t]
    lib.em_pq_opts_init(opts, 256)
    assert lib.em_ctx_open(ctypes.byref(ctx), None) == 0
    assert lib.em_order_parse(ctypes.byref(order), ctx, 8, b"u64@0", None) == 0
    ctypes.memmove(ctypes.addressof(opts) + int(os.environ["EM_PQ_ORDER"]), ctypes.byref(order), 8)
    assert lib.em_pq_open(ctypes.byref(queue), ctx, opts) == 0
    lib.em_pq_push.argtypes = lib.em_pq_pop.argtypes = [pointer, ctypes.POINTER(u64)]
    push, pop, record = lib.em_pq_push, lib.em_pq_pop, u64()
    to = ctypes.byref(record)

    def both():
        for i in range(n):
            record.value = i
            push(queue, to)
        for _ in range(n):
            pop(queue, to)
            record.value
    return each(both, n)


def more(directory, n=1 << 20, rounds=5):
    import extmem
    with extmem.Context(memory=256 << 20, dirs=[directory]) as ctx:
        times = {"pq": [], "many": [], "ctypes": []}
        many = array.array("Q", range(n))
        for _ in range(rounds):
            q = extmem.PriorityQueue("Q", ctx=ctx)

            def single():
                push, pop = q.push, q.pop
                for i in range(n):
                    push(i)
                for _ in range(n):
                    pop()

            def bulk():
                q.extend(many)
                q.pop_many(n)
            times["pq"].append(each(single, n))
            times["many"].append(each(bulk, n))
            q.close()
            if os.environ.get("EM_LIBRARY"):
                times["ctypes"].append(by_ctypes(os.environ["EM_LIBRARY"], n))
    # Bytecode is kept, as it is where nobody says otherwise.
    imports, env = [], {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(7):
        lines = subprocess.run([sys.executable, "-X", "importtime", "-c", "import extmem"], capture_output=True,
                               text=True, check=True, env=env).stderr.splitlines()
        imports.append(int(lines[-1].split("|")[1]) / 1000)
    print(" ".join(f"{name}={statistics.median(some):.0f}ns" for name, some in times.items() if some),
          f"import={statistics.median(imports):.1f}ms")


if sys.argv[1:2] == ["sorter"] and len(sys.argv) == 5:
    sorter(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
elif sys.argv[1:2] == ["more"] and len(sys.argv) == 3:
    more(sys.argv[2])
else:
    sys.exit(__doc__)
