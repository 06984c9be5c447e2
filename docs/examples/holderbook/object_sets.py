"""What a checkpoint left behind, by the commitment in its summary: a tree over all objects that it wrote."""
from .forms import refuse
from .hashes import blake2b

OMITTED, INNER, LEFT = range(3)
DEEPEST = 64


def leaf_hash(object_id, version, digest):
    return blake2b(b"\0", bytes.fromhex(object_id[2:]), version.to_bytes(8, "little"), b"\x20", digest)


def prove(path, commitment, left, proof):
    """Refuses a proof unless the checkpoint left these objects (id, version, digest) so."""
    references, at = iter(sorted(left)), 0

    def node(depth):
        nonlocal at
        kind = proof[at] if at < len(proof) else None
        at += 1
        if kind == OMITTED and at + 32 <= len(proof):
            at += 32
            return proof[at - 32 : at]
        if kind == INNER and depth < DEEPEST:
            return blake2b(b"\1", node(depth + 1), node(depth + 1))
        reference = next(references, None) if kind == LEFT else None
        if reference is None:
            refuse("is no proof of these objects", path)
        return leaf_hash(*reference)

    root = node(0)
    if at != len(proof) or next(references, None) is not None:
        refuse("is no proof of these objects", path)
    if blake2b(b"\1\x20", root) != commitment:
        refuse(
            f"does not match the commitment of the checkpoint's summary: the checkpoint left object {min(left)[0]}, or "
            f"another of {len(left)}, in another version, or the proof is of another checkpoint", path,
        )
