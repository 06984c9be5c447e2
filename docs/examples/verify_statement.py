#!/usr/bin/env python3
"""Checks a holder's statement, of version 1 or 2, as `holderbook statement verify` does.

    python3 verify_statement.py mine.json --key 3Yk0... --root 5b1f... --entry kept.json

Exit codes: 0 it holds, 1 something does not, 2 wrong usage, 3 the entries given say nothing about its root.
Written from docs/reference/formats.md, "Statements"; the numbers of steps are those there.
"""
import argparse
import re
import sys

from holderbook import hashes
from holderbook.forms import (
    FORMS, Items, Refused, canonical, fault, members, one_of, parse_json, printable, refuse, stop_at,
)
from holderbook.hashes import is_signed, key_id
from holderbook.root_corrections import correction_text
from holderbook.sequence import Kept, Unusable, entry_hash, read_entries, signer

ROW = members(
    "holderId:amount? wallets balance:amount tokens:amount granted:amount unlocked:amount locked:amount share:share",
    wallets=Items(members("address:address balance:amount groupId:amount? isFrozen:flag"), 100_000),
)
STATEMENT_1 = members(
    "format version chainId:chain coinType:type decimals:byte? checkpoint:amount checkpointTimestamp:amount "
    "checkpointDigest:digest row path root:hash total:amount totalSupply:amount? keyId:key_id publicKey:public_key "
    "rootSignature:signature signature:signature",
    format=one_of("holderbook-statement"), version=one_of(1), row=ROW,
    path=Items(members("hash:hash sum:amount side", side=one_of("left", "right")), 64),
)
STATEMENT_2 = {
    **STATEMENT_1, "version": one_of(2), "checkpointTimestampMs": FORMS["amount"],
    "entry": members("number:amount previous:hash at:moment"),
}
MOST_VALUES = 100_000


def verify(statement, public_key=None, root=None):
    """Raises Refused with every fault of a statement from `parse_json`."""
    version = statement.get("version") if isinstance(statement, dict) else None
    wrong = fault(STATEMENT_2 if version == 2 else STATEMENT_1, statement)
    if wrong is not None:
        refuse(wrong)
    total, own = statement["total"], statement["publicKey"]
    failures = [*hashes.row_faults(statement["row"], int(total))]
    failures += [*_path_faults(statement), *_signature_faults(statement)]
    if statement["totalSupply"] not in (None, total):
        failures.append(f"the rows add up to {total}, but the treasury's supply is {statement['totalSupply']}")
    if version == 2 and int(statement["checkpointTimestampMs"]) // 1000 != int(statement["checkpointTimestamp"]):
        failures.append("the checkpoint's time in seconds is not that in milliseconds")
    if root not in (None, statement["root"]):
        failures.append(f"the root is {statement['root']}, not the {root} that was given")
    if public_key not in (None, own):
        failures.append(f"it is signed with the key {own}, not with {public_key}")
    stop_at([("", what) for what in failures])


def _path_faults(statement):
    """Step 2: from the row up the path to the root."""
    version, coin_type, checkpoint = statement["version"], statement["coinType"], statement["checkpoint"]
    node = hashes.leaf(version, coin_type, checkpoint, statement["row"], statement["decimals"])
    for step in statement["path"]:
        sibling = bytes.fromhex(step["hash"]), int(step["sum"])
        node = hashes.parent(sibling, node) if step["side"] == "left" else hashes.parent(node, sibling)
        if node[1] >= 2**128:
            yield "the sums of the path are larger than any total"
            return
    if node[0].hex() != statement["root"]:
        yield f"row and path lead to the root {node[0].hex()}, not to its own"
    if str(node[1]) != statement["total"]:
        yield f"row and path add up to {node[1]}, not to its total"


