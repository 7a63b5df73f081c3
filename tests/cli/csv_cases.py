#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Random CSV files through the command, against Python's csv module and sorted().

csv_cases.py EXTMEM SEED CASES DIRECTORY

A file is made record by record, so that the bytes of each are known.  What the csv module reads from it must be the
fields that were written, and what comes out must be the records in the order that sorted() gives them, each with its
bytes.
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


def run(args, stdin, status=0):
    p = subprocess.run(args, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert p.returncode == status, (args, p.returncode, p.stderr)
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


class Case:
    """Files and options, by which there are one or two keys, each up or down."""

    def __init__(self, extmem, rng, directory):
        self.rng, self.directory = rng, directory
        self.separator, self.zero = rng.choice([',', ',', ';', '\t']), rng.random() < .2
        width, self.headers = rng.randrange(1, 5), rng.randrange(3)
        self.inputs = self.make_inputs(width, rng.choice(['', '', '\r']))
        self.fields = [(rng.randrange(width), rng.random() < .3) for _ in range(rng.choice([1, 1, 2]))]
        self.options = ['--csv', '-t', self.separator, '--header=%d' % self.headers]
        self.options += ['-z'] if self.zero else []
        self.extmem = extmem

    def make_inputs(self, width, ending):
        rng = self.rng
        header = [[text(rng) for _ in range(width)] for _ in range(self.headers)]
        most = 3000 if rng.random() < .1 else 30
        inputs = [File(rng, self.separator, width, rng.randrange(most), header, ending, rng.random() < .3)
                  for _ in range(rng.randrange(1, 4))]
        for f in inputs:
            # Headers are spelled alike.
            f.raw[:self.headers] = inputs[0].raw[:self.headers]
            assert read_csv(b''.join(f.raw), self.separator) == f.rows, f.rows
        for f in inputs if self.zero else []:
            f.raw = [raw[:-1] + b'\0' for raw in f.raw]
        return inputs

    def keys(self):
        args = ['-s']
        for field, down in self.fields:
            args += ['-k', '%d,%d%s' % (field + 1, field + 1, 'r' if down else '')]
        return args

    def key(self, raw):
        return [key_bytes(raw, self.separator, field) for field, _ in self.fields]

    def sorted(self, records):
        """From the last key to the first, as sorted() is stable, also in reverse."""
        for field, down in reversed(self.fields):
            records = sorted(records, key=lambda raw, f=field: key_bytes(raw, self.separator, f), reverse=down)
        return records

    def distinct(self, records):
        return [r for i, r in enumerate(records) if i == 0 or self.key(records[i - 1]) != self.key(r)]

    def data(self):
        return [raw for f in self.inputs for raw in f.raw[self.headers:]]

    def call(self, command, args, status=0):
        paths, stdin = write_inputs(self.rng, self.inputs, self.directory)
        args = args if command == 'check' else args + ['--no-config']
        return run([self.extmem, command] + self.options + args + paths, stdin, status)

    def expect(self, command, args, wanted):
        """What comes out is the header, and these records."""
        got = self.call(command, args)
        wanted = b''.join(self.inputs[0].raw[:self.headers] + wanted)
        assert got == wanted, (command, self.options, args, got, wanted)

    def memory(self):
        return self.rng.choice([[], ['--parallel=1'], ['--parallel=2', '--run-size=%d' % self.rng.randrange(2, 50)]])

    def sort(self):
        self.expect('sort', self.keys() + self.memory(), self.sorted(self.data()))

    def sort_unique(self):
        self.expect('sort', ['-u'] + self.keys() + self.memory(), self.distinct(self.sorted(self.data())))

    def unique(self):
        self.expect('unique', self.keys() + self.memory(), self.distinct(self.sorted(self.data())))

    def top(self):
        self.expect('top', self.keys() + self.memory() + ['-n', '7'], self.sorted(self.data())[:7])

    def merge(self):
        for f in self.inputs:
            f.raw[self.headers:] = self.sorted(f.raw[self.headers:])
        self.expect('merge', self.keys() + self.memory(), self.sorted(self.data()))

    def shuffle(self):
        """Any order, but records as a whole."""
        got = self.call('shuffle', ['--seed=%d' % self.rng.randrange(1000)])
        front = b''.join(self.inputs[0].raw[:self.headers])
        assert got.startswith(front), (self.options, got)
        got = got[len(front):]
        if not self.zero:
            rows = [row for f in self.inputs for row in f.rows[self.headers:]]
            assert sorted(read_csv(got, self.separator)) == sorted(rows), (self.options, got)
        else:
            assert sorted(got.split(b'\0')[:-1]) == sorted(raw[:-1] for raw in self.data()), (self.options, got)

    def check(self):
        """Of one file: in order, and, if two of it can be exchanged so that it is not, out of order."""
        f = self.inputs[0]
        self.inputs = [f]
        f.raw[self.headers:] = records = self.sorted(f.raw[self.headers:])
        command, args = self.rng.choice([('check', []), ('sort', ['-c']), ('sort', ['-C'])])
        self.call(command, args + self.keys())
        pairs = [i for i in range(len(records) - 1) if self.key(records[i]) != self.key(records[i + 1])]
        if pairs:
            at = self.headers + self.rng.choice(pairs)
            f.raw[at:at + 2] = [f.raw[at + 1], f.raw[at]]
            self.call(command, args + self.keys(), 1)


COMMANDS = [Case.sort, Case.sort, Case.sort_unique, Case.unique, Case.top, Case.merge, Case.shuffle, Case.check]


def main():
    extmem, seed, cases, directory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    for case in range(cases):
        try:
            rng = random.Random('%d %d' % (seed, case))
            rng.choice(COMMANDS)(Case(extmem, rng, directory))
        except (AssertionError, UnicodeDecodeError, csv.Error) as e:
            print('EXTMEM_TEST_SEED=%d, case %d: %s' % (seed, case, str(e)[:3000]), file=sys.stderr)
            return 1
    return 0


sys.exit(main())
