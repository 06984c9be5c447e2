"""Ed25519 signatures, and the rows of a cap table with the tree of hashes and sums over them."""
import base64
import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_FIELD = 2**255 - 19
# The points of small order, under which one signature verifies for every text: y without the sign of x.
_SMALL = {0, 1, _FIELD - 1} | {
    int.from_bytes(bytes.fromhex(y), "little")
    for y in (
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
}


def is_signed(signature, text, public_key):
    """Whether a key signed these bytes with Ed25519. Key and signature are base64, already validated."""
    key = base64.b64decode(public_key)
    y = int.from_bytes(key, "little") % 2**255
    if y >= _FIELD or y in _SMALL:  # OpenSSL would take them
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(base64.b64decode(signature), text)
    except (InvalidSignature, ValueError):
        return False
    return True


def key_id(public_key):
    return "dep_" + hashlib.sha256(public_key.encode()).hexdigest()[:16]


def blake2b(*parts):
    return hashlib.blake2b(b"".join(parts), digest_size=32).digest()


def _u32(number):
    return number.to_bytes(4, "big")


def _text(value):
    encoded = value.encode("utf-8")
    return _u32(len(encoded)) + encoded


def leaf(version, coin_type, checkpoint, row, decimals=None):
    """Hash and sum of a row of a cap table. `decimals` is used in version 2 only."""
    wallets = row["wallets"]
    fields = [_text(coin_type), _text(checkpoint), _text(row["holderId"] or ""), _u32(len(wallets))]
    fields += [_text(wallet["address"]) for wallet in wallets]
    fields += [_text(row[name]) for name in ("balance", "tokens", "granted")]
    if version == 2:
        fields += [_text(row["unlocked"]), _text(row["locked"])]
        for wallet in wallets:
            frozen = b"\1" if wallet["isFrozen"] else b"\0"
            fields += [_text(wallet["balance"]), _text(wallet["groupId"] or ""), frozen]
        fields.append(_text("" if decimals is None else str(decimals)))
    return blake2b(b"\0" if version == 1 else b"\2", *fields), int(row["balance"])


def parent(left, right):
    """The parent of two nodes. Raises OverflowError if the sum exceeds 16 bytes."""
    numbers = (left[1].to_bytes(16, "big"), right[1].to_bytes(16, "big"))
    return blake2b(b"\1", left[0], numbers[0], right[0], numbers[1]), left[1] + right[1]


def root_of(leaves):
    """Hash and sum at the top of the tree: pairs from the left, a lone last node moves up unchanged."""
    level = leaves or [(bytes(32), 0)]  # 32 zero bytes where there is no row
    while len(level) > 1:
        pairs = [level[at : at + 2] for at in range(0, len(level), 2)]
        level = [parent(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


def share_of(balance, total):
    """`balance / total` with 12 digits, rounded down; zero for a total of zero."""
    digits = str(balance * 10**12 // total if total else 0).rjust(13, "0")
    return f"{digits[:-12]}.{digits[-12:]}"


def row_faults(row, total):
    """The faults of a cap table row with this total: wrong order, or wrong sums."""
    balance, tokens, granted, unlocked, locked = (
        int(row[name]) for name in ("balance", "tokens", "granted", "unlocked", "locked")
    )
    addresses = [wallet["address"] for wallet in row["wallets"]]
    if addresses != sorted(set(addresses)):
        yield "its wallets are not in ascending order, each once"
    if row["holderId"] is None and len(addresses) != 1:
        yield "a row without a holder is that of one wallet"
    if balance == 0:
        yield "it holds nothing, and so is no row of a table"
    if sum(int(wallet["balance"]) for wallet in row["wallets"]) != balance or tokens + granted != balance:
        yield "wallets, or tokens and granted, do not add up to the balance"
    if unlocked + locked != granted:
        yield "unlocked and locked do not add up to granted"
    if row["share"] != share_of(balance, total):
        yield "the share is not balance divided by total"