def root_body(statement):
    """What an entry of the sequence shows about the root."""
    names = ["chainId", "coinType", "checkpoint", "checkpointDigest", "root", "total"]
    body = {"version": str(statement["version"]), **{name: statement[name] for name in names}}
    if statement["version"] == 2:
        body["decimals"] = None if statement["decimals"] is None else str(statement["decimals"])
        body["checkpointTimestampMs"] = statement["checkpointTimestampMs"]
    return body


def root_entry(statement):
    """The signed entry of the sequence with the root of a version 2 statement."""
    return {**statement["entry"], "kind": "root", "body": root_body(statement)}


def _signature_faults(statement):
    """Steps 3 and 4."""
    version = statement["version"]
    if version == 1:
        signed_root = {**root_body(statement), "purpose": "holderbook-root-v1"}
        del signed_root["version"]
    else:
        signed_root = {**root_entry(statement), "purpose": "holderbook-sequence-v1"}
    rest = {name: value for name, value in statement.items() if name != "signature"}
    signed = {"purpose": f"holderbook-statement-v{version}", "digest": hashes.blake2b(canonical(rest)).hex()}
    for name, value in (("rootSignature", signed_root), ("signature", signed)):
        if not is_signed(statement[name], canonical(value), statement["publicKey"]):
            yield f"{name} does not fit the key"


def held_against(statement, entries, given=None):
    """Step 5: what kept entries show about root and signer, in words: the key, what is shown, and what is not.

    `given` is the deployment's known key. Raises Refused if the entries are false or contradict the statement.
    """
    own_key = statement["publicKey"]
    kept = Kept(entries, given or own_key)
    whose = signer(kept, given, own_key)
    if whose is None:
        refuse(f"it is signed with the key {own_key}, not with {given}, to which no entry leads")
    body = root_body(statement)
    says = _corrections(statement, body, kept.roots.of(body["coinType"], body["version"], body["checkpoint"]))
    is_corrected = bool(says)
    for entry in kept.shown:
        if entry["kind"] == "root" and all(
            entry["body"].get(name) == body[name] for name in ("version", "coinType", "checkpoint")
        ):
            if is_corrected and any(entry["body"][name] != body[name] for name in ("root", "total")):
                continue  # the former root, before its correction
            if entry["body"] != body:
                refuse(f"entry {entry['number']}, which was kept, names another root of the checkpoint")
            says.append(f"entry {entry['number']}, which was kept, names the same root; it is dated {entry['at']}")
    links, same = _links(statement, kept) if statement["version"] == 2 else ([], [])
    not_shown = [*kept.why] if given and whose == "itself" else []
    other = kept.roots.of(body["coinType"], "1" if body["version"] == "2" else "2", body["checkpoint"])
    if other is not None and not is_corrected:
        # Both versions are roots of one cap table.
        not_shown += [
            f"that the root of version {body['version']} holds, where only the other version's was corrected: {correction_text(one)}"
            for one in other["corrections"]
        ]
    since, by = kept.revoked.get(key_id(own_key), (None, None))
    if since is not None and statement["version"] == 1:
        not_shown.append(f"that it was signed before entry {since}, from which on entry {by} revokes its key")
    elif since is not None and int(statement["entry"]["number"]) >= since and not same and not links:
        refuse(f"it is signed with a key that entry {by}, which was kept, revokes from entry {since} on")
    if not says and not links:
        not_shown += ["no entry that was kept says anything of its root", *kept.why]
    return whose, says + links, not_shown


def _corrections(statement, body, said):
    """Corrections of its root. Raises Refused if the root does not hold any more, or did not hold at its entry."""
    if said is None or not said["corrections"]:
        return []
    value = {"root": body["root"], "total": body["total"]}
    last = correction_text(said["corrections"][-1])
    if said["value"] != value:
        refuse(f"{last}; the statement has the root {body['root']} with the total {body['total']}")
    if said["body"] not in (None, body):
        refuse(f"{last}; the statement has another time or digest of the checkpoint")
    if statement["version"] == 2:
        number = int(statement["entry"]["number"])
        then = said["corrections"][0][1]["from"]
        for entry, root, _ in said["corrections"]:
            then = root["to"] if int(entry["number"]) < number else then
        if then != value:
            refuse(f"{last}; the statement says that entry {number} named that root, when it did not hold")
    return [correction_text(one) for one in said["corrections"]]


