#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Random CSV files through the command, against Python's csv module and sorted().

csv_cases.py EXTMEM SEED CASES DIRECTORY

A file is made record by record, so that the bytes of each are known.  What the csv module reads from it must be the fields
that were written, and what comes out must be the records in the order that sorted() gives them, each with its bytes.
"""
import csv
import io
import os
import random
import subprocess
import sys

MARK = b'\xef\xbb\xbf'
BYTES = ['a', 'b', 'Z', '0', '7', ' ', ',', ';', '"', '\n', '\r\n', '\r', '\t', 'ä', 'xyz']


def text(rng):
    return ''.join(rng.choice(BYTES) for _ in range(rng.randrange(rng.choice([1, 4, 9]))))


def spelled(rng, field, separator):
    """A field as a file may have it: in quotes where they are needed, and elsewhere sometimes."""
    special = any(c in field for c in (separator, '\n', '\r'))
    # A quote in the middle is a byte like others, if nothing else makes quotes necessary.
    bare = not special and field[:1] != '"'
    needed = special or '"' in field
    if (needed and not (bare and rng.random() < .5)) or rng.random() < .2:
        return '"' + field.replace('"', '""') + '"'
    return field


class File:
    """Fields and bytes of records, which begin with the header."""

    def __init__(self, rng, separator, width, records, header, ending, mark):
        self.rows = header + [[text(rng) for _ in range(width)] for _ in range(records)]
        self.raw = []
        for row in self.rows:
            raw = separator.join(spelled(rng, field, separator) for field in row)
            # A line without anything in it has no fields for the csv module.
            self.raw.append(((raw or '""') + ending + '\n').encode())
        if self.raw and mark:
            self.raw[0] = MARK + self.raw[0]

    def bytes(self, cut):
        data = b''.join(self.raw)
        return data[:-1] if cut else data


def read_csv(data, separator):
    """The fields of records, of which any may have been the first of a file, with a mark."""
    return list(csv.reader(io.StringIO(data.replace(MARK, b'').decode(), newline=''), delimiter=separator))


def key_bytes(raw, separator, field):
    """The bytes of a field, its quotes and a byte order mark included; the last one has the carriage return."""
    data, at, fields = raw[:-1], 0, []
    while True:
        end = len(MARK) if at == 0 and data.startswith(MARK) else at
        if data[end:end + 1] == b'"':
            end += 1
            while data[end:end + 1] != b'"' or data[end + 1:end + 2] == b'"':
                end += 2 if data[end:end + 1] == b'"' else 1
            end += 1
        while end < len(data) and data[end:end + 1] != separator.encode():
            end += 1
        fields.append(data[at:end])
        if end == len(data):
            return fields[field]
        at = end + 1


def run(args, stdin):
    p = subprocess.run(args, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert p.returncode == 0, (args, p.returncode, p.stderr)
    return p.stdout


def write_inputs(rng, inputs, directory):
    """Names of the files, of which one may be standard input, and what comes from there."""
    paths, stdin = [], b''
    taken = False
    for i, f in enumerate(inputs):
        path, data = os.path.join(directory, 'in%d' % i), f.bytes(rng.random() < .3)
        if not taken and rng.random() < .2:
            stdin, path, taken = data, '-', True
        else:
            with open(path, 'wb') as out:
                out.write(data)
        paths.append(path)
    return paths, stdin


def one_case(extmem, rng, directory):
    separator, ending = rng.choice([',', ',', ';', '\t']), rng.choice(['', '', '\r'])
    width, headers, files = rng.randrange(1, 5), rng.randrange(3), rng.randrange(1, 4)
    header = [[text(rng) for _ in range(width)] for _ in range(headers)]
    most = 3000 if rng.random() < .1 else 30
    inputs = [File(rng, separator, width, rng.randrange(most), header, ending, rng.random() < .3) for _ in range(files)]
    field, command = rng.randrange(width), rng.choice(['sort', 'sort', 'merge', 'unique', 'top', 'shuffle'])

    def key(raw):
        return key_bytes(raw, separator, field)

    for f in inputs:
        # Headers are spelled alike.
        f.raw[:headers] = inputs[0].raw[:headers]
        assert read_csv(b''.join(f.raw), separator) == f.rows, f.rows
        if command == 'merge':
            f.raw[headers:] = sorted(f.raw[headers:], key=key)
    paths, stdin = write_inputs(rng, inputs, directory)
    args = [extmem, command, '--csv', '-t', separator, '--no-config', '--header=%d' % headers]
    if command == 'shuffle':
        args += ['--seed=%d' % rng.randrange(1000)]
    else:
        args += ['-s', '-k', '%d,%d' % (field + 1, field + 1)]
        args += rng.choice([[], ['--parallel=1'], ['--parallel=2', '--run-size=%d' % rng.randrange(2, 50)]])
    args += ['-n', '7'] if command == 'top' else []
    got = run(args + paths, stdin)
    front = b''.join(inputs[0].raw[:headers])
    assert got.startswith(front), (args, got, front)
    got = got[len(front):]
    wanted = sorted((raw for f in inputs for raw in f.raw[headers:]), key=key)
    if command == 'unique':
        wanted = [r for i, r in enumerate(wanted) if i == 0 or key(wanted[i - 1]) != key(r)]
    elif command == 'top':
        wanted = wanted[:7]
    elif command == 'shuffle':
        # Any order, but records as a whole.
        assert sorted(read_csv(got, separator)) == sorted(row for f in inputs for row in f.rows[headers:]), (args, got)
        return
    assert got == b''.join(wanted), (args, got, wanted)


def main():
    extmem, seed, cases, directory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    for case in range(cases):
        try:
            one_case(extmem, random.Random('%d %d' % (seed, case)), directory)
        except (AssertionError, UnicodeDecodeError, csv.Error) as e:
            print('EXTMEM_TEST_SEED=%d, case %d: %s' % (seed, case, str(e)[:3000]), file=sys.stderr)
            return 1
    return 0


sys.exit(main())
