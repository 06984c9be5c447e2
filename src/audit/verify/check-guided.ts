/** Checks guided ranges: their bounds, and the kept summaries of checkpoints between. */
import { type Committee, unpackCommittee } from "../../ledger/proof/committee.ts";
import type { CertificateVerifier } from "../../ledger/proof/prover.ts";
import { blocksBetween } from "../../log/blocks.ts";
import type { LogFault } from "../../log/chain.ts";
import { guidedBatches, type LogSummary, summariesAfter } from "../../log/guided.ts";
import { committeeInLog } from "../../log/proofs.ts";
import type { Reading, Stretches } from "../sequence/stretches.ts";
import type { LogRange } from "./blocks-and-packages.ts";
import { prepared, readProof } from "./check-proofs.ts";

/** Summaries per stretch. */
const PAGE = 200;

/** Returns how many signatures were verified. */
export async function* checkGuided(
  on: Reading,
  { first, next }: Pick<LogRange, "first" | "next">,
): Stretches<number> {
  const batches = await guidedBatches(on);
  const faults: LogFault[] = [];
  let due = first;
  for (const batch of batches) {
    // Batches appended meanwhile.
    if (batch.first >= next) break;
    const name = `log_guided: the range ${batch.first} to ${batch.last}`;
    const wrong = (what: string) =>
      faults.push({ checkpoint: batch.last, what: `${name} ${what}` });
    if (batch.first < due) wrong("begins before the log or overlaps the one before");
    if (batch.last < batch.first || batch.last >= next) wrong("does not end in the log");
    else if ((await blocksBetween(on.sql, batch.last, batch.last)).length === 0) {
      wrong(
        "ends with a checkpoint that log_blocks lacks: its row was deleted, or the range added",
      );
    }
    due = batch.last + 1n;
  }
  yield faults;
  const verifierOf = verifiersOf(on);
  let signatures = 0;
  for (let after = -(2n ** 63n); ; ) {
    const page = await summariesAfter(on.sql, after, PAGE);
    const found: LogFault[] = [];
    for (const summary of page) {
      const { sequence: checkpoint } = summary;
      const isBetween = batches.some((one) => one.first <= checkpoint && one.last > checkpoint);
      const what = isBetween ? await summaryFault(summary, verifierOf) : "was not read guided";
      if (what === null) signatures += 1;
      else found.push({ checkpoint, what: `log_summaries: checkpoint ${checkpoint} ${what}` });
    }
    yield found;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return signatures;
    after = last.sequence;
  }
}

type VerifierOf = (epoch: bigint) => Promise<CertificateVerifier | null>;

/** Verifiers of the log's committees; summaries ascend, so only the newest is kept. */
const verifiersOf = (on: Reading): VerifierOf => {
  let current:
    | { readonly epoch: bigint; readonly verifier: CertificateVerifier | null }
    | undefined;
  return async (epoch) => {
    if (current?.epoch === epoch) return current.verifier;
    const packed = await committeeInLog(on, epoch);
    const committee: Committee | null = packed && unpackCommittee(epoch, packed.members);
    current = { epoch, verifier: committee && (await prepared(committee)) };
    return current.verifier;
  };
};

const summaryFault = async (
  { sequence, digest, timestampMs, ...proof }: LogSummary,
  verifierOf: VerifierOf,
): Promise<string | null> => {
  const certified = readProof({ firstCheckpoint: sequence, lastCheckpoint: sequence, ...proof });
  if (typeof certified === "string") return `has no valid summary: ${certified}`;
  const { header } = certified;
  if (header.digest !== digest || header.timestampMs !== timestampMs) {
    return `has digest ${digest} and time ${timestampMs}, but its summary ${header.digest} and ${header.timestampMs}`;
  }
  try {
    const verifier = await verifierOf(proof.epoch);
    if (verifier === null)
      return `is of epoch ${proof.epoch}, whose committee log_committees lacks`;
    verifier.verify(certified);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};