def _links(statement, kept):
    """What the other entries show, and the kept entry with the statement's own number, if any."""
    own = {**root_entry(statement), "keyId": statement["keyId"], "signature": statement["rootSignature"]}
    number = int(own["number"])
    before, same, behind = ([one for one in kept.shown if int(one["number"]) == number + at] for at in (-1, 0, 1))
    if same and entry_hash(same[0]) != entry_hash(own):
        refuse(f"entry {number}, which was kept, is another one than the statement names")
    Kept([*before, own, *behind], statement["publicKey"])
    return [f"entry {one['number']}, which was kept, has the hash of entry {number}, its own" for one in behind], same


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Checks a statement.")
    parser.add_argument("file")
    parser.add_argument("--key", help="the deployment's public key, base64, as you know it from elsewhere")
    parser.add_argument("--root", help="the root it must have, 64 hex digits, as GET /roots shows it for its version")
    parser.add_argument("--entry", nargs="+", help="files with entries of the sequence that you kept")
    given = parser.parse_args(arguments)
    root = given.root and re.sub("^0x", "", given.root.lower())
    for name, form, value in (("--key", "public_key", given.key), ("--root", "hash", root)):
        if value is not None and (wrong := fault(FORMS[form], value, name)):
            parser.error(wrong)
    try:
        with open(given.file, "rb") as file:
            statement = parsed(file.read())
        # Entries may lead from the given key to another one.
        verify(statement, None if given.entry else given.key, root)
        whose, says, not_shown = ("itself" if given.key is None else "given"), [], []
        if given.entry:
            whose, says, not_shown = held_against(statement, read_entries(given.entry), given.key)
    except (Unusable, OSError) as error:
        parser.error(str(error))
    except Refused as refused:
        print(f"the statement does not hold: {refused}", file=sys.stderr)
        return 1
    lines = [*told(statement, whose, root), *says, *(f"not shown: {what}" for what in not_shown)]
    print("\n".join(printable(line, 2000) for line in lines))
    return 3 if not_shown else 0


def parsed(text):
    """Raises Refused for invalid JSON and for duplicate members, because a person may read the other one."""
    try:
        statement = parse_json(text)
    except ValueError as error:
        refuse(f"the file is not JSON: {error}")
    left, count = [statement], 0
    while left:
        value, count = left.pop(), count + 1
        left.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
    if count > MOST_VALUES:
        refuse(f"the file has more than {MOST_VALUES} values")
    return statement


def told(statement, whose, root):
    """What was shown, and what was not shown."""
    row = statement["row"]
    who = f"wallet {row['wallets'][0]['address']}" if row["holderId"] is None else f"holder {row['holderId']}"
    own = "the statement agrees with itself, but nothing shows whose it is"
    yield own if whose == "itself" and root is None else "the statement holds"
    yield (
        f"{who} has {row['balance']} of {statement['total']} units ({statement['decimals']} decimals) of "
        f"{statement['coinType']} at the end of checkpoint {statement['checkpoint']}"
    )
    yield "not checked: the treasury's supply, the time and the digest of the checkpoint; the ledger shows them"
    if root is None:
        yield f"not compared: whether others see the same root, {statement['root']}; GET /roots has it, for --root"
    if whose == "itself":
        yield f"not compared: whose key {statement['publicKey']} is; give the one that you know with --key"
    elif whose == "led to":
        yield f"it is signed with {statement['publicKey']}, to which the entries lead from the key given"


if __name__ == "__main__":
    sys.exit(main())
