"""Corrections of published roots: entries of the sequence that name roots which do not hold any more."""
from .forms import FORMS, Items, canonical, fault, like, members, one_of, refuse

VALUE = members("root:hash total:amount")


def _plain(most):
    return like("[ -_a-~]{1,%d}" % most, f"1 to {most} visible characters of ASCII, without `")


BODY = members(
    "of chainId:chain? coinType:type roots by why", of=one_of("root"), by=_plain(200), why=_plain(1000),
    roots=Items(
        {"version": one_of("1", "2"), "checkpoint": FORMS["amount"], "from": VALUE, "to": VALUE}, 50, least=1,
    ),
)


def corrects_roots(entry):
    return entry["kind"] == "correction" and entry["body"].get("of") == "root"


def correction_fault(body):
    """Describes what is wrong in the form of such a body; None if nothing is."""
    wrong = fault(BODY, body, "body")
    if wrong is None and any(one["from"] == one["to"] for one in body["roots"]):
        wrong = "body.roots has one that changes nothing"
    if wrong is None and len({(one["version"], one["checkpoint"]) for one in body["roots"]}) < len(body["roots"]):
        wrong = "body.roots names one twice"
    return wrong


class RootsSaid:
    """What entries say of roots, in the order of their numbers.

    Of each root by coin, version and checkpoint: `number` of the entry that says so, `value` (root and total), `body`
    (None if only corrections are known), and its `corrections`, each an entry, the root in it, and whether entries
    show that the former root was published.
    """

    def __init__(self):
        self.said, self._next, self._has_earlier = {}, 0, True

    def of(self, coin_type, version, checkpoint):
        return self.said.get(canonical([coin_type, version, checkpoint]))

    def corrections(self, coin_type):
        """Pairs of an entry about the coin, and whether it is shown that all its former roots were published."""
        found = {}
        for said in self.said.values():
            for entry, _, is_published in said["corrections"]:
                if entry["body"]["coinType"] == coin_type:
                    _, before = found.get(entry["number"], (entry, True))
                    found[entry["number"]] = entry, before and is_published
        return [found[number] for number in sorted(found, key=int)]

    def add(self, entry):
        """How a well-formed entry contradicts those before; None if it does not."""
        number, body = int(entry["number"]), entry["body"]
        self._next = number + 1 if number == self._next else None
        # Roots of version 1 from before the sequence have no entry: number 0 says how many there are.
        if number == 0 and isinstance(body.get("roots"), dict):
            self._has_earlier = body["roots"].get("count") != "0"
        if entry["kind"] == "root":
            return self._publish(entry)
        if corrects_roots(entry):
            return next(filter(None, (self._correct(entry, root) for root in body["roots"])), None)
        return None

    def _publish(self, entry):
        body = entry["body"]
        key = canonical([body.get("coinType"), body.get("version"), body.get("checkpoint")])
        value = {"root": body["root"], "total": body["total"]}
        known = self.said.get(key, {"number": entry["number"], "value": value, "body": body, "corrections": []})
        if known["value"] != value or known["body"] is not None and _text(known["body"]) != _text(body):
            return f"says something else of checkpoint {body['checkpoint']} than entry {known['number']}"
        self.said[key] = {**known, "body": body}
        return None

    def _correct(self, entry, root):
        coin_type, version, checkpoint = entry["body"]["coinType"], root["version"], root["checkpoint"]
        known = self.of(coin_type, version, checkpoint)
        of = f"the root of version {version} at checkpoint {checkpoint}"
        if known is None and self._next is not None and not (version == "1" and self._has_earlier):
            return f"corrects {of}, but no entry before it publishes one"
        if known is not None and known["value"] != root["from"]:
            return f"corrects {of} from another value than entry {known['number']} says"
        before = known["corrections"] if known else []
        is_published = known is not None and (not before or before[-1][2])
        self.said[canonical([coin_type, version, checkpoint])] = {
            "number": entry["number"], "value": root["to"],
            "body": known and known["body"] and {**known["body"], **root["to"]},
            "corrections": [*before, (entry, root, is_published)],
        }
        return None


def _text(body):
    """Only `chainId` may differ."""
    return canonical({name: value for name, value in body.items() if name != "chainId"})


