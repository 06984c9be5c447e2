/**
 * Verifies the log's proofs again: validators' signatures in `log_proofs` against the committees in
 * `log_committees`, and both against the stored times and digests.
 */
import { Cursor } from "../../ledger/decode/cursor.ts";
import { readSummary } from "../../ledger/decode/summary.ts";
import { loadBls } from "../../ledger/proof/bls.ts";
import { type CertifiedSummary, certifiedOf } from "../../ledger/proof/certificate.ts";
import { type Committee, packMembers, unpackCommittee } from "../../ledger/proof/committee.ts";
import {
  type CertificateVerifier,
  committeeAfter,
  createVerifier,
  parseKeys,
} from "../../ledger/proof/prover.ts";
import { markIn } from "../../log/block.ts";
import { blocksBetween, readUpTo } from "../../log/blocks.ts";
import type { LogFault } from "../../log/chain.ts";
import type { LogCommittee, StretchProof } from "../../log/fact.ts";
import { guidedRanges, partsOf } from "../../log/guided.ts";
import { allCommittees, proofsAfter } from "../../log/proofs.ts";
import type { Reading, Stretches } from "../sequence/stretches.ts";

type CheckedProofs = {
  /** Verified signatures. */
  readonly signatures: number;
  /** Claims that only a source can show, and those that nothing can. */
  readonly faith: readonly string[];
  readonly beyond: readonly string[];
};

/**
 * Verifies a page of proofs per stretch; skips those appended meanwhile.
 * @param asked signatures are required (VERIFY=signatures): the log's end must have one
 * @param trusted a committee named by the settings; null if none
 */
export async function* checkProofs(
  on: Reading,
  { asked, trusted, first: begin, next }: ProofCheckOptions,
): Stretches<CheckedProofs> {
  let faults: LogFault[] = [];
  const [faith, beyond]: [string[], string[]] = [[], []];
  const committees = await allCommittees(on.sql);
  const known = new Map<bigint, Committee>();
  const keys = new Map<bigint, Promise<CertificateVerifier>>();
  for (const { epoch, members, namedBy } of committees) {
    try {
      known.set(epoch, unpackCommittee(epoch, members));
    } catch (error) {
      faults.push({ checkpoint: namedBy ?? 0n, what: `log_committees: ${textOf(error)}` });
    }
  }
  const verifierOf = (committee: Committee) => {
    const made = keys.get(committee.epoch) ?? prepared(committee);
    // Proofs are in order: earlier epochs' keys are no longer needed.
    keys.clear();
    keys.set(committee.epoch, made);
    return made;
  };
  /** Members by the epoch that they begin, from proven summaries. */
  const named = new Map<bigint, { readonly by: bigint; readonly members: Uint8Array }>();
  const epochs = new Set<bigint>();
  let signatures = 0;
  let due: bigint | null = null;
  const unproven = (from: bigint, to: bigint) =>
    faith.push(
      `checkpoints ${from} to ${to}: log_proofs has no signature of the validators for them`,
    );
  const guided = await guidedRanges(on);
  /** Checkpoints without a proof: each that was read guided has one, and `others` have none. */
  const without = async (
    from: bigint,
    to: bigint,
    others: (from: bigint, to: bigint) => unknown,
  ) => {
    for (const part of partsOf({ first: from, last: to }, guided)) {
      if (!part.guided) {
        others(part.first, part.last);
        continue;
      }
      const unproved = await readUpTo(on.sql, part.first, part.last, 1);
      if (unproved === null) continue;
      const what = `log_proofs has no proof of checkpoint ${unproved}, which was read guided: it was deleted, or log_guided altered`;
      faults.push({ checkpoint: unproved, what });
    }
  };
  /** A gap between proofs. An epoch's last proof is stored with the committee that it names. */
  const hole = (from: bigint, to: bigint) => {
    if (!asked && !committees.some(({ namedBy }) => namedBy === to)) return unproven(from, to);
    const what = `log_proofs lacks checkpoints ${from} to ${to}: their proofs were deleted, or they were read without VERIFY=signatures`;
    return faults.push({ checkpoint: to, what });
  };
  for (let after = -(2n ** 63n); ; ) {
    const page = await proofsAfter(on.sql, after, PAGE);
    for (const proof of page) {
      if (proof.firstCheckpoint >= next) break;
      const { firstCheckpoint: first, lastCheckpoint: last, epoch } = proof;
      epochs.add(epoch);
      const wrong = (what: string) =>
        faults.push({ checkpoint: last, what: `log_proofs: ${what}` });
      if (first < begin) wrong(`the stretch ${first} to ${last} begins before the log does`);
      if (last < first || (due !== null && first < due)) {
        wrong(`the stretch ${first} to ${last} overlaps the one before`);
      }
      if (due === null && first > begin) await without(begin, first - 1n, unproven);
      if (due !== null && first > due) await without(due, first - 1n, hole);
      const isGuided = guided.some((range) => range.first <= last && range.last >= first);
      if (isGuided && first !== last) {
        wrong(`a proof is said to cover ${first} to ${last}, some of which were read guided`);
      }
      due = last + 1n;
      const certified = readProof(proof);
      if (typeof certified === "string") {
        wrong(certified);
        continue;
      }
      const { header, nextCommittee } = certified;
      const mark = markIn(await blocksBetween(on.sql, last, last), last);
      if (mark === null && isGuided) {
        wrong(`log_blocks lacks checkpoint ${last}, which has a proof: its row was deleted`);
      } else if (mark === null) {
        beyond.push(`the digest of checkpoint ${last}: log_blocks does not have it yet`);
      } else if (mark.digest !== header.digest || mark.timestampMs !== header.timestampMs) {
        wrong(
          `the signed summary has digest ${header.digest} and time ${header.timestampMs}, but log_blocks ${mark.digest} and ${mark.timestampMs}`,
        );
      }
      const committee = known.get(epoch);
      if (committee === undefined) {
        wrong(`log_committees has no committee of epoch ${epoch}`);
        continue;
      }
      try {
        const verifier = await verifierOf(committee);
        verifier.verify(certified);
        signatures += 1;
        if (nextCommittee !== null) {
          const following = committeeAfter(certified);
          if (following !== null) {
            named.set(following.epoch, { by: last, members: packMembers(following.members) });
          }
        }
      } catch (error) {
        wrong(textOf(error));
      }
    }
    const end = page.at(-1);
    if (end === undefined || page.length < PAGE) break;
    after = end.firstCheckpoint;
    yield faults;
    faults = [];
  }
  // Proofs appended meanwhile come together with their checkpoints.
  const [beyondEnd] = await on.sql<{ first: bigint; last: bigint }[]>`
    select first_checkpoint as first, last_checkpoint as last from log_proofs
    where last_checkpoint >= (select next_checkpoint from log_high_water) order by 1 limit 1`;
  if (beyondEnd !== undefined) {
    const { first, last } = beyondEnd;
    const what = `log_proofs: the stretch ${first} to ${last} goes on behind the log's end: it was added, or the end of the log deleted`;
    faults.push({ checkpoint: last, what });
  }
  if (due === null && (asked || guided.length + committees.length > 0) && next > 0n) {
    faults.push({
      checkpoint: next - 1n,
      what: "log_proofs is empty, though signatures were verified: all were deleted",
    });
  } else if (due !== null && due < next) {
    if (asked) {
      const what = `log_proofs ends at checkpoint ${due - 1n}, before the log does, though signatures are verified (VERIFY): its end was deleted`;
      faults.push({ checkpoint: next - 1n, what });
    } else await without(due, next - 1n, unproven);
  }
  for (const committee of committees) {
    const found = committeeFault(committee, named, epochs, trusted);
    if (found === null) continue;
    if (found.isFault) faults.push({ checkpoint: committee.namedBy ?? 0n, what: found.what });
    else beyond.push(found.what);
  }
  yield faults;
  return { signatures, faith, beyond };
}

