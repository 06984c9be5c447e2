"""Reads jobs, one JSON document a line, and answers each with the verdict of the verifiers in docs/examples."""
import contextlib
import io
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "docs", "examples"))
import verify_pack  # noqa: E402
import verify_statement  # noqa: E402
import judge_excerpts  # noqa: E402
import judge_facts  # noqa: E402
from holderbook import hashes, pack_forms, pack_tables, sequence  # noqa: E402
from holderbook.forms import Refused, canonical, fault, parse_json  # noqa: E402


def statement(text, publicKey=None, root=None, entries=()):
    own = verify_statement.parsed(text.encode("utf-8", "surrogatepass"))
    verify_statement.verify(own, None if entries else publicKey, root)
    if entries:
        verify_statement.held_against(own, checked(entries), publicKey)
    return {}


def pack(path, publicKey=None, entries=None):
    _, verdict = verify_pack.verify(path, publicKey, entries and checked(entries))
    return {name: verdict[name][0] for name in verdict}


def run(script, args):
    """The script as a person starts it, without a process of its own."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = {"verify_pack.py": verify_pack, "verify_statement.py": verify_statement}[script].main(args)
        except SystemExit as ended:
            code = ended.code
    return {"code": code, "stdout": out.getvalue(), "stderr": err.getvalue()}


def checked(entries):
    for entry in entries:
        sequence.check_form(entry)
    return entries


def sequence_of(entries, publicKey):
    claimed(entries)
    kept = sequence.Kept(checked(entries), publicKey)
    # A list that should be whole has no entry by a key that nothing names.
    claimed(all(entry["keyId"] in [hashes.key_id(one) for one in kept.keys] for entry in entries))
    numbers = [int(entry["number"]) for entry in entries]
    whole = numbers == list(range(len(numbers))) and not kept.others
    return {"whole": whole, "next": kept.keys[-1]}


def keys(entries, publicKey):
    kept = sequence.Kept(checked(entries), publicKey)
    return {"next": kept.keys[-1], "notShown": [entry["number"] for entry in kept.others]}


def act(line, sha256):
    return claimed(fault(pack_forms.ACT, line) is None and pack_tables.act_hash(line) == sha256)


def head(head, chainId, publicKey):
    said = {"purpose": "holderbook-log-head-v1", "checkpoint": head["checkpoint"], "hash": head["hash"]}
    texts = [canonical({**said, "chainId": one}) for one in (chainId, None)]
    return claimed(any(hashes.is_signed(head["signature"], text, publicKey) for text in texts))


def leaf(version, coinType, checkpoint, decimals, row, hash, sum):
    return claimed(hashes.leaf(version, coinType, checkpoint, row, decimals) == (bytes.fromhex(hash), int(sum)))


def node(left, right, hash, sum):
    children = [(bytes.fromhex(one["hash"]), int(one["sum"])) for one in (left, right)]
    return claimed(hashes.parent(*children) == (bytes.fromhex(hash), int(sum)))


def root(version, coinType, checkpoint, decimals, rows, root, total):
    leaves = [hashes.leaf(version, coinType, checkpoint, row, decimals) for row in rows]
    return claimed(hashes.root_of(leaves) == (bytes.fromhex(root), int(total)))


def claimed(holds):
    if not holds:
        raise Refused([("", "it is another one")])
    return {}


CHECKS = {
    "statement": statement, "pack": pack, "sequence": sequence_of, "keys": keys, "act": act, "head": head,
    "leaf": leaf, "node": node, "root": root, "run": run, **judge_facts.CHECKS, **judge_excerpts.CHECKS,
}

for line in sys.stdin:
    job = json.loads(line)
    try:
        said = {"ok": True, **CHECKS[job["check"]](**job["input"])}
    except Refused as refused:
        said = {"ok": False, "error": str(refused), "file": refused.failures[0][0]}
    print(json.dumps(said), flush=True)
