"""A pack's certificate of completeness: whose it is, and whether the pack's facts give what it counts."""
from .forms import canonical, refuse
from .hashes import is_signed
from .pack_files import json_of, text_of
from .pack_forms import CERTIFICATE, LONGEST

PATH = "certificate.json"


def certificate_in(files, manifest):
    """The certificate of a signed pack of version 4: of its key, token, chain, packages and last checkpoint."""
    text = text_of(files, PATH, LONGEST[PATH])
    certificate = json_of(PATH, text, CERTIFICATE)
    live, served = int(certificate["chains"]["live"]), certificate["heads"]["served"]
    if any(int(one["same"]) + int(one["changed"]) != live for one in served):
        refuse(f"heads.served must each come to the {live} live objects", PATH)
    if canonical(certificate) + b"\n" != text.encode():
        refuse("is not in the form that is signed (RFC 8785)", PATH)
    last, through = manifest["last"], certificate["through"]
    for what, own, of in (
        *((name, certificate[name], manifest[name]) for name in ("publicKey", "chainId", "coinType", "packages")),
        *((name, through[name], last[name]) for name in ("checkpoint", "digest")),
    ):
        if own != of:
            refuse(f"has the {what} {own}, not {of}, as the pack", PATH)
    claims = {name: value for name, value in certificate.items() if name != "signature"}
    signed = canonical({"purpose": "holderbook-completeness-v1", **claims})
    if not is_signed(certificate["signature"], signed, manifest["publicKey"]):
        refuse("is not signed by the key it names", PATH)
    return certificate
