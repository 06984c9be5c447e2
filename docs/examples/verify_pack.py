#!/usr/bin/env python3
"""Checks an audit pack, a folder or a zip of one, of version 1 to 4.

    python3 verify_pack.py acme-2026-h1 --key 3Yk0... --require authentic

Written from docs/reference/formats.md, "To verify a pack": steps 1 to 7, and step 14 for version 4. They show who signed
the pack, that its tables agree with each other, and what the facts of a pack with a certificate say about missing
ones. Signatures of validators, the tables' making and the report are left to `holderbook audit-pack verify`. So
`consistent` and `complete` are never shown here.

Exit codes are those of that command: 0 what is required holds, 1 something is false, 2 wrong usage, 3 nothing is
false, but something required is not shown. As there, `consistent` is required unless --require says otherwise.
"""
import argparse
import os
import sys
import zipfile
import zlib

from holderbook import root_corrections
from holderbook.certificate import certificate_in
from holderbook.chains import shown
from holderbook.forms import FORMS, Refused, fault, refuse
from holderbook.hashes import key_id
from holderbook.pack_files import check_committee, check_files, open_pack, signed_manifest
from holderbook.pack_tables import Register, act_hash, check_lines
from holderbook.sequence import Kept, Unusable, read_entries, signer

TIERS = {
    "authentic": "signed by this key, over these bytes",
    "consistent": "tables, movements and report follow from the facts",
    "complete": "nothing of the range is missing",
}
NOT_CHECKED = [
    "signatures of validators: not checked, for they are BLS12-381. `holderbook audit-pack verify` verifies them",
    "that tables, movements, events and report follow from transactions that the validators signed: not checked. "
    "The same command folds the facts",
    "which validators stand at the beginning: compare `trust` with what you know from elsewhere",
]
INCOMPLETE = (
    "that no transaction, object, role, group or freeze is left out: not checked. "
    "`holderbook audit-pack verify` does, with --source or --entry"
)


def verify(path, public_key=None, entries=None):
    """The manifest, and for each tier the proof and the gaps. Raises Refused if something is false."""
    try:
        files = open_pack(path)
        # Entries may lead from the given key to another one.
        manifest = signed_manifest(files, None if entries else public_key)
        check_files(files, manifest["files"])
        check_committee(files)
        certificate = certificate_in(files, manifest) if manifest["version"] == 4 else None
        first, last = (Register(files, name, manifest) for name in ("first", "last"))
        counts, acts = check_lines(files, manifest, first, last)
        chains, unproven = shown(files, manifest, certificate, last) if certificate else ([], [INCOMPLETE])
        kept = Kept(entries, public_key or manifest["publicKey"]) if entries else None
        by, others = held_against(manifest, (first, last), acts, kept) if entries else ([], [])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        if not os.path.isfile(path):
            raise
        refuse(f"cannot be unpacked: {error}", os.path.basename(path))
    agree = [
        f"the registers' {len(first.leaves)} and {len(last.leaves)} rows add up, give the signed roots, and come to "
        "the supply in their heads",
        f"{counts.get('movements.ndjson', 0)} movements account for every change of every wallet between the two, and "
        f"{counts.get('holder-events.ndjson', 0)} events for its holder, group and freeze",
    ]
    left, missing = [*NOT_CHECKED], [*unproven, *others]
    if acts is not None:
        left += [root_corrections.act_text(act) for act in acts.values() if root_corrections.is_correction(act)]
        left.append(f"that the {len(acts)} acts were done as acts.ndjson says: no fact shows an act")
        missing.append("that acts.ndjson has every act on the token and on the whole deployment")
    tiers = {"authentic": authenticity(manifest, public_key, kept)}
    return manifest, {**tiers, "consistent": (None, agree, left), "complete": (None, [*chains, *by], missing)}


def authenticity(manifest, given, kept):
    """The signer, by the given key and by the keys in kept entries."""
    own = manifest["publicKey"]
    whose = ("itself" if given is None else "given") if kept is None else signer(kept, given, own)
    if whose is None:
        refuse(f"is by the key {own}, not by {given}, and no entry leads to it", "manifest.sig.json")
    left = [f"the chain's id, {manifest['chainId']}: it stands as signed"]
    if manifest["holderNames"] is not None:
        left.append("what the issuer's file of holders' names says: only its hash is here")
    if whose == "itself":
        left.append(f"whose key {own} is: anybody can sign with a key of their own. Give --key")
        left += kept.why if kept else []
    since, entry = kept.revoked.get(key_id(own), (None, None)) if kept else (None, None)
    if since is not None:
        left.append(f"that it was signed before entry {since}, from which on entry {entry} revokes its key")
    signers = {"given": "the key given", "led to": f"{own}, to which entries lead from the key given"}
    by = [
        f"manifest and both roots are signed with {signers.get(whose, f'{own}, the key that it names itself')}",
        f"{len(manifest['files'])} files have the SHA-256 and size of the manifest, and there is no other",
    ]
    return True if whose != "itself" and since is None else None, by, left


