/** Fetches a pack's checkpoints from a source, as excerpts, with the ends of epochs between. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RawCheckpoint } from "../../ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../../ledger/decode/cursor.ts";
import { loadBls } from "../../ledger/proof/bls.ts";
import type { CertifiedSummary } from "../../ledger/proof/certificate.ts";
import type { Committee } from "../../ledger/proof/committee.ts";
import { readToExtract, summaryExcerpt } from "../../ledger/proof/excerpt.ts";
import { CommitteeError } from "../../ledger/proof/proof-errors.ts";
import { committeeAfter, createProver } from "../../ledger/proof/prover.ts";
import { endOfEpoch } from "../../ledger/reading/trust.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import type { CoinTransactions } from "../../log/coin-facts.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import {
  CHECKPOINTS,
  EPOCHS,
  excerptFile,
  FILES,
  LATER,
  type PackHead,
  proofFile,
} from "./form.ts";

/**
 * The source lacks a checkpoint that the pack needs. Nothing was written. Give a source that
 * still has it, such as an archive; or, for one before the first date, take the first register as signed.
 */
export class PackSourceError extends Error {
  override readonly name = "PackSourceError";
  readonly remedy: Remedy = "stop";

  constructor(source: string, sequence: bigint, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : "it is not there";
    super(
      `the pack needs checkpoint ${sequence}, which ${source} does not give: ${reason}. Set LEDGER_SOURCE to one that has it, such as an archive; checkpoints before --from are not needed with --opening signed`,
      { cause },
    );
  }
}

const fetchOne = async (
  source: CheckpointSource,
  sequence: bigint,
  signal: AbortSignal,
): Promise<RawCheckpoint> => {
  try {
    const range = { first: sequence, last: sequence };
    for await (const raw of source.checkpoints(range, signal)) return raw;
  } catch (error) {
    throw new PackSourceError(source.description, sequence, error);
  }
  signal.throwIfAborted();
  throw new PackSourceError(source.description, sequence, undefined);
};

/** Checkpoints fetched ahead of the one being written. */
const PREFETCHED_CHECKPOINTS = 8;

async function* fetched(
  source: CheckpointSource,
  wanted: AsyncIterable<CoinTransactions>,
  signal: AbortSignal,
): AsyncGenerator<{ readonly raw: RawCheckpoint; readonly transactions: readonly number[] }> {
  const waiting: { raw: Promise<RawCheckpoint>; transactions: readonly number[] }[] = [];
  const take = async () => {
    const first = waiting.shift();
    return first && { raw: await first.raw, transactions: first.transactions };
  };
  for await (const { checkpoint, transactions } of wanted) {
    const raw = fetchOne(source, checkpoint, signal);
    // The error surfaces when it is awaited; silence the unhandled rejection until then.
    raw.catch(() => undefined);
    waiting.push({ raw, transactions });
    const next = waiting.length > PREFETCHED_CHECKPOINTS ? await take() : undefined;
    if (next !== undefined) yield next;
  }
  for (let next = await take(); next !== undefined; next = await take()) yield next;
}

/**
 * Writes excerpts of ascending checkpoints, proofs of the live objects that they left, the initial
 * committee, and the ends of epochs between, verifying every signature.
 * @param given the initial committee; default: as named by the epoch before the first checkpoint
 * @throws PackSourceError (stop), CommitteeError (stop), CertificateError, TrustNotReachedError
 * (both retry)
 */
export const writeExcerpts = async (
  folder: string,
  {
    source,
    given,
    wanted,
    last,
    heads,
  }: {
    readonly source: CheckpointSource;
    readonly given: Committee | undefined;
    readonly wanted: AsyncIterable<CoinTransactions>;
    /** The last register's checkpoint. */
    readonly last: bigint;
    /** Versions of live objects, to prove where a checkpoint commits to what it left. */
    readonly heads: ReadonlyMap<string, bigint>;
  },
  signal: AbortSignal,
): Promise<PackHead["trust"]> => {
  const write = (file: string, bytes: Uint8Array) => writeFile(join(folder, file), bytes);
  const writeEnd = async (end: CertifiedSummary) =>
    write(excerptFile(EPOCHS, end.header.sequence), await summaryExcerpt(end));
  let begun: Awaited<ReturnType<typeof begin>> | undefined;
  let before = -1n;

  const begin = async ({ header }: CertifiedSummary) => {
    const start = await startOf(source, given, header, signal);
    if (start.anchor !== null) await writeEnd(start.anchor);
    const { epoch, members } = start.committee;
    const file = {
      epoch: epoch.toString(),
      members: members.map(({ publicKey, stake }) => ({
        publicKey: Buffer.from(publicKey).toString("base64"),
        stake: stake.toString(),
      })),
    };
    await write(FILES.committee, Buffer.from(`${JSON.stringify(file, null, 1)}\n`));
    const { sequence, digest = null } = start.anchor?.header ?? {};
    const trust = { epoch: `${epoch}`, checkpoint: sequence?.toString() ?? null, digest };
    return { trust, prover: createProver(await loadBls(), start.committee) };
  };

  for await (const { raw, transactions } of fetched(source, wanted, signal)) {
    const { certified, objects, excerptOf } = readToExtract(raw, () => false);
    const { sequence, epoch } = certified.header;
    begun ??= await begin(certified);
    const { prover } = begun;
    while (prover.committee.epoch < epoch) {
      const end = await endOfEpoch(source, prover.committee.epoch, sequence, signal, before);
      prover.prove(end);
      await writeEnd(end);
      before = end.header.sequence;
    }
    prover.prove(certified);
    const bytes = await excerptOf(new Set(transactions));
    await write(excerptFile(sequence > last ? LATER : CHECKPOINTS, sequence), bytes);
    if (certified.objectSet !== null && objects === null && heads.size > 0) {
      throw new CheckpointDecodeError(
        sequence,
        0,
        "its summary commits to its objects in a form that is not known here: a newer version is needed",
      );
    }
    const left = objects?.objects.filter(({ id, version }) => heads.get(id) === version) ?? [];
    if (objects !== null && left.length > 0) {
      await write(proofFile(sequence), objects.prove(new Set(left.map(({ id }) => id))));
    }
    before = sequence - 1n > before ? sequence - 1n : before;
  }
  signal.throwIfAborted();
  if (begun === undefined) throw new CommitteeError("a pack has two checkpoints or more");
  return begun.trust;
};

const startOf = async (
  source: CheckpointSource,
  given: Committee | undefined,
  { sequence, epoch }: { readonly sequence: bigint; readonly epoch: bigint },
  signal: AbortSignal,
): Promise<{ readonly committee: Committee; readonly anchor: CertifiedSummary | null }> => {
  if (given !== undefined && given.epoch <= epoch) return { committee: given, anchor: null };
  if (given !== undefined || epoch === 0n) {
    throw new CommitteeError(
      `the first checkpoint of the pack, ${sequence}, is of epoch ${epoch}: set COMMITTEE_FILE to a file with the committee of that epoch or of one before`,
    );
  }
  const anchor = await endOfEpoch(source, epoch - 1n, sequence, signal);
  const committee = committeeAfter(anchor);
  if (committee === null) throw new CommitteeError(`epoch ${epoch - 1n} names no next committee`);
  return { committee, anchor };
};
