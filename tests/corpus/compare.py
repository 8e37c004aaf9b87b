#!/usr/bin/env python3
"""Compares `warpld dump --json` with what `cuobjdump -elf` printed (FILE.cuobjdump) for each file
of a list: section tables, symbols, relocations, attribute names and values.

    compare.py WARPLD LIST
"""
import collections
import json
import multiprocessing
import os
import re
import subprocess
import sys

# cuobjdump names the Mercury twins like their originals.
SAME_TYPE = {"CUDA_MERCURY_RELA": "RELA", "CUDA_MERCURY_INFO": "CUDA_INFO", "CUDA_MERCURY_SYMTAB": "SYMTAB"}


def numbers(text):
    return [int(n, 16) for n in re.findall(r"0x[0-9a-f]+", text)]


class Listing:
    """What cuobjdump printed."""

    def __init__(self, text):
        self.sections, self.symbols = [], []
        self.attributes, self.relocations = {}, {}
        self.header = self.identity(text)
        part = None
        for line in text.split("\n"):
            if line.startswith("Sections:"):
                part = self.section
            elif line.startswith(".section .symtab"):
                part = self.symbol
            elif line.startswith(".nv.info") or line.startswith(".nv.compat"):
                self.records = self.attributes.setdefault(line.strip(), [])
                part = self.attribute
            elif m := re.match(r"\.section (\S+)\s+(RELA?)$", line):
                self.entries = self.relocations.setdefault(m[1], [])
                part = self.relocation
            elif line.startswith("."):
                part = None
            elif part and line.strip():
                part(line)

    @staticmethod
    def identity(text):
        if m := re.search(r"type=ET_(\w+), ABI=(\d+), sm=(\w+), toolkit=(\S+), flags=(\S+)", text):
            return m.groups()
        # Files of the old ABI have another line.
        m = re.search(r"type=(\d+), abi=(\d+), sm=(\w+), toolkit=(\d+), flags = (\S+)", text)
        kind = {"1": "REL", "2": "EXEC"}.get(m[1], m[1])
        return (kind, m[2], m[3], f"{int(m[4]) // 10}.{int(m[4]) % 10}", m[5])

    def section(self, line):
        m = re.match(
            r" *([0-9a-f]+) +([0-9a-f]+) +([0-9a-f]+) +([0-9a-f]+) +([0-9a-f]+) +(\S.*?) +([0-9a-f]+) +([0-9a-f]+) +([0-9a-f]+) (.*)$",
            line,
        )
        if m:
            offsets = [int(n, 16) for n in m.groups()[:5]]
            tail = [int(n, 16) for n in m.groups()[6:9]]
            self.sections.append((*offsets, m[6], *tail, m[10]))

    def symbol(self, line):
        fields = line.split()
        if fields and re.match(r"(0x)?[0-9a-f]+$", fields[0]):
            name = fields[6] if len(fields) > 6 else ""
            self.symbols.append((*(int(n, 16) for n in fields[:6]), "" if name == "(null)" else name))

    def attribute(self, line):
        line = line.strip()
        if line.startswith("Attribute:"):
            self.records.append({"name": line.split("\t")[1], "text": []})
        elif line.startswith("Format:"):
            self.records[-1]["format"] = line.split("\t")[1]
        elif not line.startswith("<0x") and self.records:
            self.records[-1]["text"].append(line)

    def relocation(self, line):
        # A relocation against symbol 0 has no name.
        m = re.match(r"(0x[0-9a-f]+)\s+(?:(\S+)\s+)??(R_\w+)(?:\s+(0x[0-9a-f]+))?\s*$", line)
        if m:
            addend = int(m[4], 16) if m[4] else None
            self.entries.append((int(m[1], 16), m[2] or "", m[3], addend))


def value_agrees(listed, ours):
    text = " ".join(listed["text"]).removeprefix("Value:").strip()
    name = ours["name"]
    words = ours.get("words", [])
    if ours["format"] == "NVAL":
        return text in ("", "0x0")
    if name in ("MERCURY_ISA_VERSION", "MERCURY_ISA_MAJOR_MINOR_VERSION"):
        return text == f"{ours['value'] >> 8}.{ours['value'] & 255}"
    if name == "SPARSE_MMA_MASK" and "Used Sparse Variants" in text:
        return ours["value"] != 0
    if ours["format"] in ("BVAL", "HVAL"):
        return numbers(text) == [ours["value"]]
    if name == "REGCOUNT":
        m = re.search(r"function: (.*)\((0x[0-9a-f]+)\)\s+register count: (\d+)", text)
        return m and words == [int(m[2], 16), int(m[3])] and m[1] == ours["symbols"][0]["name"]
    if name in ("FRAME_SIZE", "MIN_STACK_SIZE"):
        m = re.search(r"function: (.*)\((0x[0-9a-f]+)\)\s+(?:min stack|frame) size: (0x[0-9a-f]+)", text)
        return m and words == [int(m[2], 16), int(m[3], 16)] and m[1] == ours["symbols"][0]["name"]
    if name == "EXTERNS":
        listed_names = re.findall(r"([^\s(]+)\((0x[0-9a-f]+)\)", text)
        return [(n, int(i, 16)) for n, i in listed_names] == [(s["name"], s["symbol"]) for s in ours["symbols"]]
    if name == "KPARAM_INFO":
        p = ours["parameter"]
        mine = [words[0], p["ordinal"], p["offset"], p["size"], p["log2_alignment"], p["space"], p["bank"]]
        return numbers(text) == mine
    if name == "INDIRECT_BRANCH_TARGETS":
        mine, rest = [], words
        while rest:
            count = rest[2]
            mine += [rest[0], *rest[3 : 3 + count]]
            rest = rest[3 + count :]
        return numbers(text) == mine
    return numbers(text) == words


