#!/usr/bin/env python3
"""Reads an archive of `holderbook archive export` with Python alone and the command zstd.

    python3 read_archive.py FOLDER [ROOT]

Checks the root, the hash of every chunk, and the chain of facts, recomputed from the facts; prints how many
facts of each type there are. Written from docs/reference/formats.md.
"""
import hashlib
import json
import os
import struct
import subprocess
import sys
from collections import Counter

from holderbook.forms import canonical

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# The columns of a fact in the order of its hash; `contents` is hashed as it is, the others as text.
TEXTS = {"type": 5, "name": 6, "coin_type": 7, "tx_digest": 8, "sender": 9, "object_id": 10}


def fields(message):
    """Fields of a protobuf message, as a list of values by number."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            at += value
            value = message[at - value : at]
        found.setdefault(tag >> 3, []).append(value)
    return found


def one(message, number, absent=None):
    return message.get(number, [absent])[-1]


def base58(digest):
    number, text = int.from_bytes(digest, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(digest) - len(digest.lstrip(b"\0"))) + text


def hashed(value):
    if value is None:
        return b"\xff" * 4
    value = value if isinstance(value, bytes) else str(value).encode()
    return struct.pack(">I", len(value)) + value


def order(fact):
    """Transaction, kind and index. A chunk tells written and removed objects apart, the hash does not."""
    return [one(fact, 2, 0), min(one(fact, 3, 0), 1), one(fact, 4, 0)]


def columns(fact, checkpoint, time):
    """A fact as the chain hashes it."""
    texts = {name: one(fact, number) for name, number in TEXTS.items()}
    for name in ("type", "name", "tx_digest", "sender"):
        texts[name] = texts[name] or b""
    numbers = [checkpoint, *order(fact), time]
    return b"".join(map(hashed, [*numbers, *texts.values(), one(fact, 11), one(fact, 12)]))


def chained(before, chunk):
    """The chain of facts after a chunk."""
    times, digests = one(chunk, 2, b""), one(chunk, 3, b"")
    runs = [(one(run, 1, 0), one(run, 2, 0)) for run in map(fields, chunk.get(8, []))]
    whole = [(one(chunk, 1, 0), len(times) // 8)]
    checkpoints = [first + at for first, count in runs or whole for at in range(count)]
    by_place = {}
    for fact in map(fields, chunk.get(4, [])):
        by_place.setdefault(one(fact, 1, 0), []).append(fact)
    for place in sorted(by_place):
        (time,) = struct.unpack_from(">Q", times, place * 8)
        facts = sorted(by_place[place], key=order)
        own = hashlib.sha256(b"".join(columns(fact, checkpoints[place], time) for fact in facts)).digest()
        digest = base58(digests[place * 32 : place * 32 + 32]).encode()
        before = hashlib.sha256(before + struct.pack(">QQ", checkpoints[place], time) + digest + own).digest()
    return before


def main(folder, known_root=None):
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    root = manifest.pop("root")
    if hashlib.sha256(canonical(manifest)).hexdigest() != root or known_root not in (None, root):
        sys.exit(f"the root is not that of the manifest: {root}")
    chain, types = bytes.fromhex(manifest["before"]["facts"]), Counter()
    for listed in manifest["files"]:
        path = os.path.join(folder, os.path.basename(listed["name"]))
        with open(path, "rb") as file:
            if hashlib.sha256(file.read()).hexdigest() != listed["sha256"]:
                sys.exit(f"{path}: another hash than in the manifest")
        chunk = fields(subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout)
        chain = chained(chain, chunk)
        if chain.hex() != listed["after"]["facts"]:
            sys.exit(f"{path}: its facts lead to {chain.hex()}, not to {listed['after']['facts']}")
        types.update(one(fields(fact), 6, b"").decode() for fact in chunk.get(4, []))
    print(f"{sum(types.values())} facts in {len(manifest['files'])} chunks lead to {chain.hex()}")
    for name, count in sorted(types.items()):
        print(f"{count:8}  {name}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
