"""What a pack's facts show about missing ones: chains of versions, closure, conservation, and later changes."""
import base64
import hashlib
import re

from .certificate import PATH
from .excerpts import read
from .forms import Refused, refuse, stop_at
from .object_sets import prove

TREASURY, TOKEN = "controlled_treasury::ControlledTreasury", "shared_token::SharedToken"
GRANT = "timelock::Timelock"
METADATA = ("coin::CoinMetadata", "coin_registry::Currency")
AMOUNT_AT = {TREASURY: 32, TOKEN: 64, GRANT: 160}
PROFILE = "security-token-1"

# What a transaction may do, and one of the sets of what it must do besides.
_TREASURY, _TOKEN, _GRANT = ({f"took {name}"} for name in (TREASURY, TOKEN, GRANT))
_REGISTER = (
    "controlled_treasury::Mint freeze_rule::AddressFrozen group_holder_config::HolderAdded "
    "group_holder_config::HolderRemoved group_holder_config::HolderAddressAdded "
    "group_holder_config::HolderAddressRemoved group_holder_config::AddressJoinedGroup "
    "group_holder_config::AddressLeftGroup"
).split()
NEEDED = {
    **{f"took {name}": [set()] for name in (TREASURY, TOKEN, GRANT)},
    f"made {TREASURY}": [set()], f"made {TOKEN}": [_TREASURY, _TOKEN, _GRANT], f"made {GRANT}": [_TOKEN],
    f"ended {TOKEN}": [_TOKEN], f"ended {GRANT}": [_GRANT],
    "emitted controlled_treasury::RoleChange": [{f"made {TREASURY}"}, _TREASURY],
    "emitted controlled_treasury::Burn": [_TREASURY | _TOKEN],
    "emitted shared_token::Transfer": [_TOKEN], "emitted shared_token::ForceTransfer": [_TOKEN],
    **{f"emitted {name}": [_TREASURY] for name in _REGISTER},
}


def name_of(type_name):
    return type_name.partition("<")[0].partition("::")[2]


def coin_of(type_name):
    """The first type parameter, or None."""
    depth, start = 0, type_name.find("<") + 1
    for at in range(start, len(type_name)) if start else ():
        depth += {"<": 1, ">": -1}.get(type_name[at], 0)
        if depth < 0 or (depth == 0 and type_name[at] == ","):
            return type_name[start:at]
    return None


def numbers(files, folder, ending="binpb"):
    found = (re.fullmatch(f"{folder}/([0-9]+)[.]{ending}", path) for path in files)
    return sorted(int(one[1]) for one in found if one)


def content(files, path):
    with files[path][1]() as file:
        return file.read()


