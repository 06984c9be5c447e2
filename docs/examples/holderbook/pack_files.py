"""Reads the files of an audit pack from a folder or zip, and checks them against the manifest (steps 1 to 3)."""
import base64
import hashlib
import json
import os
import re
import stat
import struct
import zipfile

from .forms import FORMS, canonical, fault, parse_json, refuse, stop_at
from .hashes import is_signed, key_id
from .pack_forms import (
    COMMITTEE, EXCERPT, FILE, LONGEST, LONGEST_EXCERPT, MANIFEST, MANIFEST_2, MANIFEST_4, each, in_order,
)

# Files by path, each with its size and a function that opens it.


def open_pack(path):
    return _zip_files(path) if os.path.isfile(path) else _folder_files(path, "")


def _folder_files(folder, below):
    files = {}
    with os.scandir(os.path.join(folder, below)) as found:
        for entry in found:
            path = below + entry.name
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode) and below == "":
                files.update(_folder_files(folder, path + "/"))
            elif stat.S_ISREG(mode):
                size = entry.stat(follow_symlinks=False).st_size
                files[path] = size, lambda place=entry.path: open(place, "rb")
            else:
                refuse("is neither a file nor a folder of a pack", path)
            if len(files) > 1_000_000:
                refuse("cannot list so many files", "manifest.json")
    return files


def _zip_files(path):
    try:
        archive = zipfile.ZipFile(path)
    except (ValueError, NotImplementedError, struct.error) as error:
        raise zipfile.BadZipFile(error) from None
    files = {}
    for info in archive.infolist():
        name, mode = info.filename, info.external_attr >> 16
        if info.is_dir() and info.file_size == 0:
            continue
        if name in files or name != info.orig_filename:
            refuse("is there twice, or has two names", name)
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or info.flag_bits & 0x61 or info.compress_type not in (0, 8):
            refuse("is neither a file nor a folder of a pack", name)
        files[name] = info.file_size, lambda info=info: archive.open(info)
    # In an archive of a folder, every path begins with its name.
    folders = {name.split("/")[0] + "/" for name in files}
    if len(folders) == 1 and "manifest.json" not in files:
        files = {name[len(*folders) :]: file for name, file in files.items()}
    return files


def text_of(files, path, most):
    if path not in files:
        refuse("is missing", path)
    size, opened = files[path]
    if size > most:
        refuse(f"has {size} bytes, more than {most}", path)
    with opened() as file:
        try:
            return file.read().decode("utf-8")
        except UnicodeDecodeError:
            refuse("is not UTF-8", path)


def json_of(path, text, form, place=""):
    """Parses a JSON text and checks its form; `form` may also be a function that chooses one by the value."""
    try:
        value = parse_json(text)
    except ValueError as error:
        refuse(f"{place}is not JSON: {error}", path)
    wrong = fault(form(value) if callable(form) else form, value)
    if wrong is not None:
        refuse(place + wrong, path)
    return value


def lines_of(files, path, most):
    """Yields lines without their LF, one at a time, with a maximum length."""
    with files[path][1]() as file:
        for at in range(1, 2**63):
            line = file.readline(4 * most + 2)
            if line == b"":
                return
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError:
                refuse(f"line {at} is not UTF-8", path)
            if not text.endswith("\n") or len(text) > most + 1:
                refuse(f"line {at} has more than {most} characters, or no end", path)
            yield at, text[:-1]


