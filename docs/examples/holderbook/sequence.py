"""Entries of a deployment's signed sequence (GET /sequence) that somebody kept: what --entry reads."""
import hashlib
import os
import stat

from .forms import (
    AMOUNT, CHAIN_ID, HASH, KEY_ID, MOMENT, PUBLIC_KEY, SIGNATURE, TYPE, Refused, canonical, fault, null_or, one_of,
    parse_json,
)
from .hashes import is_signed, key_id

MOST_BYTES = 64 * 2**20


class Unusable(Exception):
    """Wrong usage: a file that cannot be read, or that has something else."""


KINDS = one_of("root", "head", "coin", "blocks", "inputs", "key", "correction", "act")
SIGNED = ("number", "previous", "kind", "body", "at")
ENTRY = {
    "number": AMOUNT, "previous": HASH, "kind": KINDS, "body": ((lambda value: isinstance(value, dict)), "an object"),
    "at": MOMENT, "keyId": KEY_ID, "signature": SIGNATURE,
}
# Members of bodies that have one form whatever the kind, and what each kind cannot do without.
IN_BODIES = {
    "act": AMOUNT, "chainId": null_or(CHAIN_ID), "coinType": TYPE, "checkpoint": AMOUNT,
    "checkpointTimestampMs": AMOUNT, "decimals": null_or(AMOUNT), "facts": AMOUNT, "hash": HASH, "keyId": KEY_ID,
    "publicKey": PUBLIC_KEY, "root": HASH, "sha256": HASH, "total": AMOUNT,
}
NEEDED = {
    "root": ("chainId", "coinType", "checkpoint", "root", "total"),
    "head": ("chainId", "checkpoint", "hash"),
    "coin": ("chainId", "coinType", "checkpoint", "facts", "hash"),
    "key": ("keyId", "publicKey"),
    "act": ("act", "sha256"),
}


def read_entries(paths):
    """Entries of files: pages of GET /sequence, lists, or one entry a line. The lowest number first, each once."""
    kept = {}
    for path in paths:
        for at, entry in enumerate(_values(path), 1):
            if not isinstance(entry, dict) or any(name not in entry for name in SIGNED):
                raise Unusable(f"{path}: number {at} is no entry of the sequence")
            check_form(entry)
            number = int(entry["number"])
            if number in kept and entry_hash(kept[number]) != entry_hash(entry):
                raise Refused([("", f"entry {number} was kept twice, and the two differ")], "complete")
            kept[number] = entry
    return [kept[number] for number in sorted(kept)]


def _values(path):
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
            raise Unusable(f"{path}: is no file of at most {MOST_BYTES} bytes")
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")
        try:
            values = [parse_json(text)]
        except ValueError:
            values = [parse_json(line) for line in text.split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        raise Unusable(f"{path}: {error}") from None
    parts = [part for value in values for part in _parts(value)]
    if not parts:
        raise Unusable(f"{path}: is empty")
    return parts


def _parts(value):
    if isinstance(value, dict) and isinstance(value.get("entries"), list):
        return value["entries"]
    return value if isinstance(value, list) else [value]


def check_form(entry):
    """Raises Refused for an entry that has not the form of one."""
    wrong = fault(ENTRY, entry) or _body_fault(entry["kind"], entry["body"])
    if wrong is not None:
        raise Refused([("", f"an entry that was kept: {wrong}")], "complete")


def _body_fault(kind, body):
    for name in body:
        wrong = fault(IN_BODIES[name], body[name], f"body.{name}") if name in IN_BODIES else None
        if wrong is not None:
            return wrong
    for name in NEEDED.get(kind, ()):
        if name not in body:
            return f"body.{name} is missing"
    try:
        canonical(body)
    except ValueError as error:
        return f"body has no canonical form: {error}"
    return None


def entry_hash(entry):
    """What the entry behind names as `previous`."""
    return hashlib.sha256(canonical({name: entry[name] for name in SIGNED})).hexdigest()


def verified(entries, public_key, only=False):
    """Entries that are shown to be of this key, and those of which it is not shown; with `only` these are false.

    A `key` entry names the key that signs from the next one on. An entry of another key is shown where the hash in
    the one behind leads back to it.
    """
    key, before, signed = public_key, None, []
    for entry in entries:
        number = int(entry["number"])
        if before is not None and number <= int(before["number"]):
            _false(entry, f"comes behind entry {before['number']}: each must come once, the lowest first")
        follows = before is not None and number == int(before["number"]) + 1
        if follows and entry["previous"] != entry_hash(before):
            _false(entry, "does not have the hash of the one before")
        if number == 0 and entry["previous"] != "0" * 64:
            _false(entry, "is the first and names one before")
        text = canonical({"purpose": "holderbook-sequence-v1", **{name: entry[name] for name in SIGNED}})
        is_known = is_signed(entry["signature"], text, key)
        if not is_known and (only or entry["keyId"] == key_id(key)):
            _false(entry, f"is not signed with the key {key}")
        if is_known and number == 0 and (entry["kind"] != "key" or entry["body"]["publicKey"] != key):
            _false(entry, "does not name the key that signed it")
        if is_known and entry["kind"] == "key":
            key = entry["body"]["publicKey"]
        signed.append((entry, is_known, follows))
        before = entry
    shown, not_shown, is_named = [], [], False
    for entry, is_known, follows in reversed(signed):
        (shown if is_known or is_named else not_shown).insert(0, entry)
        is_named = (is_known or is_named) and follows
    _agree(shown)
    return shown, not_shown


def _agree(entries):
    """Times never fall, and no two entries say different things of the same."""
    said, before = {}, None
    for entry in entries:
        kind, body = entry["kind"], entry["body"]
        if before is not None and entry["at"] < before["at"]:
            _false(entry, f"is dated {entry['at']}, before entry {before['number']}")
        before = entry
        if kind == "correction":  # from here on entries are about the log as it was read anew
            said = {of: known for of, known in said.items() if of[0] in ("root", "act")}
        if kind not in ("root", "head", "coin", "act"):
            continue
        about = f"act {body['act']}" if kind == "act" else f"checkpoint {body['checkpoint']}"
        of = kind, body.get("coinType"), about, canonical(body.get("version"))
        saying = canonical({name: value for name, value in body.items() if name != "chainId"})
        if said.setdefault(of, (saying, entry["number"]))[0] != saying:
            _false(entry, f"says something else of {about} than entry {said[of][1]}")


def _false(entry, what):
    raise Refused([("", f"entry {entry['number']}, which was kept, {what}")], "complete")