def facts_in(files, folder, number, manifest):
    """Facts of the pack's token in an excerpt, the objects left, the commitment to them. Raises Refused."""
    path = f"{folder}/{number}.binpb"
    excerpt = content(files, path)
    try:
        says, left, object_set = read(str(number), manifest["packages"], excerpt)
    except (Refused, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        refuse(f"is no excerpt: {error}", path)
    for mark in (manifest["first"], manifest["last"]):
        if mark["checkpoint"] == str(number) and [mark["digest"], mark["timestampMs"]] != [
            says["digest"], says["timestampMs"],
        ]:
            refuse(f"has digest {says['digest']} and time {says['timestampMs']}, not as the manifest says", path)
    facts = [fact for fact in says["facts"] if coin_of(fact["type"]) == manifest["coinType"]]
    return path, facts, left, object_set


def follow(path, fact, left):
    """Refuses a transaction that found an object in another version than the pack left it."""
    found = fact["version"] if fact["kind"] == "removal" else fact["versionBefore"]
    if found != left:
        said = lambda version: "not at all" if version is None else f"in version {version}"
        refuse(
            f"transaction {fact['txDigest']} found the object {fact['objectId']} {said(found)}, but the pack left it "
            f"{said(left)}: a checkpoint between is missing", path,
        )


class Counted:
    """Everything up to the last register, folded."""

    def __init__(self, files, manifest):
        self.live, self.objects, self.amounts, self.owners = {}, set(), {}, {}
        self.left, self.sets = {}, {}  # checkpoint and digest of each object, commitment of each checkpoint
        self.made = 0
        self.versions = self.transactions = self.checkpoints = self.supply = self.held = 0
        self.fault = None
        listed = numbers(files, "checkpoints")
        for mark in (manifest["first"], manifest["last"]):
            if int(mark["checkpoint"]) not in listed:
                refuse("is missing", f"checkpoints/{mark['checkpoint']}.binpb")
        for number in listed:
            path, facts, left, self.sets[number] = facts_in(files, "checkpoints", number, manifest)
            self.left.update((key, (number, *one)) for key, one in left.items())
            if number > int(manifest["last"]["checkpoint"]):
                refuse("is beyond the last checkpoint", path)
            self._add(path, number, facts)

    def _add(self, path, number, facts):
        deeds, changed = {}, False
        for fact in facts:
            name, kind = name_of(fact["type"]), fact["kind"]
            if kind != "event":
                changed = True
                self._change(path, fact, name)
            if name in METADATA:
                continue
            done = deeds.setdefault(fact["txDigest"], set())
            if kind == "event":
                done.add(f"emitted {name}")
            elif kind == "removal":
                done |= {f"took {name}", f"ended {name}"}
            else:
                done.add(f"{'made' if fact['versionBefore'] is None else 'took'} {name}")
        self.transactions += len(deeds)
        for digest, done in deeds.items():
            foreign = [deed for deed in done if not any(one <= done for one in NEEDED.get(deed, ()))]
            if foreign:
                self.fault = self.fault or f"no function of the profile does what transaction {digest} does"
        if changed:
            self.checkpoints += 1
            if self.supply != self.held:
                self.fault = self.fault or (
                    f"after checkpoint {number} tokens and grants come to {self.held}, but the treasury has issued "
                    f"{self.supply}"
                )

    def _change(self, path, fact, name):
        key = fact["objectId"]
        follow(path, fact, self.live.get(key, (None, None))[0])
        self.versions += 1
        self.objects.add(key)
        if fact["kind"] == "removal":
            del self.live[key]
        else:
            self.live[key] = fact["version"], name
        if name not in AMOUNT_AT:
            return
        contents = b"" if fact["kind"] == "removal" else base64.b64decode(fact["contents"])
        at = AMOUNT_AT[name]
        amount = int.from_bytes(contents[at : at + 8], "little")
        change = amount - self.amounts.get(key, 0)
        self.amounts[key] = amount
        if name == TREASURY:
            self.supply += change
            self.made += fact["kind"] != "removal" and fact["versionBefore"] is None
        else:
            self.held += change
            self.owners[key] = f"0x{contents[32:64].hex()}"

    def heads(self, files, still_open, last):
        """How many live objects and checkpoints are proven; of open ones, those of the last, and not committed."""
        proven, by_last, uncommitted = {}, 0, 0
        for key in self.live:
            number, version, digest = self.left[key]
            if self.sets[number] is None:
                uncommitted += key in still_open
                continue
            proven.setdefault(number, []).append((key, int(version), digest))
            by_last += key in still_open and number == last
        for number in numbers(files, "objects", "bin"):
            if number not in proven:
                refuse("proves no live object", f"objects/{number}.bin")
        for number, left in proven.items():
            path = f"objects/{number}.bin"
            if path not in files:
                refuse("is missing", path)
            prove(path, self.sets[number], left, content(files, path))
        return sum(map(len, proven.values())), len(proven), by_last, uncommitted

    def compare(self, certificate, last):
        """Refuses a certificate, or a last register, that counts otherwise."""
        treasuries = sum(name == TREASURY for _, name in self.live.values())
        if (self.made, treasuries) != (1, 1):
            refuse(
                f"cannot hold: the pack's facts make {self.made} treasuries of the token, and leave {treasuries}, "
                "instead of one", PATH,
            )
        if self.fault and certificate["profile"] == PROFILE:
            refuse(f"cannot hold: {self.fault}", PATH)
        chains, conservation = certificate["chains"], certificate["conservation"]
        own = {
            "objects": (chains["objects"], len(self.objects)), "versions": (chains["versions"], self.versions),
            "live objects": (chains["live"], len(self.live)),
            "transactions": (certificate["closure"]["transactions"], self.transactions),
            "checkpoints": (conservation["checkpoints"], self.checkpoints),
            "units of supply": (conservation["supply"], self.supply),
        }
        stop_at([
            (PATH, f"says that there are {said} {what}; the pack's facts give {found}")
            for what, (said, found) in own.items() if said != str(found)
        ])
        lines = "".join(sorted(f"{key} {version}\n" for key, (version, _) in self.live.items()))
        if hashlib.sha256(lines.encode()).hexdigest() != certificate["heads"]["hash"]:
            refuse("has the hash of other versions of the live objects than the pack's facts end with", PATH)
        self._compare_register(last)

    def _compare_register(self, last):
        if last.head["totalSupply"] != str(self.supply):
            refuse(f"has the supply {last.head['totalSupply']}; the pack's facts give {self.supply}", last.path)
        held = {}
        for key, owner in self.owners.items():
            held[owner] = held.get(owner, 0) + self.amounts[key]
        for owner in {**held, **last.wallets}:
            own, found = last.wallets.get(owner, (0,))[0], held.get(owner, 0)
            if own != found:
                refuse(f"has {own or 'nothing'} of {owner}; the pack's facts give {found}", last.path)


def shown(files, manifest, certificate, last):
    """What facts and certificate show, and what is left. Raises Refused."""
    counted = Counted(files, manifest)
    left = {key: version for key, (version, name) in counted.live.items() if name not in METADATA}
    live = len(left)
    for number in numbers(files, "later"):
        path, facts, _, _ = facts_in(files, "later", number, manifest)
        if number <= int(manifest["last"]["checkpoint"]):
            refuse("is not beyond the last checkpoint", path)
        for fact in facts:
            if fact["kind"] != "event" and fact["objectId"] in left:
                follow(path, fact, left.pop(fact["objectId"]))
    proven, sets, by_last, uncommitted = counted.heads(files, left, int(manifest["last"]["checkpoint"]))
    counted.compare(certificate, last)
    by = [
        f"chains: each of the token's {len(counted.objects)} objects goes through {counted.versions} versions without a "
        "gap, from its creation to its end or its last version here",
        f"conservation: tokens and grants come to the treasury's supply after each of {counted.checkpoints} "
        f"checkpoints: {counted.supply} of the smallest unit at the last",
        f"{PATH}, signed by the key of the pack, counts the same",
    ]
    known = certificate["profile"] == PROFILE
    if known:
        by.insert(1, f"closure: each of the {counted.transactions} transactions fits the profile {PROFILE}")
    if len(left) < live:
        by.append(f"heads: {live - len(left)} of {live} live objects were next changed later, in this very version")
    if proven:
        by.append(
            f"object sets: {proven} of {len(counted.live)} live objects were left in this very version by their "
            f"checkpoints, as the summaries of {sets} of these commit to; for {by_last}, which no later checkpoint "
            "shows, that is the last checkpoint"
        )
    served = [f"{one['source']} ({one['as']}, {one['at']})" for one in certificate["heads"]["served"]]
    missing = [
        "that validators signed the checkpoints of these facts: not checked",
        f"that the contract's code is that of the profile {certificate['profile']}",
    ]
    if not known:
        missing.append(f"the rules of the profile {certificate['profile']}, which are not known here")
    named = {one["package"] for one in certificate["bytecode"]}
    missing += [
        f"that the profile holds for package {address}: {PATH} names no bytecode of it"
        for address in certificate["packages"]
        if address not in named
    ]
    missing.append(
        f"that the contract was upgraded to no package but the {len(certificate['packages'])} of the pack: nothing here "
        "shows an upgrade that was hidden; the deployment says so"
    )
    missing += [f"as {PATH} says, it rests on somebody's word: {what}" for what in certificate["onFaith"]]
    if uncommitted:
        missing.append(
            f"that nothing touched {uncommitted} live objects later in the very checkpoint that left them so: its "
            "summary predates protocol 125 and commits to no objects"
        )
    if len(left) > by_last:
        missing.append(
            f"that nothing touched {len(left) - by_last} live objects after their last version here: the word of "
            f"{' and '.join(served) or 'the deployment alone'}"
        )
    return by, missing
