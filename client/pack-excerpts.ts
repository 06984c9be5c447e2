/** Reads a pack's excerpts: what its facts show about missing ones, and the validators' signatures. */
import { ExcerptError } from "./bcs.ts";
import { excerptIn, type SignedSummary, summaryIn, wantedOf } from "./excerpt.ts";
import type { PackChain } from "./pack-certificate.ts";
import { PackCounts, PackLater, PackVersions, VersionGapError } from "./pack-chains.ts";
import { fail } from "./pack-error.ts";
import { type PackFiles, parsed, textOf } from "./pack-files.ts";
import { FILES, LONGEST_FILE, type PackManifest, type PackMark } from "./pack-forms.ts";
import { PackHeads } from "./pack-heads.ts";
import { type Committee, Signatures, type Validators } from "./validators.ts";

export type ReadExcerpts = PackChain & {
  /** Null: none was verified. */
  readonly signatures: { readonly verified: number; readonly lowestStake: bigint } | null;
};

const numbersIn = (pack: PackFiles, folder: string): readonly bigint[] =>
  [...pack.keys()]
    .flatMap((path) => {
      const [, of, number] = /^(\w+)\/(\d+)\.binpb$/.exec(path) ?? [];
      return of === folder && number !== undefined ? [BigInt(number)] : [];
    })
    .sort((a, b) => (a < b ? -1 : 1));

/** Adds the file's name to what is wrong with an excerpt. */
const read = async <Value>(
  pack: PackFiles,
  file: string,
  reading: (bytes: Uint8Array) => Value,
): Promise<Value> => {
  const blob = pack.get(file) ?? fail(file, "is missing");
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return within(file, () => reading(bytes));
};

const within = <Value>(file: string, act: () => Value): Value => {
  try {
    return act();
  } catch (error) {
    if (error instanceof ExcerptError || error instanceof VersionGapError)
      fail(file, error.message);
    throw error;
  }
};

type CommitteeFile = {
  readonly epoch: string;
  readonly members: readonly { readonly publicKey: string; readonly stake: string }[];
};

const committeeIn = async (pack: PackFiles): Promise<Committee> => {
  const text = await textOf(pack, FILES.committee, LONGEST_FILE(FILES.committee));
  // Its form was checked before.
  const { epoch, members } = parsed(FILES.committee, text) as CommitteeFile;
  return {
    epoch: BigInt(epoch),
    members: members.map(({ publicKey, stake }) => ({
      publicKey: Uint8Array.from(atob(publicKey), (sign) => sign.charCodeAt(0)),
      stake: BigInt(stake),
    })),
  };
};

const isSameCommittee = (one: Committee, epoch: bigint, members: Committee["members"]): boolean => {
  const texts = (of: Committee["members"]) =>
    `${of.map(({ publicKey, stake }) => `${publicKey} ${stake}`).sort()}`;
  return one.epoch === epoch && texts(one.members) === texts(members);
};

/**
 * @param manifest of version 4, signed; its files were compared
 * @throws AuditPackError
 */
export const readExcerpts = async <Key>(
  pack: PackFiles,
  { coinType, packages, first, last, trust }: PackManifest,
  {
    validators,
    signal,
  }: {
    readonly validators?: Validators<Key> | undefined;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<ReadExcerpts> => {
  const committee = await committeeIn(pack);
  if (`${committee.epoch}` !== trust.epoch) {
    fail(FILES.committee, `is of epoch ${committee.epoch}, not ${trust.epoch}`);
  }
  const ends = numbersIn(pack, "epochs").map((sequence) => ({
    sequence,
    file: `epochs/${sequence}.binpb`,
  }));
  let ended = 0;
  if (trust.checkpoint !== null) {
    const [{ file, sequence } = { file: "epochs", sequence: -1n }] = ends;
    if (`${sequence}` !== trust.checkpoint) fail(file, "is not the checkpoint of `trust`");
    const anchor = await read(pack, file, (bytes) => summaryIn(sequence, bytes));
    if (anchor.digest !== trust.digest) fail(file, `has digest ${anchor.digest}`);
    if (anchor.next === null || !isSameCommittee(committee, anchor.epoch + 1n, anchor.next)) {
      fail(FILES.committee, `is not the committee that ${file} names`);
    }
    ended = 1;
  }
  const signatures =
    validators === undefined ? null : new Signatures(validators, FILES.committee, committee);
  const prove = async (file: string, signed: SignedSummary) => {
    while (signatures !== null && signatures.epoch < signed.epoch) {
      const end = ends[ended];
      if (end === undefined) return fail(file, "is of an epoch to which epochs/ does not lead");
      ended += 1;
      const summary = await read(pack, end.file, (bytes) => summaryIn(end.sequence, bytes));
      signatures.prove(end.file, summary);
    }
    signatures?.prove(file, signed);
  };
  const wanted = wantedOf(packages);
  const factsIn = async (folder: string, sequence: bigint) => {
    signal?.throwIfAborted();
    const file = `${folder}/${sequence}.binpb`;
    const excerpt = await read(pack, file, (bytes) => excerptIn(sequence, bytes, coinType, wanted));
    await prove(file, excerpt);
    for (const mark of [first, last]) assertMark(file, mark, excerpt);
    return { ...excerpt, file };
  };
  const versions = new PackVersions();
  const counts = new PackCounts();
  const heads = new PackHeads();
  const sequences = numbersIn(pack, "checkpoints");
  for (const { checkpoint } of [first, last]) {
    if (!sequences.includes(BigInt(checkpoint)))
      fail(`checkpoints/${checkpoint}.binpb`, "is missing");
  }
  for (const sequence of sequences) {
    const { file, facts, objectSet, left } = await factsIn("checkpoints", sequence);
    if (sequence > BigInt(last.checkpoint)) fail(file, "is beyond the last checkpoint");
    within(file, () => versions.follow(facts));
    counts.add(sequence, facts);
    heads.add(sequence, objectSet, left);
  }
  const { live } = versions;
  const later = new PackLater(live);
  for (const sequence of numbersIn(pack, "later")) {
    const { file, facts } = await factsIn("later", sequence);
    if (sequence <= BigInt(last.checkpoint)) fail(file, "is not beyond the last checkpoint");
    within(file, () => later.meet(facts));
  }
  const left = await heads.prove(pack, live, later, BigInt(last.checkpoint));
  const found = { counted: counts.counted, live, later: later.later, left };
  return { ...found, signatures: signatures?.totals ?? null };
};

/** The registers are of these very checkpoints. */
const assertMark = (
  file: string,
  { checkpoint, digest, timestampMs }: PackMark,
  signed: SignedSummary,
): void => {
  if (checkpoint !== `${signed.sequence}`) return;
  if (digest === signed.digest && timestampMs === `${signed.timestampMs}`) return;
  fail(
    file,
    `has digest ${signed.digest} and time ${signed.timestampMs}, not as the manifest says`,
  );
};
