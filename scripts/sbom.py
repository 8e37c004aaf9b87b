#!/usr/bin/env python3
"""Prints what the command is made of as CycloneDX 1.5 JSON: every crate, with version, licence, checksum and what it uses.

    cargo tree -p warpld -e normal,build --target all --prefix none --locked >crates
    cargo metadata --format-version 1 --locked | scripts/sbom.py Cargo.lock crates

cargo metadata alone would list what only tests use: it joins the features that all crates ask for.
The same input gives the same bytes: the time is $SOURCE_DATE_EPOCH, and the serial number follows from the content.
Crates that only run at compile time (macros, build scripts) have the scope "excluded".
"""

import datetime
import json
import os
import re
import sys
import uuid


def checksums(lock):
    """The SHA-256 of each crate of the registry, by name and version."""
    found = {}
    for block in open(lock, encoding="utf-8").read().split("[[package]]"):
        fields = dict(re.findall(r'^(name|version|checksum) = "([^"]*)"$', block, re.M))
        if "checksum" in fields:
            found[fields["name"], fields["version"]] = fields["checksum"]
    return found


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def expression(licence):
    # Old manifests write a slash for OR.
    return licence.replace(" / ", " OR ").replace("/", " OR ")


def runs_at_compile_time(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])


def uses(nodes, identity, kinds):
    """What a crate uses, as a program (None) or while it is compiled ("build"); never for tests."""
    for dependency in nodes[identity]["deps"]:
        if any(kind["kind"] in kinds for kind in dependency["dep_kinds"]):
            yield dependency["pkg"]


def used_crates(path):
    """The lines of cargo tree: name, version."""
    lines = (line.split() for line in open(path, encoding="utf-8"))
    return {(words[0], words[1].removeprefix("v")) for words in lines if len(words) > 1}


def reached(nodes, packages, start):
    """All crates that are needed, with whether they are part of the program."""
    shipped, others, waiting = {start}, set(), [start]
    while waiting:
        for other in uses(nodes, waiting.pop(), (None,)):
            if other in packages and other not in shipped and not runs_at_compile_time(packages[other]):
                shipped.add(other)
                waiting.append(other)
    waiting = list(shipped)
    while waiting:
        for other in uses(nodes, waiting.pop(), (None, "build")):
            if other in packages and other not in shipped | others:
                others.add(other)
                waiting.append(other)
    return {identity: identity in shipped for identity in shipped | others}


def component(package, kind, sums):
    entry = {"type": kind, "bom-ref": purl(package), "name": package["name"], "version": package["version"]}
    if package.get("description"):
        entry["description"] = " ".join(package["description"].split())
    if (package["name"], package["version"]) in sums:
        entry["hashes"] = [{"alg": "SHA-256", "content": sums[package["name"], package["version"]]}]
    entry["licenses"] = [{"expression": expression(package["license"])}]
    entry["purl"] = purl(package)
    if package.get("repository"):
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def main():
    metadata = json.load(sys.stdin)
    sums = checksums(sys.argv[1])
    used = used_crates(sys.argv[2])
    packages = {p["id"]: p for p in metadata["packages"] if (p["name"], p["version"]) in used}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    start = next(i for i in metadata["workspace_members"] if i in packages and packages[i]["name"] == "warpld")
    needed = reached(nodes, packages, start)
    order = sorted(needed, key=lambda i: (packages[i]["name"], packages[i]["version"]))
    components = []
    for identity in order:
        if identity != start:
            entry = component(packages[identity], "library", sums)
            entry["scope"] = "required" if needed[identity] else "excluded"
            components.append(entry)
    dependencies = []
    for identity in order:
        edges = {purl(packages[other]) for other in uses(nodes, identity, (None, "build")) if other in needed}
        dependencies.append({"ref": purl(packages[identity]), "dependsOn": sorted(edges)})
    time = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(packages[start], "application", sums),
        },
        "components": components,
        "dependencies": dependencies,
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))
    json.dump({**bill, "serialNumber": f"urn:uuid:{serial}"}, sys.stdout, indent=1)
    print()


main()
