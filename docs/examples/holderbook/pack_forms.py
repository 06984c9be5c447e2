"""The forms of all JSON in an audit pack."""
import re

from .forms import FORMS, Items, base64_of, fault, like, members, null_or, one_of

LONGEST = {  # bytes of each file that every pack has; acts from version 3 on, a certificate in version 4
    "report.md": 2**28, "committee.json": 2**20, "first/cap-table.json": 2**31, "first/state.ndjson": 2**31,
    "last/cap-table.json": 2**31, "movements.ndjson": 2**33, "holder-events.ndjson": 2**32, "role-events.ndjson": 2**32,
    "acts.ndjson": 2**26, "certificate.json": 2**20,
}
LONGEST_EXCERPT = 2**26
EXCERPT = re.compile("((checkpoints|epochs|later)/(0|[1-9][0-9]{0,17})[.]binpb|objects/(0|[1-9][0-9]{0,17})[.]bin)")
LONGEST_LINE, LONGEST_ROW = 2**19, 2**21

def each(name, form, most):
    """An object with any members whose names match."""
    return lambda value: isinstance(value, dict) and len(value) <= most and all(
        name(one) and fault(form, value[one]) is None for one in value
    ), "an object with members of the known names and forms"


FILE = members("sha256:hash size:number")
_MARK = members("checkpoint:number digest:digest timestampMs:time")
_ROOT = members("root:hash total:amount signature:signature")
_DIGESTS = each(like("[a-z_]{1,40}", "")[0], FORMS["hash"], 20)
MANIFEST = members(
    "format version chainId:chain coinType:type packages first last opening trust digests roots holderNames "
    "keyId:key_id publicKey:public_key",
    format=one_of("holderbook-audit-pack"), version=one_of(1, 2, 3, 4), packages=Items(FORMS["address"], 1000),
    first=_MARK, last=_MARK, opening=one_of("proven", "signed"),
    trust=members("epoch:number checkpoint:number? digest:digest?"), holderNames=null_or(FILE),
    digests={"first": _DIGESTS, "last": _DIGESTS}, roots={"first": _ROOT, "last": _ROOT},
)
MANIFEST_2 = {
    **MANIFEST, "opening": one_of("whole", "proven", "signed"),
    "coinChain": null_or(members("facts:number hash:hash entry:number")),
}
MANIFEST_4 = {**MANIFEST_2, "opening": one_of("whole")}
COMMITTEE = members("epoch:number members", members=Items(members("publicKey:validator stake:number"), 4096))
HEAD = members(
    "coinType:type decimals:byte? checkpoint:number checkpointTimestamp:number checkpointDigest:digest "
    "totalSupply:u64? issued:amount holderCount:count root:hash rows", rows=Items(None, 0),
)
ROW = members(
    "holderId:u64? wallets balance:amount tokens:amount granted:amount unlocked:amount locked:amount share:share",
    wallets=Items(members("address:address balance:amount groupId:u64? isFrozen:flag"), 10_000, 1),
)


def is_contents(value):
    """Base64 of any number of bytes up to 300,000."""
    if not isinstance(value, str) or len(value) > 400_000:
        return False
    return value == "" or base64_of(len(value) * 3 // 4 - value.count("=", -2))[0](value)


STANDING = {
    "object": members(
        "kind objectId:address version:u64 type:type name:name checkpoint:number transaction:index index:index "
        "txDigest:digest sender:address timestampMs:time contents",
        kind=one_of("object"), contents=(is_contents, "base64"),
    ),
    "membership": members(
        "kind address:address aspect value:u64 checkpoint:number", kind=one_of("membership"),
        aspect=one_of("holder", "group", "freeze"),
    ),
    "role": members("kind owner:address role:any_type checkpoint:number", kind=one_of("role")),
}


def is_change(value):
    return isinstance(value, str) and value != "-0" and FORMS["amount"][0](value.removeprefix("-"))


CAUSES = "MINT BURN TRANSFER FORCE_TRANSFER GRANT_FUNDED GRANT_CLAIMED GRANT_CANCELLED UNKNOWN".split()
EVENT_TYPES = (
    "holder_added holder_removed holder_address_added holder_address_removed address_joined_group address_left_group "
    "address_frozen"
).split()
_PLACE = "position:u64 txDigest:digest timestampMs:time "
EVENTS = {
    "movements.ndjson": members(
        _PLACE + "owner:address part cause change balanceAfter:amount", part=one_of("TOKENS", "GRANTS"),
        cause=one_of(*CAUSES), change=(is_change, "a whole number between -2^128 and 2^128, as a text"),
    ),
    "holder-events.ndjson": members(
        _PLACE + "eventType holderId:u64? address:address? groupId:u64? isFrozen:flag?", eventType=one_of(*EVENT_TYPES),
    ),
    "role-events.ndjson": members(_PLACE + "owner:address role:any_type granted:flag signer:address"),
}


def plain(most):
    """Visible ASCII and spaces, without the character that ends code in a report."""
    return like("[ -_a-~]{1,%d}" % most, f"1 to {most} visible characters of ASCII, without `")


_DETAIL = lambda value: value is None or isinstance(value, bool) or plain(2000)[0](value), "null, true, false or a text"
ACT = members(
    "number at:moment command details by scope coinType:type? salt:salt entry:number?",
    number=(lambda value: FORMS["amount"][0](value) and value != "0", "a number from 1 on, as a text"),
    command=like("[a-z][a-z-]{0,39}( [a-z][a-z-]{0,39}){0,2}", "the words of a command"),
    details=each(like("[A-Za-z]{1,40}", "")[0], _DETAIL, 20),
    by={"user": plain(200), "host": plain(255), "role": plain(200)}, scope=one_of("deployment", "coin"),
)

CERTIFICATE = members(
    "format version chainId:chain coinType:type packages through profile bytecode chains closure conservation heads "
    "onFaith keyId:key_id publicKey:public_key signature:signature",
    format=one_of("holderbook-completeness"), version=one_of(1), packages=Items(FORMS["address"], 1000),
    through=members("checkpoint:number digest:digest"), profile=like("[a-z0-9][a-z0-9.-]{0,39}", "a profile's name"),
    bytecode=Items(members("package:address hash:hash"), 1000),
    chains=members("objects:number versions:number live:number"),
    closure=members("transactions:number"), conservation=members("checkpoints:number supply:u64"),
    heads=members("hash:hash served", served=Items(
        members(
            "source as at:moment same:number changed:number",
            source=plain(255), **{"as": one_of("source", "witness")},
        ), 10,
    )),
    onFaith=Items(plain(1000), 100),
)


def in_order(form, value):
    """Whether the members of an object, and of objects in its lists, are in the order of its form."""
    if list(value) != list(form):
        return False
    lists = ((form[name].form, value[name]) for name in form if isinstance(form[name], Items))
    return all(in_order(inner, one) for inner, items in lists for one in items)