def signed_manifest(files, public_key):
    path = "manifest.json"
    text = text_of(files, path, 2**17 + 200 * len(files))
    manifest = json_of(path, text, _manifest_form)
    key, version, listed = manifest["publicKey"], manifest["version"], manifest["files"]
    if canonical(manifest) != text.encode():
        refuse("is not in the form that is signed (RFC 8785)", path)
    if len(set(manifest["packages"])) != len(manifest["packages"]):
        refuse("packages has an address twice", path)
    if set(_required(version)) - set(listed):
        refuse("files has not all that a pack of its version has", path)
    if int(manifest["first"]["checkpoint"]) >= int(manifest["last"]["checkpoint"]):
        refuse("last.checkpoint must be behind first.checkpoint", path)
    if version > 1 and (manifest["opening"] == "whole") != (manifest["coinChain"] is not None):
        refuse("coinChain must be there when the opening is whole, and only then", path)
    if (manifest["trust"]["checkpoint"] is None) != (manifest["trust"]["digest"] is None):
        refuse("trust has a checkpoint without its digest, or a digest without its checkpoint", path)
    wrapped = re.fullmatch('{"signature":"([^"]*)"}\n', text_of(files, "manifest.sig.json", 200))
    signed = {
        "purpose": f"holderbook-audit-pack-v{version}", "manifestSha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    if not wrapped or fault(FORMS["signature"], wrapped[1]) or not is_signed(wrapped[1], canonical(signed), key):
        refuse("is no signature of manifest.json by the key that it names", "manifest.sig.json")
    if public_key not in (None, key):
        refuse(f"is signed with the key {key}, not with {public_key}", path)
    if manifest["keyId"] != key_id(key):
        refuse(f"names the key {manifest['keyId']}, but it is {key_id(key)}", path)
    for name in ("first", "last"):
        root, mark = manifest["roots"][name], manifest[name]
        signed = {
            "purpose": "holderbook-root-v1", "chainId": manifest["chainId"], "coinType": manifest["coinType"],
            "checkpoint": mark["checkpoint"], "checkpointDigest": mark["digest"], "root": root["root"],
            "total": root["total"],
        }
        if not is_signed(root["signature"], canonical(signed), key):
            refuse(f"the signature of the {name} root does not fit the key", path)
    return manifest


def _required(version):
    since = {"acts.ndjson": 3, "certificate.json": 4}
    return [path for path in LONGEST if version in (1, 2, 3, 4) and version >= since.get(path, 1)]


def _manifest_form(manifest):
    version = manifest.get("version") if isinstance(manifest, dict) else None
    known = _required(version)
    is_excerpt = lambda path: EXCERPT.fullmatch(path) is not None and (
        version == 4 or not path.startswith(("later/", "objects/"))
    )
    form = {1: MANIFEST, 4: MANIFEST_4}.get(version, MANIFEST_2)
    return {**form, "files": each(lambda path: path in known or is_excerpt(path), FILE, 1_000_000)}


def check_files(files, listed):
    failures = []
    for path, said in listed.items():
        if path not in files:
            failures.append((path, "is missing"))
        elif str(files[path][0]) != said["size"]:
            failures.append((path, f"has {files[path][0]} bytes, not {said['size']}"))
        elif files[path][0] > LONGEST.get(path, LONGEST_EXCERPT):
            failures.append((path, "has more bytes than any file of its kind"))
    strangers = set(files) - set(listed) - {"manifest.json", "manifest.sig.json"}
    stop_at(failures + [(path, "is no file of the manifest") for path in sorted(strangers)])
    for path, said in listed.items():
        digest = hashlib.sha256()
        with files[path][1]() as file:
            while chunk := file.read(2**20):
                digest.update(chunk)
        if digest.hexdigest() != said["sha256"]:
            failures.append((path, "was changed: its SHA-256 is another"))
    stop_at(failures)


def check_committee(files):
    """The validators at the beginning: only the form is checked, so that every reader sees the same."""
    path = "committee.json"
    text = text_of(files, path, LONGEST[path])
    committee = json_of(path, text, COMMITTEE)
    keys = [base64.b64decode(member["publicKey"]) for member in committee["members"]]
    if keys != sorted(set(keys)):
        refuse("the members must ascend by their keys, each once", path)
    if not in_order(COMMITTEE, committee) or json.dumps(committee, indent=1) + "\n" != text:
        refuse("is not as the committee of a pack is printed", path)
