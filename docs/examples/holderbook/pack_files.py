"""The files of an audit pack, of a folder or a zip, and whether they are those that were signed (steps 1 to 3)."""
import base64
import hashlib
import json
import os
import re
import stat
import struct
import zipfile

from .forms import SIGNATURE, Refused, canonical, fault, parse_json
from .hashes import is_signed, key_id
from .pack_forms import (
    COMMITTEE, EXCERPT, FILE, LONGEST, LONGEST_3, LONGEST_EXCERPT, MANIFEST, MANIFEST_2, each, in_order,
)


def fail(file, what, tier="consistent"):
    raise Refused([(file, what)], tier)


def stop_at(failures, tier="consistent"):
    if failures:
        raise Refused(failures, tier)


# The files: of a folder or a zip, by path, each with its size and how it is opened.


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
                fail(path, "is neither a file nor a folder of a pack")
            if len(files) > 1_000_000:
                fail("manifest.json", "cannot list so many files", "authentic")
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
            fail(name, "is there twice, or has two names", "authentic")
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or info.flag_bits & 0x61 or info.compress_type not in (0, 8):
            fail(name, "is neither a file nor a folder of a pack")
        files[name] = info.file_size, lambda info=info: archive.open(info)
    # An archive of a folder has its name before every path.
    folders = {name.split("/")[0] + "/" for name in files}
    if len(folders) == 1 and "manifest.json" not in files:
        files = {name[len(*folders) :]: file for name, file in files.items()}
    return files


def text_of(files, path, most, tier="consistent"):
    if path not in files:
        fail(path, "is missing", tier)
    size, opened = files[path]
    if size > most:
        fail(path, f"has {size} bytes, more than {most}", tier)
    with opened() as file:
        try:
            return file.read().decode("utf-8")
        except UnicodeDecodeError:
            fail(path, "is not UTF-8", tier)


def json_of(path, text, place="", tier="consistent"):
    try:
        return parse_json(text)
    except ValueError as error:
        fail(path, f"{place}is not JSON: {error}", tier)


def lines_of(files, path, most):
    """Lines without the LF that ends each; one at a time, none longer than bounded."""
    with files[path][1]() as file:
        for at in range(1, 2**63):
            line = file.readline(4 * most + 2)
            if line == b"":
                return
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError:
                fail(path, f"line {at} is not UTF-8")
            if not text.endswith("\n"):
                fail(path, f"line {at} is too long, or is not ended")
            if len(text) > most + 1:
                fail(path, f"line {at} has more than {most} characters")
            yield at, text[:-1]


def signed_manifest(files, public_key):
    path, tier = "manifest.json", "authentic"
    text = text_of(files, path, 2**17 + 200 * len(files), tier)
    manifest = json_of(path, text, "", tier)
    wrong = manifest_fault(manifest)
    if wrong is not None:
        fail(path, wrong, tier)
    if canonical(manifest) != text.encode():
        fail(path, "is not in the form that is signed (RFC 8785)", tier)
    wrapped = text_of(files, "manifest.sig.json", 200, tier)
    signature = re.fullmatch('{"signature":"([^"]*)"}\n', wrapped)
    key, digest = manifest["publicKey"], hashlib.sha256(text.encode()).hexdigest()
    signed = {"purpose": f"holderbook-audit-pack-v{manifest['version']}", "manifestSha256": digest}
    if not signature or fault(SIGNATURE, signature[1]) or not is_signed(signature[1], canonical(signed), key):
        fail("manifest.sig.json", "is no signature of manifest.json by the key that it names", tier)
    if public_key not in (None, key):
        fail(path, f"is signed with the key {key}, not with {public_key}", tier)
    if manifest["keyId"] != key_id(key):
        fail(path, f"names the key {manifest['keyId']}, but it is {key_id(key)}", tier)
    for name in ("first", "last"):
        root, mark = manifest["roots"][name], manifest[name]
        signed = {
            "purpose": "holderbook-root-v1", "chainId": manifest["chainId"], "coinType": manifest["coinType"],
            "checkpoint": mark["checkpoint"], "checkpointDigest": mark["digest"], "root": root["root"],
            "total": root["total"],
        }
        if not is_signed(root["signature"], canonical(signed), key):
            fail(path, f"the signature of the {name} root does not fit the key", tier)
    return manifest


def manifest_fault(manifest):
    version = manifest.get("version") if isinstance(manifest, dict) else None
    required = LONGEST_3 if version == 3 else LONGEST
    form = MANIFEST if version == 1 else MANIFEST_2
    is_file = lambda path: path in required or EXCERPT.fullmatch(path) is not None
    wrong = fault({**form, "files": each(is_file, FILE, 1_000_000)}, manifest)
    if wrong is not None:
        return wrong
    if len(set(manifest["packages"])) != len(manifest["packages"]):
        return "packages has an address twice"
    for path in required:
        if path not in manifest["files"]:
            return f"files has no {path}"
    if int(manifest["first"]["checkpoint"]) >= int(manifest["last"]["checkpoint"]):
        return "last.checkpoint must be behind first.checkpoint"
    if version > 1 and (manifest["opening"] == "whole") != (manifest["coinChain"] is not None):
        return "coinChain must be there when the opening is whole, and only then"
    if (manifest["trust"]["checkpoint"] is None) != (manifest["trust"]["digest"] is None):
        return "trust has a checkpoint without its digest, or a digest without its checkpoint"
    return None


def check_files(files, listed):
    failures = []
    for path, said in listed.items():
        if path not in files:
            failures.append((path, "is missing"))
        elif str(files[path][0]) != said["size"]:
            failures.append((path, f"has {files[path][0]} bytes, not {said['size']}"))
        elif files[path][0] > LONGEST_3.get(path, LONGEST_EXCERPT):
            failures.append((path, "has more bytes than any file of its kind"))
    strangers = set(files) - set(listed) - {"manifest.json", "manifest.sig.json"}
    failures += [(path, "is no file of the manifest") for path in sorted(strangers)]
    stop_at(failures, "authentic")
    for path, said in listed.items():
        digest, read = hashlib.sha256(), 0
        with files[path][1]() as file:
            while chunk := file.read(2**20):
                digest.update(chunk)
                read += len(chunk)
        if (digest.hexdigest(), str(read)) != (said["sha256"], said["size"]):
            failures.append((path, "was changed: its SHA-256 is another"))
    stop_at(failures, "authentic")


def check_committee(files):
    """The validators at the beginning: only the form is checked, so that every reader sees the same."""
    path = "committee.json"
    text = text_of(files, path, LONGEST[path])
    committee = json_of(path, text)
    wrong = fault(COMMITTEE, committee)
    if wrong is not None:
        fail(path, wrong)
    keys = [base64.b64decode(member["publicKey"]) for member in committee["members"]]
    if keys != sorted(set(keys)):
        fail(path, "the members must ascend by their keys, each once")
    if not in_order(COMMITTEE, committee) or json.dumps(committee, indent=1) + "\n" != text:
        fail(path, "is not as the committee of a pack is printed")