def held_against(manifest, registers, acts, kept):
    """What kept entries of the sequence show about the pack. Raises Refused if they contradict it."""
    anew = [int(one["number"]) for one in kept.shown if one["kind"] == "correction" and one["body"].get("of") == "log"]
    says, others = root_corrections.held_against(kept, manifest, registers, acts)
    chain = manifest.get("coinChain")
    for entry in kept.shown:
        name, body, kind = f"entry {entry['number']}", entry["body"], entry["kind"]
        if kind == "act" and acts is not None and body["act"] in acts:
            if body["sha256"] != act_hash(acts[body["act"]]):
                refuse(f"has act {body['act']} otherwise than {name}, which was kept", "acts.ndjson")
            says.append(f"{name}, which you kept, has the hash of act {body['act']}")
        if body.get("coinType") != manifest["coinType"]:
            continue
        if body.get("chainId") not in (None, manifest["chainId"]):
            refuse(f"is of the chain {body['chainId']}, and the pack of {manifest['chainId']}", name)
        is_end = kind == "coin" and body["checkpoint"] == manifest["last"]["checkpoint"]
        # Entries before the last correction describe another log.
        if is_end and chain is not None and int(entry["number"]) > max(anew, default=-1):
            if (body["facts"], body["hash"]) != (chain["facts"], chain["hash"]):
                refuse("says that the coin's chain of facts ended otherwise than the manifest says", name)
            says.append(f"{name}, which you kept, has the end of the coin's facts that the manifest has; not checked: "
                        "that the pack's facts give it")
        for register in registers if kind == "root" else ():
            if body["checkpoint"] != register.head["checkpoint"]:
                continue
            said = kept.roots.of(body["coinType"], body.get("version"), body["checkpoint"])
            if said["corrections"] and int(entry["number"]) < int(said["corrections"][-1][0]["number"]):
                continue  # it names the former root
            root = register.signed["root"] if body.get("version") == "1" else register.root_2(body.get("decimals"))
            has = root, register.head["issued"], register.head["checkpointDigest"]
            if has != (body["root"], body["total"], body.get("checkpointDigest")):
                refuse(f"has the root {root}; {name}, which was kept, says {body['root']}", register.path)
            says.append(f"{name}, which you kept, dated {entry['at']}, names the root of the {register.name} register")
    others += kept.why or [f"entry {one['number']}: no entry here leads to its key" for one in kept.others]
    return says, others


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Checks what of an audit pack needs no ledger.")
    parser.add_argument("pack", help="its folder, or a zip of it")
    parser.add_argument("--key", help="the deployment's public key, base64, as you know it from elsewhere")
    parser.add_argument("--entry", nargs="+", help="files with entries of the sequence that you kept")
    parser.add_argument("--require", help="what has to be shown: authentic, consistent, complete, separated by commas")
    given = parser.parse_args(arguments)
    usual = "consistent" if given.key is None else "authentic,consistent"
    required = (usual if given.require is None else given.require).split(",")
    if set(required) - set(TIERS):
        parser.error(f"--require takes some of {', '.join(TIERS)}")
    if given.key is not None and fault(FORMS["public_key"], given.key):
        parser.error("--key must be base64 of 32 bytes")
    try:
        manifest, verdict = verify(given.pack, given.key, given.entry and read_entries(given.entry))
    except (Unusable, OSError) as error:
        parser.error(str(error))
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    print(f"{manifest['coinType']}, checkpoints {manifest['first']['checkpoint']} to {manifest['last']['checkpoint']}")
    for name, (holds, by, not_shown) in verdict.items():
        print(f"{name} ({TIERS[name]}): {'holds' if holds else 'not shown'}")
        print("\n".join([*(f"  by: {what}" for what in by), *(f"  not shown: {what}" for what in not_shown)]))
    left = [name for name in TIERS if name in required and verdict[name][0] is None]
    if left:
        print(f"required, and not shown: {', '.join(left)}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
