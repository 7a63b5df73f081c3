#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Draw what `extmem bench io --csv` measured, and tell which buffer sizes were best.

    extmem bench io --n=10^4..10^6 --k=1,2,5,10 --block=2^6..2^20 --csv >io.csv
    bench/plot_io.py io.csv -o DIR

writes into DIR

    io-time-block-OP.svg   seconds against B, a line for each kind and N, with k as small as there is
    io-time-n-OP.svg       seconds against N, a line for each kind, with k as small as there is, B the best one
    io-time-k-OP.svg       seconds against k, a line for each kind, with N as large as there is for most k, B the
                           best one
    io-tables.md           the best buffer size for each N, and all fits

for reading and writing each, of elements of one size and one state of the cache; where there are several, --element and
--cache choose.  Seconds are medians, or what --time says: cpu is what a busy machine disturbs least.  Dashed lines are
least-squares fits, with their R^2:

    against B   t = a + b/B      a buffer of B bytes makes proportional to 1/B system calls
    against N   t = a + b*N
    against k   t = a + b*k, and for comparison the R^2 of t = a + b*k + c*k^2

Tables need Python alone.  Drawings need matplotlib; without it they are left out, which is said, and the exit status
is 3.
"""
import argparse
import csv
import math
import os
import sys
from collections import defaultdict

NEEDED = ("op", "kind", "n", "k", "block", "element", "cache", "median_s", "min_s", "cpu_s")
TIMES = {"median": "median seconds", "min": "least seconds", "cpu": "CPU seconds"}
BUFFERED = ("bufferb", "mapping")
# A buffer that is no more than this much slower than the best is as good.
AS_GOOD = 1.05


def fail(text):
    sys.exit("plot_io.py: " + text)


def read_rows(path, time):
    rows = []
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(line for line in file if not line.startswith("#"))
            missing = [name for name in NEEDED if name not in (reader.fieldnames or [])]
            if missing:
                fail(f"{path}: there is no column {missing[0]}")
            for line in reader:
                try:
                    rows.append({
                        "op": line["op"], "kind": line["kind"], "cache": line["cache"],
                        "n": int(line["n"]), "k": int(line["k"]), "element": int(line["element"]),
                        "block": int(line["block"]) if line["block"] else None,
                        "seconds": float(line[time + "_s"]),
                    })
                except (TypeError, ValueError) as wrong:
                    fail(f"{path}: line {reader.line_num}: {wrong}")
    except OSError as wrong:
        fail(f"{path}: {wrong.strerror}")
    return rows


def choose(rows, name, wanted):
    """Keep the rows with one value of a column; complain when it is not clear which."""
    values = sorted({row[name] for row in rows})
    if wanted is None:
        if len(values) > 1:
            fail(f"there are several values of {name}: choose with --{name}={values[0]} or another of "
                 + ", ".join(map(str, values)))
        return rows
    rows = [row for row in rows if row[name] == wanted]
    if not rows:
        fail(f"--{name}={wanted}: there is no such row")
    return rows


def solve(a, b):
    """Gauss' elimination with pivots; None when the equations are not independent."""
    n = len(b)
    m = [row[:] + [b[i]] for i, row in enumerate(a)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(m[r][i]))
        if abs(m[pivot][i]) < 1e-12:
            return None
        m[i], m[pivot] = m[pivot], m[i]
        for r in range(n):
            if r != i:
                factor = m[r][i] / m[i][i]
                m[r] = [x - factor * y for x, y in zip(m[r], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def fit(xs, ys, functions):
    """Least squares of sum(c_i * f_i(x)): the coefficients and R^2, or None with too few points to mean anything."""
    if len(set(xs)) <= len(functions):
        return None
    columns = [[f(x) for x in xs] for f in functions]
    # Each column is scaled to a largest value of 1, so that the equations are solved as well as they can be.
    scale = [max(abs(v) for v in column) or 1.0 for column in columns]
    columns = [[v / s for v in column] for column, s in zip(columns, scale)]
    a = [[sum(x * y for x, y in zip(p, q)) for q in columns] for p in columns]
    b = [sum(x * y for x, y in zip(p, ys)) for p in columns]
    c = solve(a, b)
    if c is None:
        return None
    mean = sum(ys) / len(ys)
    total = sum((y - mean) ** 2 for y in ys)
    rest = sum((y - sum(ci * p[i] for ci, p in zip(c, columns))) ** 2 for i, y in enumerate(ys))
    return [ci / s for ci, s in zip(c, scale)], 1 - rest / total if total > 0 else 1.0


def one(_x):
    return 1.0


def identity(x):
    return float(x)


def inverse(x):
    return 1.0 / x


def square(x):
    return float(x) * x


MODELS = {"block": ((one, inverse), "t = {:.3g} {:+.3g}/B"), "n": ((one, identity), "t = {:.3g} {:+.3g} N"),
          "k": ((one, identity), "t = {:.3g} {:+.3g} k")}
AXES = {"block": "B, bytes", "n": "N, elements of a stream", "k": "k, streams"}


def size_text(n):
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if n >= factor and n % factor == 0:
            return f"{n // factor}{unit}"
    return str(n)


def best_blocks(rows):
    """For (op, kind, n, k): the block with the least median, and its seconds.  Kinds without blocks have None."""
    best = {}
    for row in rows:
        key = (row["op"], row["kind"], row["n"], row["k"])
        if key not in best or row["seconds"] < best[key][1]:
            best[key] = (row["block"], row["seconds"])
    return best


def series_block(rows):
    """Lines of time against B, at the least k."""
    k = min(row["k"] for row in rows)
    lines = defaultdict(dict)
    for row in rows:
        if row["kind"] in BUFFERED and row["k"] == k:
            lines[f"{row['kind']}, N = {row['n']}"][row["block"]] = row["seconds"]
    return lines, f"k = {k}"


def series_best(best, op, along, fixed):
    """Lines of time against n or k, with the best block of each point; `fixed' is the other one."""
    lines = defaultdict(dict)
    for (o, kind, n, k), (_block, seconds) in best.items():
        x, other = (n, k) if along == "n" else (k, n)
        if o == op and other == fixed:
            lines[kind][x] = seconds
    return lines


def most_k(rows):
    """The N that was measured with most k; the largest of several."""
    ks = defaultdict(set)
    for row in rows:
        ks[row["n"]].add(row["k"])
    return max(ks, key=lambda n: (len(ks[n]), n))


def all_series(rows):
    """(op, axis, title, lines) of everything that has at least two points."""
    best = best_blocks(rows)
    for op in sorted({row["op"] for row in rows}):
        mine = [row for row in rows if row["op"] == op]
        k, n = min(row["k"] for row in mine), most_k(mine)
        lines, note = series_block(mine)
        for axis, drawn, title in (("block", lines, note),
                                   ("n", series_best(best, op, "n", k), f"k = {k}, the best B"),
                                   ("k", series_best(best, op, "k", n), f"N = {n}, the best B")):
            drawn = {name: points for name, points in drawn.items() if len(points) > 1}
            if drawn:
                yield op, axis, title, drawn


def fit_points(axis, points):
    xs = sorted(points)
    return fit(xs, [points[x] for x in xs], MODELS[axis][0])


def draw(plt, where, time, op, axis, title, lines):
    figure, axes = plt.subplots(figsize=(8, 5))
    for name in sorted(lines):
        points = lines[name]
        xs = sorted(points)
        (line,) = axes.plot(xs, [points[x] for x in xs], marker="o", markersize=3, label=name)
        fitted = fit_points(axis, points)
        if fitted is None:
            continue
        c, r2 = fitted
        fine = [xs[0] * (xs[-1] / xs[0]) ** (i / 99) for i in range(100)]
        model = [sum(ci * f(x) for ci, f in zip(c, MODELS[axis][0])) for x in fine]
        # A model that is negative somewhere cannot be drawn there on a logarithmic scale.
        axes.plot(fine, [y if y > 0 else math.nan for y in model], linestyle="--", linewidth=0.8,
                  color=line.get_color(),
                  label=MODELS[axis][1].format(*c) + f", R² = {r2:.4f}")
    axes.set_xscale("log", base=2 if axis == "block" else 10)
    axes.set_yscale("log")
    axes.set_xlabel(AXES[axis])
    axes.set_ylabel(TIMES[time])
    axes.set_title(f"{op}: {title}")
    axes.grid(True, linewidth=0.3)
    axes.legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(os.path.join(where, f"io-time-{axis}-{op}.svg"), metadata={"Date": None})
    plt.close(figure)


def table(file, heads, rows):
    file.write("| " + " | ".join(heads) + " |\n|" + " ---: |" * len(heads) + "\n")
    for row in rows:
        file.write("| " + " | ".join(row) + " |\n")
    file.write("\n")


def best_table(file, rows, op, kind):
    k = min(row["k"] for row in rows)
    times = defaultdict(dict)
    for row in rows:
        if row["op"] == op and row["kind"] == kind and row["k"] == k:
            times[row["n"]][row["block"]] = row["seconds"]
    if not any(len(blocks) > 1 for blocks in times.values()):
        return
    file.write(f"## Best buffer sizes: {op}, {kind}, k = {k}\n\n")
    lines = []
    for n in sorted(times):
        blocks = times[n]
        best = min(blocks, key=blocks.get)
        small = min(b for b in blocks if blocks[b] <= AS_GOOD * blocks[best])
        lines.append([str(n), size_text(best), f"{blocks[best]:.6f}", size_text(small), f"{blocks[small]:.6f}"])
    table(file, ["N", "best B", "seconds", f"least B within {AS_GOOD - 1:.0%}", "seconds"], lines)


def write_tables(path, rows, time):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# extmem bench io: elements of {rows[0]['element']} bytes, {rows[0]['cache']} cache, "
                   f"{TIMES[time]}\n\n")
        for kind in BUFFERED:
            for op in ("write", "read"):
                best_table(file, rows, op, kind)
        fits = []
        for op, axis, title, lines in all_series(rows):
            for name in sorted(lines):
                fitted = fit_points(axis, lines[name])
                if fitted is None:
                    continue
                xs = sorted(lines[name])
                curved = fit(xs, [lines[name][x] for x in xs], (one, identity, square)) if axis == "k" else None
                fits.append([op, name, title, MODELS[axis][1].format(*fitted[0]), f"{fitted[1]:.4f}",
                             f"{curved[1]:.4f}" if curved else ""])
        if fits:
            file.write("## Fits\n\n")
            table(file, ["op", "kind", "at", "fit", "R²", "R² with k²"], fits)


def load_matplotlib():
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "extmem"
    import matplotlib.pyplot as plt
    return plt


def main():
    parser = argparse.ArgumentParser(description="Draw what extmem bench io --csv measured.")
    parser.add_argument("csv", help="what it printed")
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="where the files go (default: here)")
    parser.add_argument("--element", type=int, metavar="R", help="rows with elements of R bytes")
    parser.add_argument("--cache", choices=("warm", "cold"), help="rows of that state of the cache")
    parser.add_argument("--time", choices=sorted(TIMES), default="median", help="which seconds (default: median)")
    parser.add_argument("--tables", action="store_true", help="no drawings")
    args = parser.parse_args()

    rows = read_rows(args.csv, args.time)
    if not rows:
        fail(f"{args.csv}: there are no rows")
    rows = choose(choose(rows, "element", args.element), "cache", args.cache)
    try:
        os.makedirs(args.output, exist_ok=True)
        write_tables(os.path.join(args.output, "io-tables.md"), rows, args.time)
    except OSError as wrong:
        fail(f"{wrong.filename}: {wrong.strerror}")
    if args.tables:
        return 0
    plt = load_matplotlib()
    if plt is None:
        print("plot_io.py: matplotlib is missing: the tables were written, but nothing was drawn", file=sys.stderr)
        return 3
    for op, axis, title, lines in all_series(rows):
        draw(plt, args.output, args.time, op, axis, title, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