export type ProofCheckOptions = {
  readonly asked: boolean;
  readonly trusted: Committee | null;
  readonly first: bigint;
  /** The log ends before this checkpoint. */
  readonly next: bigint;
};

const PAGE = 200;

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const prepared = async (committee: Committee): Promise<CertificateVerifier> => {
  const bls = await loadBls();
  return createVerifier(bls, committee, await parseKeys(bls, committee));
};

/** The summary with its certificate, or what is wrong with it. */
export const readProof = ({
  lastCheckpoint,
  epoch,
  summary,
  signature,
  signers,
}: StretchProof): CertifiedSummary | string => {
  try {
    const cursor = new Cursor(summary, lastCheckpoint);
    const read = readSummary(cursor);
    if (read.end !== summary.length) return "the summary has bytes behind its end";
    if (read.header.epoch !== epoch) {
      return `the summary is of epoch ${read.header.epoch}, but its row of epoch ${epoch}`;
    }
    return certifiedOf(cursor, read, { epoch, signature, signers });
  } catch (error) {
    return textOf(error);
  }
};

/** A fault of a committee, or that it is trusted; null when a proven summary names it. */
const committeeFault = (
  { epoch, members, namedBy }: LogCommittee,
  named: ReadonlyMap<bigint, { readonly by: bigint; readonly members: Uint8Array }>,
  epochs: ReadonlySet<bigint>,
  trusted: Committee | null,
): { readonly isFault: boolean; readonly what: string } | null => {
  const fault = (what: string) => ({ isFault: true, what: `log_committees: ${what}` });
  const summary = named.get(epoch);
  if (summary !== undefined) {
    if (!Buffer.from(summary.members).equals(members)) {
      return fault(
        `the committee of epoch ${epoch} is not the one that checkpoint ${summary.by} names: a key or a stake was altered`,
      );
    }
    if (namedBy === summary.by) return null;
    // It was trusted, though the log later proves it.
    return namedBy === null
      ? null
      : fault(
          `the committee of epoch ${epoch} is said to be named by ${namedBy}, not ${summary.by}`,
        );
  }
  if (!epochs.has(epoch)) {
    return fault(
      `the committee of epoch ${epoch} has no proof in log_proofs, neither of its own nor of checkpoint ${namedBy}, which named it: they were deleted`,
    );
  }
  if (trusted?.epoch === epoch) {
    return Buffer.from(packMembers(trusted.members)).equals(members)
      ? null
      : fault(`the committee of epoch ${epoch} is not the one that the settings trust`);
  }
  return {
    isFault: false,
    what:
      namedBy === null
        ? `the committee of epoch ${epoch}: it was trusted when the log began to verify signatures`
        : `the committee of epoch ${epoch}: checkpoint ${namedBy} named it, whose summary is not in log_proofs`,
  };
};
