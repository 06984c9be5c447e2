"""Reads an excerpt of a checkpoint: its facts, with every digest up to the summary. Signatures are not looked at."""
import base64

from .forms import BASE58, Refused
from .hashes import blake2b


def refuse(what):
    raise Refused([("", what)])


def base58(value):
    number, text = int.from_bytes(value, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return "1" * (len(value) - len(value.lstrip(b"\0"))) + text


def digest(name, bcs):
    return blake2b(f"{name}::".encode(), bcs)


# BCS. A layout is a function that reads; `struct` and `variants` make others of them.


class Reader:
    def __init__(self, value):
        self.bytes, self.at = value, 0

    def take(self, count):
        if self.at + count > len(self.bytes):
            refuse("ends too early")
        self.at += count
        return self.bytes[self.at - count : self.at]

    def uleb(self):
        number, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                if byte == 0 and shift > 7:
                    refuse("a length is not in the fewest bytes")
                return number


def whole(layout, value):
    reader = Reader(value)
    read = layout(reader)
    if reader.at != len(value):
        refuse("has bytes behind its end")
    return read


def number(size):
    return lambda reader: int.from_bytes(reader.take(size), "little")


u8, u16, u32, u64 = map(number, (1, 2, 4, 8))
addr = lambda reader: "0x" + reader.take(32).hex()
data = lambda reader: reader.take(reader.uleb())
text = lambda reader: data(reader).decode()
flag = lambda reader: {0: False, 1: True}[u8(reader)]
nothing = lambda reader: None


def hash32(reader):
    if reader.uleb() != 32:
        refuse("a digest has another length than 32")
    return reader.take(32)


def many(layout):
    return lambda reader: [layout(reader) for _ in range(reader.uleb())]


def maybe(layout):
    return lambda reader: layout(reader) if flag(reader) else None


def struct(*layouts, **named):
    def read(reader):
        unnamed = [layout(reader) for layout in layouts]
        return {name: layout(reader) for name, layout in named.items()} if named else unnamed

    return read


def variants(*layouts):
    return lambda reader: (lambda at: (at, layouts[at](reader)))(reader.uleb())


def type_tag(reader):
    return TAGS[reader.uleb()](reader)


def struct_tag(reader):
    own, module, name, parameters = addr(reader), text(reader), text(reader), many(type_tag)(reader)
    return f"{own}::{module}::{name}" + (f"<{','.join(parameters)}>" if parameters else "")


def word(name):
    return lambda reader: name


vector = lambda reader: f"vector<{type_tag(reader)}>"
TAGS = [*map(word, "bool u8 u64 u128 address signer".split()), vector, struct_tag, *map(word, ("u16", "u32", "u256"))]

commitment = variants(hash32, hash32)
member = struct(data, u64)
SUMMARY = struct(
    epoch=u64, sequence=u64, total=u64, content=hash32, previous=maybe(hash32), gas=struct(u64, u64, u64, u64),
    time=u64, commitments=many(commitment), end=maybe(struct(many(member), u64, many(commitment))), data=data,
)
CONTENTS = variants(
    struct(transactions=many(struct(hash32, hash32)), signatures=many(many(data))),
    struct(transactions=many(struct(hash32, hash32, many(struct(data, maybe(u64)))))),
)
ref = struct(addr, u64, hash32)
owner = variants(addr, addr, u64, nothing, struct(u64, addr), struct(u64, u64, many(struct(addr, u64))))
location = struct(addr, text, u16, u16, maybe(text))
argument_error = variants(*[nothing] * 4, u16, struct(u16, u16), u16, *[nothing] * 13)
upgrade_error = variants(addr, addr, nothing, data, u8, struct(addr, addr))
reason = variants(
    *[nothing] * 4, struct(u64, u64), struct(u64, u64), addr, *[nothing] * 4, maybe(location), struct(location, u64),
    *[nothing] * 6, struct(u16, argument_error), struct(u16, variants(nothing, nothing)), struct(u16, u16), u16,
    nothing, struct(u64, u64), nothing, nothing, upgrade_error, struct(u64, u64), *[nothing] * 4, many(addr), struct(addr, text),
    text, nothing, struct(u64, u64), struct(u64, u64), nothing, nothing, addr,
)
status = variants(nothing, struct(reason, maybe(u64)))
gas = struct(u64, u64, u64, u64)
owned = struct(ref, owner)
accumulated = struct(
    addr, type_tag, variants(nothing, nothing), variants(u64, struct(u64, u64), many(struct(u64, hash32)))
)
changed = struct(
    addr, variants(nothing, struct(struct(u64, hash32), owner)),
    variants(nothing, struct(hash32, owner), struct(u64, hash32), accumulated), variants(nothing, nothing, nothing),
)
EFFECTS = variants(
    struct(
        status=status, epoch=u64, gas=gas, before=many(struct(addr, u64)), shared=many(ref), transaction=hash32,
        created=many(owned), mutated=many(owned), unwrapped=many(owned), deleted=many(ref), gone=many(ref),
        wrapped=many(ref), paid=owned, events=maybe(hash32), dependencies=many(hash32),
    ),
    struct(
        status=status, epoch=u64, gas=gas, transaction=hash32, paid=maybe(u32), events=maybe(hash32),
        dependencies=many(hash32), version=u64, changed=many(changed),
        unchanged=many(struct(addr, variants(struct(u64, hash32), u64, u64, u64, nothing))), more=maybe(hash32),
    ),
)
EVENTS = many(struct(addr, text, addr, struct_tag, data))
SUI = "0x" + "0" * 63 + "2::sui::SUI"
system = lambda number, rest: "0x" + f"{number:064x}" + rest
field_of = lambda coin: system(2, "::dynamic_field::Field<") + system(2, "::accumulator::Key<") + system(
    2, f"::balance::Balance<{coin}>>,"
) + system(2, "::accumulator::U128>")
OBJECT_TYPES = [
    struct_tag, word(system(2, f"::coin::Coin<{SUI}>")), word(system(3, "::staking_pool::StakedSui")),
    lambda reader: system(2, f"::coin::Coin<{type_tag(reader)}>"), word(field_of(SUI)),
    lambda reader: field_of(type_tag(reader)),
]
object_type = lambda reader: OBJECT_TYPES[reader.uleb()](reader)
object_data = variants(
    struct(type=object_type, public=flag, version=u64, contents=data),
    struct(id=addr, version=u64, modules=many(struct(text, data)), origins=many(struct(text, text, addr)),
           linkage=many(struct(addr, addr, u64))),
)
OBJECT = struct(object_data, owner, hash32, u64)
argument = variants(nothing, u16, u16, struct(u16, u16))
arguments = many(argument)
call_argument = variants(
    data, variants(ref, struct(addr, u64, variants(nothing, nothing, nothing)), ref),
    struct(variants(u64), variants(type_tag), variants(nothing, nothing, struct(addr, addr))),
)
command = variants(
    struct(addr, text, text, many(type_tag), arguments), struct(arguments, argument), struct(argument, arguments),
    struct(argument, arguments), struct(many(data), many(addr)), struct(maybe(type_tag), arguments),
    struct(many(data), many(addr), addr, argument),
)
programmable = struct(many(call_argument), many(command))
change_epoch = struct(*[u64] * 7, many(struct(u64, many(data), many(addr))))
jwk = struct(*[text] * 6, u64)
prologue = struct(
    u64, u64, maybe(u64), u64, hash32,
    variants(many(struct(hash32, many(struct(addr, u64)))), many(struct(hash32, many(struct(addr, u64, u64))))),
)
observed = variants(struct(addr, text, text, many(type_tag)), *[nothing] * 6)
observations = variants(many(struct(observed, many(struct(data, u64, u32)))))
end_of_epoch = variants(
    change_epoch, nothing, struct(u64, u64), nothing, nothing, hash32, u64, observations, *[nothing] * 4, u64, nothing
)
kind = variants(
    programmable, change_epoch, many(variants(struct(object_data, owner))), struct(u64, u64, u64),
    struct(u64, u64, many(jwk), u64), many(end_of_epoch), struct(u64, u64, data, u64), struct(u64, u64, u64, hash32),
    prologue, struct(prologue, hash32), programmable,
)
validity = struct(*[maybe(u64)] * 4, hash32, u32)
expiration = variants(nothing, u64, validity, struct(validity, maybe(struct(u64, many(u32)))))
TRANSACTION = variants(
    struct(kind=kind, sender=addr, payment=many(ref), owner=addr, price=u64, budget=u64, expiration=expiration)
)


# The protobuf around it.


def fields(message):
    """Pairs of a field's number and its value, a number or bytes, ascending and in the fewest bytes."""
    reader, found, before = Reader(message), [], 0
    while reader.at < len(message):
        field, wire = divmod(reader.uleb(), 8)
        if field < max(before, 1) or wire not in (0, 2):
            refuse("has a field of another kind, or out of its order")
        found.append((field, reader.uleb() if wire == 0 else data(reader)))
        before = field
    return found


def message(value, known, repeated=()):
    found = {}
    for field, one in fields(value):
        if field not in known or (field in found and field not in repeated):
            refuse(f"has the field {field}")
        found.setdefault(field, []).append(one)
    return {field: values if field in repeated else values[0] for field, values in found.items()}


def bcs_in(value):
    inner = message(message(value, {1}).get(1, b""), {2})
    return inner.get(2, b"")


def said_by(checkpoint, packages, excerpt):
    """What an excerpt proves: the summary's digest, time and transactions, and the facts in their order."""
    return read(checkpoint, packages, excerpt)[0]


def read(checkpoint, packages, excerpt):
    """What `said_by` gives; version and digest of each object left live; the commitment to all that were written."""
    parts = message(excerpt, {1, 3, 4, 5, 6, 7}, repeated={6})
    if not parts.keys() >= {1, 3, 4, 5, 7} or str(parts[1]) != checkpoint:
        refuse("lacks a part, or is of another checkpoint")
    signature = message(parts[4], {1, 2, 3})
    summary_bcs, contents_bcs = bcs_in(parts[3]), bcs_in(parts[5])
    summary, (_, contents) = whole(SUMMARY, summary_bcs), whole(CONTENTS, contents_bcs)
    if summary["sequence"] != int(checkpoint) or digest("CheckpointContents", contents_bcs) != summary["content"]:
        refuse("has other contents than the summary names")
    if signature.keys() != {1, 2, 3} or len(parts.get(6, [])) != len(contents["transactions"]):
        refuse("has no signature, or other transactions than the contents name")
    objects = [bcs_in(one) for one in message(parts[7], {1}, repeated={1}).get(1, [])]
    found, left = [], {}
    for at, (value, listed) in enumerate(zip(parts.get(6, []), contents["transactions"])):
        if value == b"":
            continue
        head = {"checkpoint": checkpoint, "transaction": str(at), "timestampMs": str(summary["time"])}
        found += facts_of(message(value, {2, 4, 5}), listed, objects, head, packages, left)
    if objects:
        refuse("has an object that no transaction wrote")
    previous = summary["previous"]
    object_set = next((digest for kind, digest in summary["commitments"] if kind == 1), None)
    says = {
        "digest": base58(digest("CheckpointSummary", summary_bcs)), "contentDigest": base58(summary["content"]),
        "previousDigest": previous and base58(previous), "epoch": str(summary["epoch"]),
        "timestampMs": str(summary["time"]), "transactions": [base58(one[0]) for one in contents["transactions"]],
        "facts": found,
    }
    return says, left, object_set


def facts_of(parts, listed, objects, head, packages, left):
    transaction, effects_bcs = bcs_in(parts[2]), bcs_in(parts[4])
    if digest("TransactionData", transaction) != listed[0] or digest("TransactionEffects", effects_bcs) != listed[1]:
        refuse("has another transaction than the contents name")
    effects = whole(EFFECTS, effects_bcs)[1]
    sender = whole(TRANSACTION, transaction)[1]["sender"]
    if effects["transaction"] != listed[0]:
        refuse("has the effects of another transaction")
    events_bcs = bcs_in(parts[5]) if 5 in parts else None
    if effects["events"] != (None if events_bcs is None else digest("TransactionEvents", events_bcs)):
        refuse("has other events than the effects name")
    head = {**head, "txDigest": base58(listed[0]), "sender": sender}
    own = packages_and_metadata(packages)
    found = []
    for index, (_, _, _, type_name, contents) in enumerate(whole(EVENTS, events_bcs) if events_bcs else []):
        if type_name.split("::")[0] in packages:
            fact = {"kind": "event", "index": str(index), "type": type_name}
            found.append({**head, **fact, "contents": base64.b64encode(contents).decode()})
    index = 0
    for object_id, version, before, hash, is_removed in changes(effects):
        if not objects:
            refuse("lacks an object")
        bcs = objects.pop(0)
        left.pop(object_id, None)
        if not is_removed:
            left[object_id] = version, hash
        if hash is not None and digest("Object", bcs) != hash:
            refuse(f"has another object {object_id}")
        (is_package, value), _, _, _ = whole(OBJECT, bcs)
        if is_package:
            continue
        if "0x" + value["contents"][:32].hex() != object_id or value["version"] != (before if is_removed else version):
            refuse(f"has another version of object {object_id}")
        if not own(value["type"]):
            continue
        fact = {"index": str(index), "type": value["type"], "objectId": object_id}
        if is_removed:
            fact.update(kind="removal", version=str(before))
        else:
            fact.update(kind="object", version=str(version), contents=base64.b64encode(value["contents"]).decode())
        found.append({**head, **fact, "versionBefore": None if before is None else str(before)})
        index += 1
    return found


def packages_and_metadata(packages):
    metadata = system(2, "::coin::CoinMetadata<"), system(2, "::coin_registry::Currency<")
    return lambda name: name.split("::")[0] in packages or name.startswith(metadata)


def changes(effects):
    """Id, version now and before, digest, and whether it was removed: what was there, what was made, what is gone."""
    if "changed" not in effects:
        before = dict(effects["before"])
        for name in ("mutated", "created", "unwrapped"):
            for (object_id, version, hash), _ in effects[name]:
                yield object_id, version, before.get(object_id), hash, False
        gone = {one[0] for name in ("deleted", "wrapped") for one in effects[name]}
        for object_id, version in effects["before"]:
            if object_id in gone:
                yield object_id, None, version, None, True
        return
    groups = [], [], [], []
    for object_id, (was, found), (out, made), (_operation, _) in effects["changed"]:
        before = found[0][0] if was == 1 else None
        if out in (1, 2):
            version = effects["version"] if out == 1 else made[0]
            hash = made[0] if out == 1 else made[1]
            place = 0 if was == 1 else 1 if _operation == 1 else 2
            groups[place].append((object_id, version, before, hash, False))
        elif was == 1:
            groups[3].append((object_id, None, before, found[0][1], True))
    for group in groups:
        yield from group
