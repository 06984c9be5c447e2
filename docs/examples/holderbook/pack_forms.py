"""The forms of everything in an audit pack that is JSON."""
import re

from . import forms
from .forms import (
    ADDRESS, AMOUNT, ANY_TYPE, DIGEST, FLAG, HASH, NUMBER, SIGNATURE, TIME_MS, TYPE, U64, Items, fault, like, null_or,
    one_of,
)

LONGEST = {  # bytes of each file that every pack has; acts from version 3 on
    "report.md": 2**28, "committee.json": 2**20, "first/cap-table.json": 2**31, "first/state.ndjson": 2**31,
    "last/cap-table.json": 2**31, "movements.ndjson": 2**33, "holder-events.ndjson": 2**32, "role-events.ndjson": 2**32,
    "acts.ndjson": 2**26,
}
LONGEST_EXCERPT = 2**26
EXCERPT = re.compile("(checkpoints|epochs)/(0|[1-9][0-9]{0,17})[.]binpb")
LONGEST_LINE, LONGEST_ROW = 2**19, 2**21

MARK = {"checkpoint": NUMBER, "digest": DIGEST, "timestampMs": TIME_MS}
ROOT = {"root": HASH, "total": AMOUNT, "signature": SIGNATURE}
FILE = {"sha256": HASH, "size": NUMBER}


def each(name, form, most):
    """An object with any members whose names fit."""
    return lambda value: isinstance(value, dict) and len(value) <= most and all(
        name(one) and fault(form, value[one]) is None for one in value
    ), "an object with members of the known names and forms"


DIGESTS = each(like("[a-z_]{1,40}", "")[0], HASH, 20)
MANIFEST = {
    "format": one_of("holderbook-audit-pack"), "version": one_of(1, 2, 3), "chainId": forms.CHAIN_ID, "coinType": TYPE,
    "packages": Items(ADDRESS, 1000), "first": MARK, "last": MARK, "opening": one_of("proven", "signed"),
    "trust": {"epoch": NUMBER, "checkpoint": null_or(NUMBER), "digest": null_or(DIGEST)},
    "digests": {"first": DIGESTS, "last": DIGESTS}, "roots": {"first": ROOT, "last": ROOT},
    "holderNames": null_or(FILE), "keyId": forms.KEY_ID, "publicKey": forms.PUBLIC_KEY,
}
MANIFEST_2 = {
    **MANIFEST, "opening": one_of("whole", "proven", "signed"),
    "coinChain": null_or({"facts": NUMBER, "hash": HASH, "entry": NUMBER}),
}
COMMITTEE = {"epoch": NUMBER, "members": Items({"publicKey": forms.base64_of(96), "stake": NUMBER}, 4096)}
HEAD = {
    "coinType": TYPE, "decimals": forms.DECIMALS, "checkpoint": NUMBER, "checkpointTimestamp": NUMBER,
    "checkpointDigest": DIGEST, "totalSupply": null_or(U64), "issued": AMOUNT,
    "holderCount": (lambda value: type(value) is int and value >= 0, "a whole number"), "root": HASH,
    "rows": Items(None, 0),
}
ROW = {
    "holderId": null_or(U64),
    "wallets": Items({"address": ADDRESS, "balance": AMOUNT, "groupId": null_or(U64), "isFrozen": FLAG}, 10_000, 1),
    "balance": AMOUNT, "tokens": AMOUNT, "granted": AMOUNT, "unlocked": AMOUNT, "locked": AMOUNT, "share": forms.SHARE,
}
EVENT = {"position": U64, "txDigest": DIGEST, "timestampMs": TIME_MS}
INDEX = forms.below(1_000_000, "a whole number below 1,000,000")
CHANGE = (
    lambda value: isinstance(value, str) and value != "-0" and AMOUNT[0](value.removeprefix("-")),
    "a whole number between -2^128 and 2^128, as a text",
)
CAUSES = "MINT BURN TRANSFER FORCE_TRANSFER GRANT_FUNDED GRANT_CLAIMED GRANT_CANCELLED UNKNOWN".split()
EVENT_TYPES = """holder_added holder_removed holder_address_added holder_address_removed address_joined_group
    address_left_group address_frozen""".split()


def is_contents(value):
    """Base64 of any number of bytes up to 300,000."""
    if not isinstance(value, str) or len(value) > 400_000:
        return False
    return value == "" or forms.base64_of(len(value) * 3 // 4 - value.count("=", -2))[0](value)


STANDING = {
    "object": {
        "kind": one_of("object"), "objectId": ADDRESS, "version": U64, "type": TYPE,
        "name": like("[A-Za-z_][A-Za-z0-9_]{0,127}::[A-Za-z_][A-Za-z0-9_]{0,127}", "a module and a name"),
        "checkpoint": NUMBER, "transaction": INDEX, "index": INDEX, "txDigest": DIGEST, "sender": ADDRESS,
        "timestampMs": TIME_MS, "contents": (is_contents, "base64"),
    },
    "membership": {
        "kind": one_of("membership"), "address": ADDRESS, "aspect": one_of("holder", "group", "freeze"), "value": U64,
        "checkpoint": NUMBER,
    },
    "role": {"kind": one_of("role"), "owner": ADDRESS, "role": ANY_TYPE, "checkpoint": NUMBER},
}
EVENTS = {
    "movements.ndjson": {
        **EVENT, "owner": ADDRESS, "part": one_of("TOKENS", "GRANTS"), "cause": one_of(*CAUSES), "change": CHANGE,
        "balanceAfter": AMOUNT,
    },
    "holder-events.ndjson": {
        **EVENT, "eventType": one_of(*EVENT_TYPES), "holderId": null_or(U64), "address": null_or(ADDRESS),
        "groupId": null_or(U64), "isFrozen": null_or(FLAG),
    },
    "role-events.ndjson": {**EVENT, "owner": ADDRESS, "role": ANY_TYPE, "granted": FLAG, "signer": ADDRESS},
}


def plain(most):
    """Visible ASCII and spaces, without the sign that ends code in a report."""
    return like("[ -_a-~]{1,%d}" % most, f"1 to {most} visible characters of ASCII, without `")


DETAIL = lambda value: value is None or isinstance(value, bool) or plain(2000)[0](value), "null, true, false or a text"
ACT = {
    "number": (lambda value: AMOUNT[0](value) and value != "0", "a number from 1 on, as a text"), "at": forms.MOMENT,
    "command": like("[a-z][a-z-]{0,39}( [a-z][a-z-]{0,39}){0,2}", "the words of a command"),
    "details": each(like("[A-Za-z]{1,40}", "")[0], DETAIL, 20),
    "by": {"user": plain(200), "host": plain(255), "role": plain(200)}, "scope": one_of("deployment", "coin"),
    "coinType": null_or(TYPE), "salt": like("[0-9a-f]{32}", "32 lower-case hex digits"), "entry": null_or(NUMBER),
}


def in_order(form, value):
    """Whether the members of an object stand in the order of its form, also in lists in it."""
    if list(value) != list(form):
        return False
    lists = ((form[name].form, value[name]) for name in form if isinstance(form[name], Items))
    return all(in_order(inner, one) for inner, items in lists for one in items)
