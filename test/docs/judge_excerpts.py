"""What an excerpt proves, and what a pack's excerpts make of its files."""
import base64
import json

from holderbook.excerpts import refuse, said_by
from holderbook.forms import canonical
from holderbook.hashes import share_of
from holderbook.pack_files import open_pack
from judge_facts import Fold, facts, is_claimed, parts_of


def excerpt(checkpoint, packages, excerpt, says):
    if said_by(checkpoint, packages, base64.b64decode(excerpt)) != says:
        refuse("says something else")
    return {}


def remade(path):
    """Whether the facts of a pack with all of them make its chain, its lines and its registers."""
    files = open_pack(path)
    content = {path: opened().read() for path, (_, opened) in files.items()}
    manifest = json.loads(content["manifest.json"])
    numbers = sorted(int(path[12:-6]) for path in files if path.startswith("checkpoints/"))
    links = [(at, said_by(str(at), manifest["packages"], content[f"checkpoints/{at}.binpb"])) for at in numbers]
    for _, link in links:
        link["facts"] = [fact for fact in link["facts"] if parts_of(fact["type"])[1] == manifest["coinType"]]
    chain = manifest["coinChain"]
    facts(None, [{"checkpoint": at, **link} for at, link in links if link["facts"]], chain["hash"])
    all_facts = [fact for _, link in links for fact in link["facts"]]
    is_claimed(chain["facts"], str(len(all_facts)))
    first = int(manifest["first"]["checkpoint"])
    folds = {
        "first": Fold([fact for fact in all_facts if int(fact["checkpoint"]) <= first]), "last": Fold(all_facts),
    }
    for name, made in (
        ("movements", folds["last"].movements), ("holder-events", folds["last"].holder_events),
        ("role-events", folds["last"].role_events),
    ):
        lines = [canonical(line) + b"\n" for line in made if int(line["position"]) // 10**9 > first]
        is_claimed(content[f"{name}.ndjson"], b"".join(lines))
    for name, fold in folds.items():
        rows = fold.rows(int(manifest[name]["timestampMs"]))
        table = json.loads(content[f"{name}/cap-table.json"])
        total = sum(int(row["balance"]) for row in rows)
        for row in rows:
            row["share"] = share_of(int(row["balance"]), total)
        is_claimed(table["rows"], rows)
    return {}


CHECKS = {"excerpt": excerpt, "remade": remade}