def correction_text(correction):
    """A correction in words."""
    entry, root, is_published = correction
    body, before, now = entry["body"], root["from"], root["to"]
    return (
        f"entry {entry['number']}, dated {entry['at']}, corrects the published root of version {root['version']} at "
        f"checkpoint {root['checkpoint']}: from {before['root']} with the total {before['total']} to {now['root']} with the "
        f"total {now['total']}, by {body['by']}: {body['why']}"
        + ("" if is_published else ". No entry here shows that the former root was published")
    )


def is_correction(act):
    """Whether an operator's act corrected published roots of the pack's token."""
    return act["scope"] == "coin" and isinstance(act["details"].get("correction"), str)


def act_text(act):
    """An act that corrected roots, in words: what the pack itself says of it."""
    details = act["details"]
    return (
        f"that published roots of the token were wrong: the deployment corrected those of checkpoints "
        f"{details['checkpoints']}, by {details['by']}: {details['why']}. Act {act['number']} says so, and entry "
        f"{details['correction']} of the sequence has the former and the corrected roots"
    )


def held_against(kept, manifest, registers, acts):
    """What kept corrections of the token's roots show of a pack, and what they leave open. Raises Refused."""
    says, left = [], []
    for register in registers:
        for version in ("1", "2"):
            said = kept.roots.of(manifest["coinType"], version, register.head["checkpoint"])
            if said is None or not said["corrections"]:
                continue
            own = [register.signed["root"]]
            if version == "2":
                own = [register.root_2(text) for text in (_decimals(register), None)]
            if said["value"]["root"] not in own or said["value"]["total"] != register.head["issued"]:
                refuse(f"has another register: {correction_text(said['corrections'][-1])}", register.path)
            says += [correction_text(one) for one in said["corrections"]]
    entries = {entry["number"]: entry for entry in kept.shown}
    corrections = kept.roots.corrections(manifest["coinType"])
    ours = {entry["number"] for entry, _ in corrections}
    correcting = [act for act in (acts or {}).values() if is_correction(act)]
    named = {act["details"]["correction"] for act in correcting}
    for act in correcting:
        number = act["details"]["correction"]
        if number not in entries:
            continue
        body = entries[number]["body"]
        same = {"by": body.get("by"), "why": body.get("why"), "checkpoints": _checkpoints(body)} if number in ours else {}
        if any(act["details"].get(name) != same.get(name) for name in ("by", "why", "checkpoints")) or not same:
            refuse(f"act {act['number']} contradicts entry {number}, which was kept", "acts.ndjson")
    for entry, is_published in corrections:
        number, body = entry["number"], entry["body"]
        what = (
            f"entry {number}, which you kept, corrects published roots of the token at checkpoints {_checkpoints(body)}, by "
            f"{body['by']}: {body['why']}"
        )
        says.append(what)
        if not is_published:
            left.append(f"that the former roots which entry {number} corrects were published: no kept entry shows it")
        if number in named:
            continue
        if _is_younger(entry, kept, manifest, registers, acts):
            refuse(f"has no act about the correction of roots: {what}. It was left out", "acts.ndjson")
        left.append(f"that the pack is from before entry {number}, which none of its acts names")
    return says, left


def _decimals(register):
    return None if register.head["decimals"] is None else str(register.head["decimals"])


def _checkpoints(body):
    return ", ".join(dict.fromkeys(one["checkpoint"] for one in body["roots"]))


def _is_younger(entry, kept, manifest, registers, acts):
    """Whether the pack names a later entry, or has a register with a root that only held since."""
    if acts is None:
        return False
    named = [act["entry"] for act in acts.values()] + [(manifest.get("coinChain") or {}).get("entry")]
    if any(one is not None and int(one) > int(entry["number"]) for one in named):
        return True
    marks = [register.head["checkpoint"] for register in registers]
    for root in entry["body"]["roots"]:
        if root["checkpoint"] in marks:
            said = kept.roots.of(manifest["coinType"], root["version"], root["checkpoint"])
            if all(one["from"] != root["to"] for _, one, _ in said["corrections"]):
                return True
    return False
