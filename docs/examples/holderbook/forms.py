"""Strict and canonical JSON (RFC 8785), and the forms of its values."""
import base64
import json
import re
from datetime import datetime


class Refused(Exception):
    """A check failed. `failures` has pairs of the file (or "") and its fault."""

    def __init__(self, failures):
        self.failures = [(printable(file), printable(what, 2000)) for file, what in failures]
        super().__init__("; ".join(f"{file}: {what}" if file else what for file, what in self.failures))


def refuse(what, file=""):
    raise Refused([(file, what)])


def stop_at(failures):
    if failures:
        raise Refused(failures)


def printable(text, most=400):
    """Makes foreign text safe for a terminal: no line breaks, cursor movements or changes of text direction."""
    text = "".join(char if " " <= char <= "~" else "\\u{%x}" % ord(char) for char in str(text)[: most + 1])
    return text if len(text) <= most else text[:most] + "..."


# JSON. Python's parser keeps the last of two equal members, and takes NaN and integers of any length.


def parse_json(text):
    """The value of a JSON text (str or UTF-8 bytes), without duplicate members. Raises ValueError."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")  # UnicodeDecodeError is a ValueError
    try:
        return json.loads(
            text, object_pairs_hook=_members, parse_int=_whole, parse_float=_whole, parse_constant=_whole
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _members(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member appears twice in one object")
    return members


def _whole(literal):
    """Whole numbers only, which no reader rounds; `6.0` is one."""
    number = float(literal[:400])
    if len(literal) > 400 or number != number or abs(number) >= 2**53 or number != int(number):
        raise ValueError("a number is no whole one below 2^53")
    return int(number)


def canonical(value):
    """RFC 8785 bytes of a JSON value: members sorted by UTF-16, not by code points as `sort_keys` does."""
    return printed(_ordered(value, 0)).encode("utf-8")  # UnicodeEncodeError, of a lone surrogate, is a ValueError


def printed(value):
    """JSON without spaces, members in their given order."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _ordered(value, depth):
    if depth > 100:
        raise ValueError("it is nested more than 100 deep")
    if isinstance(value, list):
        return [_ordered(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return {name: _ordered(value[name], depth + 1) for name in names}


# Forms. A form is a dict (an object with exactly these members), `Items`, or a pair of a test and its description.


class Items:
    """A list with a maximum number of items of one form."""

    def __init__(self, form, most, least=0):
        self.form, self.most, self.least = form, most, least


def fault(form, value, path=""):
    """Describes the first part of a value that violates its form; None if there is none."""
    inner = f"{path}." if path else ""
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return f"{path or 'it'} must be an object"
        for name in value:
            if name not in form:
                return f"{path or 'it'} has the unknown member {json.dumps(name[:100])}"
        for name in form:
            if name not in value:
                return f"{inner}{name} is missing"
        return next(filter(None, (fault(form[name], value[name], inner + name) for name in form)), None)
    if isinstance(form, Items):
        if not isinstance(value, list):
            return f"{path} must be a list"
        if not form.least <= len(value) <= form.most:
            return f"{path} has {len(value)} entries, not {form.least} to {form.most}"
        return next(filter(None, (fault(form.form, one, f"{path}[{at}]") for at, one in enumerate(value))), None)
    holds, what = form
    return None if holds(value) else f"{path} must be {what}"


def like(pattern, what):
    """Text that a pattern matches in full. (`$` would accept a final newline, and \\d digits of every script.)"""
    fits = re.compile(pattern, re.ASCII).fullmatch
    return lambda value: isinstance(value, str) and fits(value) is not None, what


def null_or(form):
    what = form[1] if isinstance(form, tuple) else "an object of its form"
    return lambda value: value is None or fault(form, value) is None, f"null, or {what}"


def one_of(*known):
    # In Python `True == 1`, so the types are compared too.
    wanted = ", ".join(map(str, known))
    return lambda value: any(type(value) is type(one) and value == one for one in known), f"one of {wanted}"


_is_decimal = like("0|[1-9][0-9]{0,38}", "")[0]


def below(limit, what):
    """A number as text, without sign and leading zeroes. int() alone would accept `+1`, ` 1`, `1_0` and `１`."""
    return lambda value: _is_decimal(value) and int(value) < limit, f"{what}, as a text"


def _is_moment(value):
    form = "[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}[.][0-9]{3}Z"
    if not isinstance(value, str) or not re.fullmatch(form, value):
        return False
    try:
        return datetime.strptime(value[:-1], "%Y-%m-%dT%H:%M:%S.%f") is not None
    except ValueError:
        return False


def base64_of(size):
    """Canonical standard base64 of that many bytes; Python's decoder skips unknown characters."""

    def holds(value):
        if not isinstance(value, str) or len(value) != (size + 2) // 3 * 4 or not value.isascii():
            return False
        try:
            decoded = base64.b64decode(value, validate=True)
        except ValueError:
            return False
        return len(decoded) == size and base64.b64encode(decoded).decode() == value

    return holds, f"base64 of {size} bytes"


BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _is_digest(value):
    if not isinstance(value, str) or not 32 <= len(value) <= 44 or set(value) - set(BASE58):
        return False
    number = 0
    for digit in value:
        number = number * 58 + BASE58.index(digit)
    leading = len(value) - len(value.lstrip("1"))
    return number < 2**256 and leading == 32 - (number.bit_length() + 7) // 8


_NAME = "[A-Za-z_][A-Za-z0-9_]{0,127}"
_STRUCT = f"0x[0-9a-f]{{64}}::{_NAME}::{_NAME}"
_BARE = f"(?:{_STRUCT}|bool|u8|u16|u32|u64|u128|u256|address|signer|!)"
_APPLIED = re.compile(f"{_STRUCT}<{_BARE}(?:,{_BARE})*>|vector<{_BARE}>")


def _is_any_type(value):
    """`T`, `vector<T>`, or a struct with any number of parameters: `0x…::module::Name<T,T>`; no spaces."""
    if not isinstance(value, str) or len(value) > 1024 or "!" in value:
        return False
    applied = 1
    while applied:  # from the inside out, each type that has its parameters becomes a sign of its own
        value, applied = _APPLIED.subn("!", value)
    return re.fullmatch(_BARE, value) is not None


FORMS = {
    "number": below(2**63, "a whole number below 2^63"),
    "u64": below(2**64, "a whole number below 2^64"),
    "amount": below(2**128, "a whole number below 2^128"),
    "time": below(8_640_000_000_000_001, "a time in milliseconds"),
    "index": below(1_000_000, "a whole number below 1,000,000"),
    "byte": (lambda value: type(value) is int and 0 <= value <= 255, "a whole number up to 255"),
    "count": (lambda value: type(value) is int and value >= 0, "a whole number"),
    "flag": (lambda value: isinstance(value, bool), "true or false"),
    "text": (lambda value: isinstance(value, str), "a text"),
    "object": (lambda value: isinstance(value, dict), "an object"),
    "hash": like("[0-9a-f]{64}", "64 lower-case hex digits"),
    "salt": like("[0-9a-f]{32}", "32 lower-case hex digits"),
    "address": like("0x[0-9a-f]{64}", "an address: 0x and 64 lower-case hex digits"),
    "chain": like("[0-9A-Za-z][0-9A-Za-z._:-]{0,99}", "1 to 100 letters, digits and . _ : -"),
    "key_id": like("[0-9A-Za-z_-]{1,100}", "1 to 100 letters, digits, _ and -"),
    "share": like("[01][.][0-9]{12}", "a share with 12 digits after the point"),
    "name": like(f"{_NAME}::{_NAME}", "a module and a name"),
    "moment": (_is_moment, "a time such as 2026-07-01T00:00:02.114Z"),
    "public_key": base64_of(32),
    "signature": base64_of(64),
    "validator": base64_of(96),
    "digest": (_is_digest, "a digest: the base58 of 32 bytes"),
    "type": (lambda value: _is_any_type(value) and value.startswith("0x"), "a Move type in canonical form"),
    "any_type": (_is_any_type, "a Move type in canonical form"),
}


def members(text, **others):
    """The form of an object: `name:form`, with `?` behind if it may be null, and names alone for those in `others`."""
    form = {}
    for word in text.split():
        name, _, kind = word.partition(":")
        one = FORMS[kind.rstrip("?")] if kind else others[name]
        form[name] = null_or(one) if kind.endswith("?") else one
    return form
