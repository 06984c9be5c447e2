"""Chains, movements with their causes, registers and unlocked amounts, written from docs/reference/formats.md alone."""
import base64
import hashlib
import re

from holderbook.forms import BASE58, Refused, canonical

TOKEN, GRANT = "shared_token::SharedToken", "timelock::Timelock"
CAUSES = "MINT BURN TRANSFER FORCE_TRANSFER GRANT_FUNDED GRANT_CLAIMED GRANT_CANCELLED UNKNOWN".split()


def is_claimed(claimed, own):
    if claimed != own:
        raise Refused([("", f"it is {own}")])
    return {}


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def u64(number):
    return int(number).to_bytes(8, "big")


def field(value):
    if value is None:
        return b"\xff" * 4
    encoded = value if isinstance(value, bytes) else value.encode()
    return len(encoded).to_bytes(4, "big") + encoded


def parts_of(type_name):
    """`module::Name`, and the first type parameter or None."""
    base, _, rest = type_name.partition("<")
    depth, end = 0, len(rest) - 1
    for at, sign in enumerate(rest[:-1]):
        depth += {"<": 1, ">": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            end = at
            break
    return "::".join(base.split("::")[1:]), rest[:end] or None


def fact_bytes(fact):
    name, coin_type = parts_of(fact["type"])
    contents = None if fact["kind"] == "removal" else base64.b64decode(fact["contents"])
    kind = "0" if fact["kind"] == "event" else "1"
    values = (fact["checkpoint"], fact["transaction"], kind, fact["index"], fact["timestampMs"], fact["type"], name)
    values += (coin_type, fact["txDigest"], fact["sender"], fact.get("objectId"), fact.get("version"), contents)
    return b"".join(map(field, values))


def chained(before, links, step):
    hash = bytes(32) if before is None else bytes.fromhex(before)
    for link in links:
        hash = sha256(hash, u64(link["checkpoint"]), *step(link))
    return hash.hex()


def facts(before, links, hash):
    def step(link):
        return u64(link["timestampMs"]), link["digest"].encode(), sha256(*map(fact_bytes, link["facts"]))

    return is_claimed(hash, chained(before, links, step))


def inputs(before, links, hash):
    def step(link):
        names = ("transaction", "objectId", "version")
        return (sha256(*(field(one[name]) for one in link["inputs"] for name in names)),)

    return is_claimed(hash, chained(before, links, step))


def digest_bytes(text):
    number = 0
    for digit in text:
        number = number * 58 + BASE58.index(digit)
    return number.to_bytes(32, "big")


def blocks(before, links, hash):
    def step(link):
        return u64(link["timestampMs"]), digest_bytes(link["digest"])

    return is_claimed(hash, chained(before, links, step))


def position_of(checkpoint, transaction, index=0):
    return str(int(checkpoint) * 10**9 + int(transaction) * 10**4 + int(index))


def position(checkpoint, transaction, index, position):
    return is_claimed(position, position_of(checkpoint, transaction, index))


def unlocked_of(grant, time):
    since = time - grant["commencementTimestampMs"] - grant["delayUntilFirstReleaseMs"]
    if since < 0:
        return 0
    count, period, total = grant["releaseCount"], grant["periodBetweenReleasesMs"], grant["totalAmount"]
    steps = 0 if count <= 1 or period == 0 else count - 1
    step = 0 if period == 0 else since // period
    initial = total * grant["initialReleasePortionBps"] // 10_000
    due = total if step >= steps else initial + (total - initial) * step // steps
    return min(max(due - grant["tokensTransferred"], 0), grant["leftBalance"])


def unlocked(grant, timestampMs, unlocked):
    return is_claimed(unlocked, str(unlocked_of({name: int(grant[name]) for name in grant}, int(timestampMs))))


class Bcs:
    def __init__(self, contents):
        self.bytes, self.at = base64.b64decode(contents), 0

    def take(self, count):
        self.at += count
        return self.bytes[self.at - count : self.at]

    def addr(self):
        return "0x" + self.take(32).hex()

    def u64(self):
        return int.from_bytes(self.take(8), "little")

    def text(self):
        return self.take(self.take(1)[0]).decode()  # none in the vectors is longer

    def bool(self):
        return self.take(1) == b"\1"


GRANT_FIELDS = (
    "releaseScheduleId releaseCount delayUntilFirstReleaseMs periodBetweenReleasesMs initialReleasePortionBps "
    "commencementTimestampMs totalAmount tokensTransferred leftBalance"
).split()
HOLDER_EVENTS = {
    "group_holder_config::HolderAdded": ("holder_added", ("holderId",)),
    "group_holder_config::HolderRemoved": ("holder_removed", ("holderId",)),
    "group_holder_config::HolderAddressAdded": ("holder_address_added", ("holderId", "address")),
    "group_holder_config::HolderAddressRemoved": ("holder_address_removed", ("holderId", "address")),
    "group_holder_config::AddressJoinedGroup": ("address_joined_group", ("address", "groupId")),
    "group_holder_config::AddressLeftGroup": ("address_left_group", ("address", "groupId")),
    "freeze_rule::AddressFrozen": ("address_frozen", ("address", "isFrozen")),
}


class Fold:
    """What the facts of one coin make, from its first one on."""

    def __init__(self, facts):
        self.objects, self.held = {}, {"TOKENS": {}, "GRANTS": {}}
        self.movements, self.holder_events, self.role_events = [], [], []
        self.holder, self.group, self.frozen = {}, {}, {}
        at = 0
        while at < len(facts):
            place = facts[at]["checkpoint"], facts[at]["transaction"]
            end = at
            while end < len(facts) and (facts[end]["checkpoint"], facts[end]["transaction"]) == place:
                end += 1
            self._transaction(facts[at:end])
            at = end

    def _transaction(self, facts):
        self.net, self.sums, self.explained, self.cancelled = {}, {}, {}, 0
        for fact in facts:
            name, _ = parts_of(fact["type"])
            if fact["kind"] == "event":
                self._event(name, fact)
            elif name in (TOKEN, GRANT):
                self._object(name, fact)
        head = {name: facts[0][name] for name in ("txDigest", "timestampMs")}
        head["position"] = position_of(facts[0]["checkpoint"], facts[0]["transaction"])
        owners = sorted({owner for owner, _ in (*self.net, *self.sums)})
        for owner in owners:
            for part in ("TOKENS", "GRANTS"):
                self._movement(head, owner, part)

    def _explain(self, part, owner, cause, amount, sign):
        sums = self.sums.setdefault((owner, part), dict.fromkeys(CAUSES, 0))
        sums[cause] += amount
        self.explained[owner, part] = self.explained.get((owner, part), 0) + sign * amount

    def _movement(self, head, owner, part):
        net = self.net.get((owner, part), 0)
        sums = self.sums.get((owner, part), dict.fromkeys(CAUSES, 0))
        unexplained = net - self.explained.get((owner, part), 0)
        if part == "TOKENS" and unexplained > 0:
            taken = min(unexplained, self.cancelled)
            sums["GRANT_CANCELLED"] += taken
            self.cancelled -= taken
            unexplained -= taken
        sums["UNKNOWN"] += abs(unexplained)
        if net == 0:
            return
        held = self.held[part][owner] = self.held[part].get(owner, 0) + net
        cause = max(CAUSES, key=lambda one: sums[one])  # of equal ones the first
        line = {"owner": owner, "part": part, "cause": cause, "change": str(net), "balanceAfter": str(held)}
        self.movements.append({**head, **line})

    def _object(self, name, fact):
        part = "TOKENS" if name == TOKEN else "GRANTS"
        before = self.objects.pop(fact["objectId"], None)
        after = None
        if fact["kind"] == "object":
            bcs = Bcs(fact["contents"])
            bcs.addr()
            after = {"part": part, "owner": bcs.addr()}
            if name == TOKEN:
                after["amount"] = bcs.u64()
            else:
                after["funder"] = bcs.addr()
                after.update({one: bcs.u64() for one in GRANT_FIELDS})
                after["amount"] = after["leftBalance"]
            self.objects[fact["objectId"]] = after
        for one, sign in ((before, -1), (after, 1)):
            if one is not None:
                key = one["owner"], part
                self.net[key] = self.net.get(key, 0) + sign * one["amount"]
        if part == "TOKENS" or (before or after) is None:
            return
        nothing = {"amount": 0, "tokensTransferred": 0}
        was, is_now = before or nothing, after or nothing
        claimed = 0 if after is None else max(is_now["tokensTransferred"] - was["tokensTransferred"], 0)
        rest = is_now["amount"] - was["amount"] + claimed
        funded, cancelled = max(rest, 0), max(-rest, 0)
        grant = after or before
        owner, moved = grant["owner"], before is not None and after is not None and before["owner"] != after["owner"]
        self._explain("TOKENS", grant["funder"], "GRANT_FUNDED", funded, -1)
        self._explain("TOKENS", owner, "GRANT_CLAIMED", claimed, 1)
        self.cancelled += cancelled
        if not moved:
            self._explain("GRANTS", owner, "GRANT_FUNDED", funded, 1)
            self._explain("GRANTS", owner, "GRANT_CLAIMED", claimed, -1)
            self._explain("GRANTS", owner, "GRANT_CANCELLED", cancelled, -1)

    def _event(self, name, fact):
        bcs = Bcs(fact["contents"])
        head = {one: fact[one] for one in ("txDigest", "timestampMs")}
        head["position"] = position_of(fact["checkpoint"], fact["transaction"], fact["index"])
        if name in ("controlled_treasury::Mint", "controlled_treasury::Burn"):
            bcs.addr()
            cause, sign = ("MINT", 1) if name.endswith("Mint") else ("BURN", -1)
            owner, amount = bcs.addr(), bcs.u64()
            self._explain("TOKENS", owner, cause, amount, sign)
        elif name in ("shared_token::Transfer", "shared_token::ForceTransfer"):
            bcs.addr()
            cause = "TRANSFER" if name.endswith("::Transfer") else "FORCE_TRANSFER"
            giver, taker, amount = bcs.addr(), bcs.addr(), bcs.u64()
            self._explain("TOKENS", giver, cause, amount, -1)
            self._explain("TOKENS", taker, cause, amount, 1)
        elif name == "controlled_treasury::RoleChange":
            owner, role, granted = bcs.addr(), bcs.text(), bcs.bool()
            role = re.sub("(?<![0-9A-Za-z_])([0-9a-f]{64})(?=::)", r"0x\1", role)
            event = {**head, "owner": owner, "role": role, "granted": granted, "signer": fact["sender"]}
            self.role_events.append(event)
        elif name in HOLDER_EVENTS:
            event_type, members = HOLDER_EVENTS[name]
            event = {**head, "eventType": event_type, **dict.fromkeys(("holderId", "address", "groupId", "isFrozen"))}
            for member in members:
                reads = {"address": bcs.addr, "isFrozen": bcs.bool}.get(member, lambda: str(bcs.u64()))
                event[member] = reads()
            self.holder_events.append(event)
            kept, value = {
                "holder_address_added": (self.holder, event["holderId"]), "holder_address_removed": (self.holder, None),
                "address_joined_group": (self.group, event["groupId"]), "address_left_group": (self.group, None),
                "address_frozen": (self.frozen, event["isFrozen"]),
            }.get(event_type, ({}, None))
            kept[event["address"]] = value

    def rows(self, time):
        rows = {}
        tokens, grants = self.held["TOKENS"], self.held["GRANTS"]
        members = {wallet for wallet, holder in self.holder.items() if holder is not None}
        for wallet in sorted({*tokens, *grants, *members}):
            holder = self.holder.get(wallet)
            open_parts = (
                unlocked_of(one, time)
                for one in self.objects.values() if one["part"] == "GRANTS" and one["owner"] == wallet
            )
            row = rows.setdefault((holder, None if holder else wallet), {"wallets": [], "amounts": [0, 0, 0]})
            amounts = tokens.get(wallet, 0), grants.get(wallet, 0), sum(open_parts)
            row["amounts"] = [sum(pair) for pair in zip(row["amounts"], amounts)]
            row["wallets"].append({
                "address": wallet, "balance": str(amounts[0] + amounts[1]), "groupId": self.group.get(wallet),
                "isFrozen": self.frozen.get(wallet) is True,
            })
        made = []
        for (holder, wallet), row in rows.items():
            has, granted, can_claim = row["amounts"]
            if has + granted == 0:
                continue
            amounts = {"balance": has + granted, "tokens": has, "granted": granted, "unlocked": can_claim}
            amounts["locked"] = granted - can_claim
            order = -amounts["balance"], holder is None, int(holder or 0), wallet or ""
            texts = {name: str(amount) for name, amount in amounts.items()}
            made.append((order, {"holderId": holder, "wallets": row["wallets"], **texts}))
        return [row for _, row in sorted(made, key=lambda one: one[0])]


def register(coinType, timestampMs, facts, movements, holderEvents, roleEvents, rows):
    fold = Fold(facts)
    own = fold.movements, fold.holder_events, fold.role_events, fold.rows(int(timestampMs))
    for claimed, made in zip((movements, holderEvents, roleEvents, rows), own):
        is_claimed(canonical(claimed), canonical(made))
    return {}


CHECKS = {
    "facts": facts, "inputs": inputs, "blocks": blocks, "position": position, "unlocked": unlocked,
    "register": register,
}