def compare(listing, ours):
    """Counts and the differences."""
    counts, wrong = collections.Counter(), []

    def check(what, listed, mine):
        counts[what] += 1
        if listed != mine:
            wrong.append(f"{what}: cuobjdump {listed!r}, warpld {mine!r}")

    identity = ours["identity"]
    arch = identity["arch"].removeprefix("sm_")
    mine = (identity["type"], str(identity["abi"]), arch, identity["toolkit"], hex(identity["flags"]))
    check("header", listing.header, mine)

    mine = [
        (s["index"], s["offset"], s["size"], s["entry_size"], s["align"], SAME_TYPE.get(s["type"], s["type"]))
        + (s["flags"], s["link"], s["info"], s["name"])
        for s in ours["sections"][1:]
    ]
    check("section count", len(listing.sections), len(mine))
    for pair in zip(listing.sections, mine):
        check("section", *pair)

    mine = [
        (s["index"], s["value"], s["size"], s["info"], s["other"], s["section"], s["name"]) for s in ours["symbols"]
    ]
    check("symbol count", len(listing.symbols), len(mine))
    for pair in zip(listing.symbols, mine):
        check("symbol", *pair)

    names = {s["index"]: s["name"] for s in ours["sections"]}
    groups = [(names[g["section"]], g["records"], "EIATTR_") for g in ours["attributes"] if not g["mercury"]]
    groups += [(names[g["section"]], g["records"], "EICOMPAT_ATTR_") for g in ours["compat"]]
    check("attribute sections", sorted(listing.attributes), sorted(g[0] for g in groups if g[1]))
    for section, records, prefix in groups:
        listed = listing.attributes.get(section, [])
        check("attribute count", len(listed), len(records))
        for theirs, mine in zip(listed, records):
            check("attribute", (theirs["name"], theirs["format"]), (prefix + mine["name"], "EIFMT_" + mine["format"]))
            if not value_agrees(theirs, mine):
                wrong.append(f"value in {section}: cuobjdump {theirs!r}, warpld {mine!r}")

    for group in ours["relocations"]:
        section = names[group["section"]]
        if section not in listing.relocations:
            continue
        mine = [(e["offset"], e["name"], e["type"]) for e in group["entries"]]
        listed = listing.relocations[section]
        check("relocation count", len(listed), len(mine))
        for theirs, entry, ours_entry in zip(listed, mine, group["entries"]):
            check("relocation", theirs[:3], entry)
            addend = ours_entry["addend"]
            if theirs[3] is not None and addend is not None and theirs[3] != addend & (2**64 - 1):
                check("addend", theirs[3], addend)
    return counts, wrong


def one_batch(job):
    warpld, paths = job
    run = subprocess.run([warpld, "dump", "--json", *paths], capture_output=True)
    results = []
    if run.returncode != 0:
        return [(paths[0], collections.Counter(), [run.stderr.decode()])]
    for path, ours in zip(paths, json.loads(run.stdout)["files"]):
        with open(path + ".cuobjdump", errors="replace") as listing:
            results.append((path, *compare(Listing(listing.read()), ours)))
    return results


def main():
    warpld, listed = sys.argv[1:3]
    with open(listed) as lines:
        paths = lines.read().split()
    without = [p for p in paths if not os.path.exists(p + ".cuobjdump")]
    paths = [p for p in paths if os.path.exists(p + ".cuobjdump")]
    batches = [(warpld, paths[i : i + 25]) for i in range(0, len(paths), 25)]
    total, files, bad = collections.Counter(), 0, 0
    with multiprocessing.Pool(int(os.environ.get("JOBS", 2))) as pool:
        for results in pool.imap(one_batch, batches):
            for path, counts, wrong in results:
                files += 1
                total += counts
                if wrong:
                    bad += 1
                    print(f"{path}: {len(wrong)} differences, first: {wrong[0]}")
    print(
        f"dump --json against cuobjdump -elf: {files - bad} of {files} files agree "
        f"({total['section']} sections, {total['symbol']} symbols, {total['attribute']} attributes, "
        f"{total['relocation']} relocations); {len(without)} files that cuobjdump cannot read"
    )
    sys.exit(1 if bad or not files or len(without) * 20 > files else 0)


if __name__ == "__main__":
    main()
