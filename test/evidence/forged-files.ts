/** Files of a pack that another reader reads otherwise, or that nothing of the check reads. */
import { readCertified } from "../../src/ledger/proof/certificate.ts";
import { summaryExcerpt } from "../../src/ledger/proof/excerpt.ts";
import { changed, excerpts, type Forgery, manifestIn, text } from "./forging.ts";
import { type PackInMemory, signedAnew } from "./packs.ts";

type Members = { publicKey: string; stake: string }[];
type CommitteeJson = { epoch: string; members: Members };

const committee = (name: string, edit: (json: CommitteeJson) => unknown) =>
  text("committee.json", name, (own) => {
    const edited = edit(JSON.parse(own));
    return typeof edited === "string" ? edited : `${JSON.stringify(edited, null, 1)}\n`;
  });

const members = (name: string, edit: (members: Members) => unknown) =>
  committee(name, (json) => ({ ...json, members: edit(json.members) }));

const LAST_TABLE = "last/cap-table.json";

/** The same validators, checkpoints and registers, said in another way, and what is there besides. */
export const FORGED_FILES: readonly Forgery[] = [
  text("committee.json", "other validators before those that count", (own) =>
    own.replace("{", '{"epoch":"0","members":[{"publicKey":"AAAA","stake":"10000"}],'),
  ),
  committee("a member that nobody knows", (json) => ({ ...json, network: "mainnet" })),
  committee("the validators within others", (json) => ({
    epoch: json.epoch,
    members: [],
    committee: json,
  })),
  committee("without spaces", (json) => `${JSON.stringify(json)}\n`),
  members("in another order", (own) => own.toReversed()),
  members("a validator twice", (own) => [...own.slice(0, 1), ...own]),
  members("keys in hex", (own) =>
    own.map(({ publicKey, stake }) => ({
      publicKey: Buffer.from(publicKey, "base64").toString("hex"),
      stake,
    })),
  ),
  members("stakes as numbers", (own) => own.map((one) => ({ ...one, stake: Number(one.stake) }))),
  members("members in another order", (own) =>
    own.map(({ publicKey, stake }) => ({ stake, publicKey })),
  ),

  {
    name: "the manifest says: an address of the contract twice",
    foundBy: "all",
    forge: (pack, key) =>
      signedAnew(pack, ({ packages }) => ({ packages: [...packages, packages.at(-1)] }), key),
  },
  {
    name: "the manifest says: the name of another key",
    foundBy: "all",
    forge: (pack, key) => {
      const keyId = `dep_${"0".repeat(16)}`;
      const own = signedAnew(pack, undefined, key);
      const named = changed(own, "report.md", (report) =>
        report.replace(manifestIn(own).keyId, keyId),
      );
      return signedAnew(named, () => ({ keyId }), key);
    },
  },
  text(LAST_TABLE, "members of the head in another order", (own) =>
    own.replace(/("coinType":"[^"]*"),("decimals":\d+)/, "$2,$1"),
  ),
  text(LAST_TABLE, "members of a wallet in another order", (own) =>
    own.replace(/("groupId":(?:null|"\d+")),("isFrozen":(?:true|false))/, "$2,$1"),
  ),
  text(LAST_TABLE, "a letter by its number", (own) => own.replace("::acme", "::\\u0061cme")),
  text(LAST_TABLE, "lines with CR", (own) => own.replaceAll("\n", "\r\n")),
  text("report.md", "lines with CR", (own) => own.replaceAll("\n", "\r\n"), "command"),
  text("report.md", "a byte order mark", (own) => `\ufeff${own}`, "command"),
  text("report.md", "nothing", () => "", "command"),

  excerpts("one is there again behind the last", (pack, paths) => {
    const bytes = pack.get(paths.at(-1) ?? "") ?? new Uint8Array();
    return pack.set("checkpoints/999.binpb", bytes);
  }),
  excerpts("one is there again between", (pack, paths) => {
    const last = paths.at(-1) ?? "";
    const before = `checkpoints/${Number(/\d+/.exec(last)?.[0]) - 1}.binpb`;
    return pack.set(before, pack.get(last) ?? new Uint8Array());
  }),
];

/** A summary of the first epoch, which nobody signed so, among the ends of epochs. */
const withUnsignedSummary = async (pack: PackInMemory): Promise<PackInMemory> => {
  const bytes = pack.get("checkpoints/2.binpb") ?? new Uint8Array();
  const certified = readCertified({ sequence: 2n, encoding: "protobuf", bytes });
  const { certificate } = certified;
  if (certificate === null) throw new Error("checkpoint 2 has no signature");
  const signature = certificate.signature.with(40, (certificate.signature[40] ?? 0) ^ 1);
  const forged = await summaryExcerpt({
    ...certified,
    certificate: { ...certificate, signature },
  });
  return new Map(pack).set("epochs/2.binpb", Uint8Array.from(forged));
};

/** Of a pack that has checkpoint 2, one that ends its epoch, and ends of epochs behind it. */
export const FORGED_EPOCHS: readonly Forgery[] = [
  {
    name: "epochs: a summary that nobody signed, of an epoch that has passed",
    foundBy: "command",
    forge: async (pack, key) => signedAnew(await withUnsignedSummary(pack), undefined, key),
  },
];
