#!/usr/bin/env python3
"""Instructions of cubins with the registers that they write and read, as `nvdisasm -plr` marks them.

usage: listing.py NVDISASM FILE.cubin ... > listing.txt
One line for each different instruction: code without control bits, name, registers written, registers read.
With --sample first: one line for each form of an operation, as in listing.txt.
"""
import re
import struct
import subprocess
import sys

CONTROL = 105  # first bit of the control fields
FILES = {'GPR': 'R', 'PRED': 'P', 'UGPR': 'UR', 'UPRED': 'UP'}


def texts(data):
    """name and bytes of each section of code"""
    headers, = struct.unpack_from('<Q', data, 0x28)
    count, strings = struct.unpack_from('<HH', data, 0x3c)
    rows = [struct.unpack_from('<IIQQQQIIQQ', data, headers + 64 * i) for i in range(count)]
    base = rows[strings][4]
    for row in rows:
        name = data[base + row[0]:data.index(b'\0', base + row[0])].decode()
        if name.startswith('.text.') and row[1] == 1:
            yield name[6:], data[row[4]:row[4] + row[5]]


def columns(heads, marks):
    """position and name of each register's column"""
    bars = [i for i, c in enumerate(marks) if c == '|']
    for head, start, end in zip(heads, bars, bars[1:]):
        for m in re.finditer(r'\d+', marks[start:end]):
            yield start + m.end() - 1, FILES.get(head, head) + m.group(0)


def instructions(path, nvdisasm):
    code = dict(texts(open(path, 'rb').read()))
    listing = subprocess.run([nvdisasm, '-c', '-plr', path], capture_output=True, text=True).stdout
    current, heads, cols = None, [], []
    for line in listing.splitlines():
        m = re.match(r'\s*\.section\s+\.text\.([^,\s]+)|^//-+\s+\.text\.(\S+)', line)
        if m:
            current, cols = code.get(m.group(1) or m.group(2)), []
        if current is None:
            continue
        body, _, marks = line.rpartition('// ')
        if marks.startswith('|') and '/*' not in body:
            if re.search(r'\bU?(GPR|PRED)\b', marks):
                heads = [head.strip() for head in marks.strip('|').split('|')]
            elif re.search(r'\|\s*#( +\d+)+', marks):
                cols = list(columns(heads, marks))
        m = re.match(r'\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([\w.]+)', body)
        if m:
            at = int(m.group(1), 16)
            word = int.from_bytes(current[at:at + 16], 'little') & ((1 << CONTROL) - 1)
            mark = lambda kinds: sorted(r for i, r in cols if marks[i:i + 1] and marks[i:i + 1] in kinds)
            yield word, m.group(2), mark('^x'), mark('vx')


def main(arguments):
    sample = arguments[0] == '--sample'
    nvdisasm, *paths = arguments[sample:]
    seen, rows = set(), []
    for path in paths:
        for word, name, writes, reads in instructions(path, nvdisasm):
            form = (word & 0xfff, name, len(writes), len(reads)) if sample else word
            # calls have the registers of what they call
            if form not in seen and name.split('.')[0] not in ('CALL', 'RET'):
                seen.add(form)
                rows.append((word & 0x1ff, word & 0xfff, word, name.split('.')[0], writes, reads))
    for _, _, word, name, writes, reads in sorted(rows):
        print(f'{word:027x}', name, ','.join(writes) or '-', ','.join(reads) or '-')


main(sys.argv[1:])
