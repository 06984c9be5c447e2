"""The tables of an audit pack: whether registers, movements and events agree with each other (steps 4 to 7)."""
import hashlib

from . import hashes
from .forms import canonical, one_of, printed, refuse, stop_at
from .pack_files import json_of, lines_of
from .pack_forms import ACT, EVENTS, HEAD, LONGEST_LINE, LONGEST_ROW, ROW, STANDING, in_order
from .root_corrections import is_correction


class Register:
    """A cap table: its head, its rows' leaves of version 1, and each wallet's balance, holder, group and freeze."""

    def __init__(self, files, name, manifest):
        self.files, self.path, self.name, self.wallets, self.leaves = files, f"{name}/cap-table.json", name, {}, []
        self.mark, self.signed = manifest[name], manifest["roots"][name]
        _, head = next(lines_of(files, self.path, LONGEST_ROW), (0, ""))
        self.head = self._printed(head + "]}", HEAD, "the head: ")
        self._check_head(manifest["coinType"])
        before = None
        for at, row in self.rows():
            faults = [*hashes.row_faults(row, int(self.head["issued"]))]
            if any(one["address"] in self.wallets for one in row["wallets"]):
                faults.append("one of its wallets is in another row, too")
            if before is not None and not _place(before) < _place(row):
                faults.append("it stands out of its order")
            stop_at([(self.path, f"row {at}: {what}") for what in faults])
            for one in row["wallets"]:
                self.wallets[one["address"]] = int(one["balance"]), (row["holderId"], one["groupId"], one["isFrozen"])
            self.leaves.append(hashes.leaf(1, self.head["coinType"], self.head["checkpoint"], row))
            before = row
        # Check sums first: the tree cannot hold larger ones.
        if sum(balance for _, balance in self.leaves) != int(self.head["issued"]):
            refuse("has rows that do not come to what it says is issued", self.path)
        root, total = hashes.root_of(self.leaves)
        if (root.hex(), str(total)) != (self.signed["root"], self.signed["total"]):
            refuse(f"gives the root {root.hex()} of {total}, not the one of the manifest", self.path)

    def rows(self):
        """Yields numbered rows, from 1, as many as the head states: a comma after all but the last, then `]}`."""
        count, is_ended = self.head["holderCount"], False
        for at, line in lines_of(self.files, self.path, LONGEST_ROW):
            if is_ended:
                refuse("goes on behind the end of its table", self.path)
            if at == 1:
                continue
            if at == count + 2:
                is_ended = line == "]}"
                if not is_ended:
                    refuse(f"does not end behind its {count} rows", self.path)
                continue
            if line.endswith(",") != (at <= count):
                refuse(f"row {at - 1} has a comma too many, or too few", self.path)
            yield at - 1, self._printed(line.removesuffix(","), ROW, f"row {at - 1}: ")
        if not is_ended:
            refuse("ends before its table does", self.path)

    def root_2(self, decimals):
        """The version 2 root of the rows; `decimals` comes from an entry."""
        of = 2, self.head["coinType"], self.head["checkpoint"]
        return hashes.root_of([hashes.leaf(*of, row, decimals) for _, row in self.rows()])[0].hex()

    def _printed(self, text, form, place):
        value = json_of(self.path, text, form, place)
        if not in_order(form, value) or printed(value) != text:
            refuse(f"{place}is not as a cap table is printed", self.path)
        return value

    def _check_head(self, coin_type):
        head, mark = self.head, self.mark
        wanted = {
            "coinType": coin_type, "checkpoint": mark["checkpoint"], "checkpointDigest": mark["digest"],
            "checkpointTimestamp": str(int(mark["timestampMs"]) // 1000), "root": self.signed["root"],
            "issued": self.signed["total"],
        }
        for name, value in wanted.items():
            if head[name] != value:
                refuse(f"has the {name} {head[name]}, not {value}, as the manifest says", self.path)
        supply, is_empty = head["totalSupply"], head["issued"] == "0" and head["holderCount"] == 0
        # Before the token exists, its register is empty, and there is no treasury yet.
        if supply is None and (self.name == "last" or not is_empty):
            refuse("has no supply of a treasury: no register is without it", self.path)
        if supply not in (None, head["issued"]):
            refuse(f"all rows come to {head['issued']}, but the treasury has issued {supply}", self.path)


def _place(row):
    """The largest balance first, equal ones by holder, then wallets of no holder by address."""
    holder = row["holderId"]
    address = row["wallets"][0]["address"] if holder is None else ""
    return -int(row["balance"]), holder is None, int(holder or 0), address


ASPECTS = ("holder", "group", "freeze")
# The aspect of a wallet that an event sets, and its new value; None removes it.
MAKES = {
    "holder_address_added": ("holder", lambda event: event["holderId"]),
    "holder_address_removed": ("holder", lambda event: None),
    "address_joined_group": ("group", lambda event: event["groupId"]),
    "address_left_group": ("group", lambda event: None),
    "address_frozen": ("freeze", lambda event: "1" if event["isFrozen"] else None),
}


def json_lines(files, path, form):
    for at, line in lines_of(files, path, LONGEST_LINE):
        value = json_of(path, line, form, f"line {at}: ")
        if canonical(value) != line.encode():
            refuse(f"line {at} is not in RFC 8785 form", path)
        yield at, value


def events_in(files, path, manifest):
    """Events within the range, ascending. A position is the checkpoint, then nine digits for the place in it."""
    before, first, last = 0, int(manifest["first"]["checkpoint"]), int(manifest["last"]["checkpoint"])
    for at, event in json_lines(files, path, EVENTS[path]):
        position = int(event["position"])
        if not first < position // 10**9 <= last:
            refuse(f"line {at} is of checkpoint {position // 10**9}, which is not between the registers", path)
        if position < before:
            refuse(f"line {at} stands out of its order", path)
        before = position
        yield at, event


def check_lines(files, manifest, first, last):
    """Holders, groups and freezes of both registers, every movement, and acts; `first` and `last` are Registers.

    Returns how many lines each file has, and the acts by number (None before version 3).
    """
    counts = {}
    said = {aspect: {} for aspect in ASPECTS}
    path = "first/state.ndjson"
    for at, line in json_lines(files, path, _standing_form):
        counts[path] = at
        if line["kind"] == "membership":
            said[line["aspect"]][line["address"]] = line["value"]
    check_wallets(said, first)
    path, moved = "movements.ndjson", {}
    for at, line in events_in(files, path, manifest):
        counts[path] = at
        key, after = (line["owner"], line["part"]), int(line["balanceAfter"])
        before = after - int(line["change"])
        if before < 0:
            refuse(f"line {at} takes more than there was", path)
        began, left = moved.get(key, (before, before))
        if left != before:
            refuse(f"line {at} follows a balance of {before}; the line before it left {left}", path)
        moved[key] = began, after
    path = "holder-events.ndjson"
    for at, event in events_in(files, path, manifest):
        counts[path] = at
        aspect, value_of = MAKES.get(event["eventType"], (None, None))
        if aspect is not None and event["address"] is not None:
            said[aspect][event["address"]] = value_of(event)
    check_wallets(said, last)
    for counts["role-events.ndjson"], _ in events_in(files, "role-events.ndjson", manifest):
        pass
    acts = acts_in(files, manifest["coinType"]) if manifest["version"] == 3 else None
    check_movements(moved, first, last)
    return counts, acts


def _standing_form(line):
    kind = line.get("kind") if isinstance(line, dict) else None
    return STANDING.get(kind if isinstance(kind, str) else None, {"kind": one_of(*STANDING)})


def check_wallets(said, register):
    """Checks that a register's wallets match their recorded state, and that no holder's wallet is missing."""
    failures = []
    for address, (_, is_now) in register.wallets.items():
        holder, group, freeze = (said[aspect].get(address) for aspect in ASPECTS)
        if (holder, group, freeze is not None) != is_now:
            failures.append((register.path, f"{address} has another holder, group or freeze than the lines say"))
    holders = {holder for _, (holder, _, _) in register.wallets.values()} - {None}
    for address, holder in said["holder"].items():
        if holder in holders and address not in register.wallets:
            failures.append((register.path, f"leaves out {address}, a wallet of holder {holder}"))
    stop_at(failures)


def check_movements(moved, first, last):
    """Checks that each wallet's movements lead from its first to its last balance."""
    failures = []
    for wallet in {*first.wallets, *last.wallets, *(owner for owner, _ in moved)}:
        had, has = (register.wallets.get(wallet, (0,))[0] for register in (first, last))
        parts = [moved[wallet, part] for part in ("TOKENS", "GRANTS") if (wallet, part) in moved]
        began, left = sum(part[0] for part in parts), sum(part[1] for part in parts)
        # A part without movements is only known as the remainder.
        fits = began == had if len(parts) == 2 else began <= had
        if had + left - began != has or not fits:
            what = f"{wallet} held {had}, moved {left - began} from {began}, and holds {has}"
            failures.append(("movements.ndjson", what))
    stop_at(sorted(failures))


def acts_in(files, coin_type):
    """Operators' acts by number; each must occur once, in the order of execution and publication."""
    path, acts, before = "acts.ndjson", {}, None
    for at, act in json_lines(files, path, ACT):
        if act["coinType"] != (coin_type if act["scope"] == "coin" else None):
            refuse(f"line {at} is neither on the pack's coin nor on the whole deployment", path)
        for name in ("by", "why", "checkpoints") if is_correction(act) else ():
            if not isinstance(act["details"].get(name), str):
                refuse(f"line {at} corrects roots, and has no {name}", path)
        if before is not None:
            if int(act["number"]) <= int(before["number"]) or act["at"] < before["at"]:
                refuse(f"line {at} stands out of its order", path)
            if act["entry"] is not None and (before["entry"] is None or int(act["entry"]) <= int(before["entry"])):
                refuse(f"line {at} names entry {act['entry']}, and the line above it {before['entry']}", path)
        acts[act["number"]] = before = act
    return acts


def act_hash(act):
    """The digest of an act in its sequence entry: SHA-256 over all members but `entry`."""
    return hashlib.sha256(canonical({name: act[name] for name in act if name != "entry"})).hexdigest()
