/** `docs/reference/vectors/excerpt.json`: excerpts of checkpoints, and validators' signatures. */
import { z } from "zod";
import { canonicalJson } from "../../../client/canonical-json.ts";
import { CheckpointDecodeError } from "../../../src/ledger/decode/cursor.ts";
import { loadBls } from "../../../src/ledger/proof/bls.ts";
import { readCommitteeFile } from "../../../src/ledger/proof/committee-file.ts";
import { readExcerpt, readSummaryExcerpt } from "../../../src/ledger/proof/excerpt.ts";
import { CertificateError } from "../../../src/ledger/proof/proof-errors.ts";
import { committeeAfter, createProver } from "../../../src/ledger/proof/prover.ts";
import { createWanted, factsOf } from "../../../src/ledger/reading/facts.ts";
import { manifestIn } from "../../../test/evidence/forging.ts";
import { factJson } from "./facts.ts";
import { type Case, type Judge, judged, packFiles, vectorFile, verdictOf } from "./vector.ts";

const ABOUT =
  "Excerpts of a pack (`excerpt`, the protobuf bytes in base64). `says` is claimed to be what they prove once their signature holds: the checkpoint, and every fact of the contract. `signature` vectors are about the validators' signature alone.";

const number = z.string().transform(BigInt);
const bytes = z.base64().transform((text) => Buffer.from(text, "base64"));
const excerpt = z.strictObject({
  checkpoint: number,
  packages: z.array(z.string()),
  excerpt: bytes,
  says: z.json(),
});

const saysOf = async (given: Omit<z.infer<typeof excerpt>, "says">) => {
  const wanted = createWanted(given.packages);
  const { checkpoint, versionsBefore } = await readExcerpt(given.checkpoint, given.excerpt, wanted);
  const { digest, contentDigest, previousDigest, epoch, timestampMs, transactions } = checkpoint;
  return {
    digest,
    contentDigest,
    previousDigest,
    epoch: `${epoch}`,
    timestampMs: `${timestampMs}`,
    transactions: transactions.map((one) => one.digest),
    facts: factsOf(checkpoint).map((fact) => ({
      ...factJson(fact),
      ...(fact.kind === "event"
        ? {}
        : {
            versionBefore:
              versionsBefore.get(fact.transaction)?.get(fact.objectId)?.toString() ?? null,
          }),
    })),
  };
};

class OtherContentError extends Error {}

export const judgeExcerpt: Judge = (given) => {
  const { says, ...of } = excerpt.parse(given);
  return verdictOf([CheckpointDecodeError, OtherContentError], async () => {
    if (canonicalJson(await saysOf(of)) === canonicalJson(says)) return {};
    throw new OtherContentError("the excerpt says something else");
  });
};

export const judgeSignature: Judge = (given) => {
  const of = z
    .strictObject({ checkpoint: number, excerpt: bytes, committee: z.json() })
    .parse(given);
  const committee = readCommitteeFile("the committee", JSON.stringify(of.committee));
  return verdictOf([CertificateError, CheckpointDecodeError], async () => {
    const certified = await readSummaryOf(of.checkpoint, of.excerpt);
    const { signers, stake } = createProver(await loadBls(), committee).prove(certified);
    const next = committeeAfter(certified);
    return { signers: `${signers}`, stake: `${stake}`, endsEpoch: next !== null };
  });
};

const readSummaryOf = async (sequence: bigint, given: Uint8Array) => {
  try {
    return await readSummaryExcerpt(sequence, given);
  } catch {
    return (await readExcerpt(sequence, given, () => false)).certified;
  }
};

/** Flips one bit; base64. */
const flipped = (own: Uint8Array, at: number) => {
  const bytesOf = Buffer.from(own);
  bytesOf[at] = (bytesOf[at] ?? 0) ^ 1;
  return bytesOf.toString("base64");
};

export const excerptVectors = async (): Promise<string> => {
  const whole = await packFiles("test/fixtures/audit-pack-v2-whole.zip");
  const { packages } = manifestIn(whole);
  const own = (path: string) => Buffer.from(whole.get(path) ?? []);
  const excerpts: Case[] = [];
  for (const checkpoint of ["2", "11", "27", "28", "31"]) {
    const file = own(`checkpoints/${checkpoint}.binpb`);
    const says = await saysOf({
      checkpoint: BigInt(checkpoint),
      packages: [...packages],
      excerpt: file,
    });
    const given = { checkpoint, packages: [...packages], excerpt: file.toString("base64"), says };
    excerpts.push([`checkpoint ${checkpoint}`, given, null]);
    if (checkpoint !== "31") continue;
    const [first, ...others] = says.facts;
    excerpts.push(
      ["another number than its own", { ...given, checkpoint: "30" }, "holds checkpoint 31"],
      ["a fact is left out", { ...given, says: { ...says, facts: others } }, "says something else"],
      [
        "a fact of another sender",
        {
          ...given,
          says: { ...says, facts: [{ ...first, sender: `0x${"e".repeat(64)}` }, ...others] },
        },
        "says something else",
      ],
      [
        "only one address of the contract",
        { ...given, packages: [`0x${"2".padStart(64, "0")}`] },
        "says something else",
      ],
      [
        "a byte of its last object is another",
        { ...given, excerpt: flipped(file, file.length - 20) },
        "has digest",
      ],
      [
        "a byte behind the end",
        { ...given, excerpt: Buffer.concat([file, Buffer.of(0)]).toString("base64") },
        "",
      ],
      [
        "an unknown field behind the end",
        {
          ...given,
          excerpt: Buffer.concat([file, Buffer.of(0xc2, 0x3e, 1, 65)]).toString("base64"),
        },
        "has nothing but what proves its transactions",
      ],
    );
  }
  const committee = JSON.parse(own("committee.json").toString());
  const of = (checkpoint: string, file: Uint8Array, change: object = {}) => ({
    checkpoint,
    excerpt: Buffer.from(file).toString("base64"),
    committee,
    ...change,
  });
  const [file, ends, later] = ["11", "19", "31"].map((one) => own(`checkpoints/${one}.binpb`));
  if (file === undefined || ends === undefined || later === undefined) throw new Error("no file");
  const { epoch, members } = z
    .object({ epoch: z.string(), members: z.array(z.record(z.string(), z.string())) })
    .parse(committee);
  // A validator that did not sign checkpoint 11 gets nearly all of the stake.
  const LEFT_OUT = 3;
  const lighter = members.map((one, at) => ({ ...one, stake: at === LEFT_OUT ? "9994" : "1" }));
  const signatures: Case[] = [
    ["a checkpoint", of("11", file), null],
    ["the checkpoint that ends the epoch", of("19", ends), null],
    ["a checkpoint of the next epoch", of("31", later), "but the committee is that of epoch 0"],
    [
      "stakes of which less than a quorum signed",
      of("11", file, { committee: { epoch, members: lighter } }),
      "is signed by a stake of",
    ],
    ["a bit of the summary is another", { ...of("11", file), excerpt: flipped(file, 30) }, ""],
    [
      "a bit of the signature is another",
      { ...of("11", file), excerpt: flipped(file, file.indexOf(Buffer.of(0x12, 0x30)) + 20) },
      "",
    ],
  ];
  return vectorFile(ABOUT, {
    excerpt: await judged(judgeExcerpt, excerpts),
    signature: await judged(judgeSignature, signatures),
  });
};
