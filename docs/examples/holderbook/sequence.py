"""Kept entries of a deployment's signed sequence (GET /sequence), as --entry reads them."""
import hashlib
import os
import stat

from .forms import canonical, fault, members, one_of, parse_json, refuse
from .hashes import is_signed, key_id
from .root_corrections import RootsSaid, correction_fault, corrects_roots

MOST_BYTES = 64 * 2**20


class Unusable(Exception):
    """Wrong usage: an unreadable file, or one with other content."""


SIGNED = ("number", "previous", "kind", "body", "at")
ENTRY = members(
    "number:amount previous:hash kind body:object at:moment keyId:key_id signature:signature",
    kind=one_of("root", "head", "coin", "blocks", "inputs", "key", "correction", "act"),
)
# Members of bodies that have one form in every kind, and the members that each kind requires.
IN_BODIES = members(
    "act:amount chainId:chain? coinType:type checkpoint:amount checkpointTimestampMs:amount decimals:amount? "
    "facts:amount hash:hash keyId:key_id lost:key_id publicKey:public_key root:hash sha256:hash total:amount"
)
OF_KEY = members("from:amount why:text")
NEEDED = {
    "root": ("chainId", "coinType", "checkpoint", "root", "total"), "head": ("chainId", "checkpoint", "hash"),
    "coin": ("chainId", "coinType", "checkpoint", "facts", "hash"), "key": ("keyId", "publicKey"),
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
            known = kept.setdefault(int(entry["number"]), entry)
            if entry_hash(known) != entry_hash(entry):
                _false(entry, "differs from another one of its number")
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
    parts = []
    for value in values:
        listed = value.get("entries") if isinstance(value, dict) else value
        parts += listed if isinstance(listed, list) else [value]
    if not parts:
        raise Unusable(f"{path}: is empty")
    return parts


def check_form(entry):
    """Raises Refused for a malformed entry."""
    wrong = fault(ENTRY, entry)
    if wrong is None and corrects_roots(entry):
        wrong = correction_fault(entry["body"])
    elif wrong is None:
        body, forms, needed = entry["body"], IN_BODIES, NEEDED.get(entry["kind"], ())
        if _is_revocation(entry):
            forms, needed = {**IN_BODIES, **OF_KEY}, ("keyId", *OF_KEY)
        wrong = next((f"body.{name} is missing" for name in needed if name not in body), None)
        faults = (fault(forms[name], body[name], f"body.{name}") for name in body if name in forms)
        wrong = wrong or next(filter(None, faults), None)
    try:
        canonical(entry)
    except ValueError as error:
        wrong = wrong or f"it has no canonical form: {error}"
    if wrong is not None:
        refuse(f"an entry that was kept: {wrong}")


def entry_hash(entry):
    """The hash that the next entry has as `previous`."""
    return hashlib.sha256(canonical({name: entry[name] for name in SIGNED})).hexdigest()


class Kept:
    """Verified kept entries: `shown` are signed by trusted keys, `others` prove nothing, and `why` names lost keys.

    `keys` are the trusted ones: the known key, and those named by entries of trusted keys. `revoked` has, by key id,
    the number from which on a key is not trusted, and the entry that revokes it. `roots` is a RootsSaid.
    """

    def __init__(self, entries, public_key):
        signed, lost = _signed(entries, public_key)
        self.revoked, self.keys, believed = _revocations(_led_to(signed)[0]), [public_key], []
        for entry, key, follows in signed:
            since, _ = self.revoked.get(key and key_id(key), (None, None))
            if key not in self.keys or since is not None and int(entry["number"]) >= since:
                key = None
            elif entry["kind"] == "key" and entry["body"]["publicKey"] not in self.keys:
                self.keys.append(entry["body"]["publicKey"])
            believed.append((entry, key, follows))
        self.shown, self.others = _led_to(believed)
        self.roots = _agree(self.shown)
        self.why = []
        if self.others and lost is not None:
            self.why.append(
                f"entry {lost['number']} says that the key {lost['body']['lost']} was lost, and names another by itself, "
                "which anyone with write access to the database could do: give that one with --key once you know that it is "
                "the deployment's"
            )
        if self.others:
            self.why += [f"entry {by} revokes {key} from entry {at} on" for key, (at, by) in self.revoked.items()]


def _signed(entries, public_key):
    """Each entry with the key that signed it, if entries lead to that key, and whether it follows the one before.

    A `key` entry names the key that signs from the next entry on, and is signed with the previous key. One with `lost`
    is signed with the key that it names itself: the entries after it prove nothing.
    """
    keys, lost, before, signed = [public_key], None, None, []
    for entry in entries:
        number, kind, body = int(entry["number"]), entry["kind"], entry["body"]
        if before is not None and number <= int(before["number"]):
            _false(entry, f"comes behind entry {before['number']}: each must come once, the lowest first")
        follows = before is not None and number == int(before["number"]) + 1
        if follows and entry["previous"] != entry_hash(before):
            _false(entry, "does not have the hash of the one before")
        if number == 0 and entry["previous"] != "0" * 64:
            _false(entry, "is the first and names one before")
        text = canonical({"purpose": "holderbook-sequence-v1", **{name: entry[name] for name in SIGNED}})
        signs = keys[-1] if lost is None else None
        key = signs if signs and is_signed(entry["signature"], text, signs) else None
        if kind == "key" and "lost" in body and not is_signed(entry["signature"], text, body["publicKey"]):
            _false(entry, "names a key in a lost one's place, which did not sign it")
        if key is None and signs and kind == "key" and body.get("lost") == key_id(signs):
            lost = entry
        elif key is None:
            if any(one != signs and is_signed(entry["signature"], text, one) for one in keys):
                _false(entry, "is signed with a key in whose place an entry before it puts another")
            if entry["keyId"] in map(key_id, keys):
                _false(entry, f"is not signed with the key {keys[-1]}")
        if key is not None and number == 0 and (kind != "key" or body["publicKey"] != key):
            _false(entry, "does not name the key that signed it")
        if key is not None and kind == "key" and body["publicKey"] != key:
            keys.append(body["publicKey"])
        if _is_revocation(entry) and body["keyId"] in (entry["keyId"], key and key_id(key)):
            _false(entry, "revokes the key that signed it")
        signed.append((entry, key, follows))
        before = entry
    return signed, lost


def _is_revocation(entry):
    return entry["kind"] == "correction" and entry["body"].get("of") == "key"


def _revocations(entries):
    revoked = {}
    for entry in filter(_is_revocation, entries):
        number, since = int(entry["number"]), int(entry["body"]["from"])
        if since > number:
            _false(entry, "revokes a key from a later entry on")
        known = revoked.get(entry["body"]["keyId"])
        if known is None or since < known[0]:
            revoked[entry["body"]["keyId"]] = since, number
    return revoked


def _led_to(signed):
    """Entries with a key, and those that the hashes of such entries lead back to; and the others."""
    shown, others, is_named = [], [], False
    for entry, key, follows in reversed(signed):
        is_shown = key is not None or is_named
        (shown if is_shown else others).append(entry)
        is_named = is_shown and follows
    return shown[::-1], others[::-1]


def signer(kept, given, own):
    """Whose key `own` is: "given", "led to" from the given one, "itself" where that is not shown; None: another one."""
    if given is None or own == given:
        return "itself" if given is None else "given"

    def is_named(entries):
        return any(entry["kind"] == "key" and entry["body"]["publicKey"] == own for entry in entries)

    if own in kept.keys or is_named(kept.shown):
        return "led to"
    return "itself" if kept.why and is_named(kept.others) else None


def _agree(entries):
    """Checks that times never fall, and that no two entries contradict each other; returns what they say of roots."""
    said, roots, before = {}, RootsSaid(), None
    for entry in entries:
        kind, body = entry["kind"], entry["body"]
        if before is not None and entry["at"] < before["at"]:
            _false(entry, f"is dated {entry['at']}, before entry {before['number']}")
        before = entry
        wrong = roots.add(entry)
        if wrong is not None:
            _false(entry, wrong)
        # After other corrections the log is a different one: of the earlier entries, only roots and acts bind later ones.
        if kind == "correction" and body.get("of") not in ("key", "root"):
            said = {of: known for of, known in said.items() if of[0] == "act"}
        if kind not in ("head", "coin", "act"):
            continue
        about = f"act {body['act']}" if kind == "act" else f"checkpoint {body['checkpoint']}"
        of = kind, body.get("coinType"), about, canonical(body.get("version"))
        saying = canonical({name: value for name, value in body.items() if name != "chainId"})
        if said.setdefault(of, (saying, entry["number"]))[0] != saying:
            _false(entry, f"says something else of {about} than entry {said[of][1]}")
    return roots


def _false(entry, what):
    refuse(f"entry {entry['number']}, which was kept, {what}")
