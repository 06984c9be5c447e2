/** Reading found checkpoints: fetched, verified, noted and staged. */
import { setImmediate as turn } from "node:timers/promises";
import { pause } from "../../waiting/backoff.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { CheckpointDecodeError } from "../decode/cursor.ts";
import { loadBls } from "../proof/bls.ts";
import { CertificateError, TrustNotReachedError } from "../proof/proof-errors.ts";
import { LONGEST_STRETCH_MS } from "../reading/pass.ts";
import { REFETCH_PAUSE_MS } from "../reading/proving.ts";
import { CheckpointPrunedError } from "../sources/source-errors.ts";
import { type Committees, createCommittees } from "./committees.ts";
import { fetchEach, fetchOne, type Listed } from "./fetch-each.ts";
import type { Findings } from "./findings.ts";
import type { DiscoverOptions } from "./options.ts";
import { untilSourceHas } from "./reach.ts";
import { type Found, type FoundRaw, readFound, readStaged } from "./read-found.ts";
import type { Report } from "./report.ts";
import { type FoundExcerpt, gatherExcerpts, stagedAfter } from "./staging.ts";
import { CheckpointWithheldError, createPatience } from "./withheld.ts";

/** A checkpoint that the source works without. */
type Withheld = {
  readonly reason: string;
  /** Whether the lists name it for the contract itself, not for an object alone. */
  isOfContract: boolean;
  /** Objects that lead to it. */
  readonly objects: Set<string>;
};

/** `checkpoint` is null where the node does not know the transaction. */
export type Taken = { readonly checkpoint: bigint | null; readonly reason: string | null };

export type Intake = {
  /** Goes on from what was staged: each excerpt is verified as if it was fetched. */
  resume(): Promise<void>;
  /** Reads checkpoints that have to be read. @throws errors of the source */
  each(list: Listed): Promise<void>;
  /**
   * Reads what the lists name, and leaves out what the source withholds.
   * @param objects which ones the lists name a checkpoint for; without, it is the contract
   * @throws CheckpointPrunedError (retry): a source without the past is no use
   */
  listed(list: Listed, objects?: (sequence: bigint) => readonly string[]): Promise<void>;
  /** Reads the checkpoint of a transaction that an object leads to; `reason`: why it cannot be had. */
  transaction(digest: string, objectId: string): Promise<Taken>;
  /** A checkpoint that was read, fetched again; null when the source now withholds it. */
  fetchAgain(sequence: bigint): Promise<RawCheckpoint | null>;
  /** Reads what an upgrade made incomplete; false when nothing is due. */
  repeat(): Promise<boolean>;
  /** Stages the rest. */
  flush(): Promise<void>;
  readonly withheld: ReadonlyMap<bigint, Withheld>;
  readonly committeeOf: Committees["of"];
};

type IntakeFrom = DiscoverOptions & { readonly findings: Findings; readonly report: Report };

export const openIntake = async (from: IntakeFrom, signal: AbortSignal): Promise<Intake> => {
  const { index, source, staging, range, findings, report, concurrency = 32, refetches = 2 } = from;
  const { first, last } = range;
  const { packages, read } = findings;
  const excerpts = gatherExcerpts(staging);
  const patiently = createPatience(source);
  const withheld = new Map<bigint, Withheld>();
  /** Checkpoints after an upgrade that were read without its types. */
  let due: bigint[] = [];
  let stretchFrom = performance.now();

  const breathe = async () => {
    if (performance.now() - stretchFrom <= LONGEST_STRETCH_MS) return;
    await turn();
    stretchFrom = performance.now();
  };

  const committees = createCommittees({
    source,
    index,
    bls: await loadBls(),
    trust: from.trust,
    verified: from.committees ?? [],
    onEnd: async (raw) => {
      // Verified; read like others, as it may hold facts too.
      if (!read.has(raw.sequence)) await note(raw, readFound(raw, packages));
    },
  });

  const noteFound = (found: Found) => {
    if (found.certified.nextCommittee !== null) committees.keep(found.certified);
    findings.note(found);
  };

  const note = async (raw: RawCheckpoint, found: FoundRaw): Promise<void> => {
    const { sequence, joined, isRelevant, certified } = found;
    report.took(raw);
    if (joined.length > 0) {
      // Before the upgrade is staged: a restart must not take these for complete.
      await excerpts.dropAfter(sequence);
      due = [...due, ...[...read].filter((each) => each > sequence)];
    }
    noteFound(found);
    const isEnd = certified.nextCommittee !== null;
    const isInRange = sequence >= first && sequence <= last;
    if (isInRange && (isRelevant || isEnd || sequence === last)) {
      await excerpts.add(sequence, await found.excerpt());
    }
    report.show();
    await breathe();
  };

  /** Reads and verifies a checkpoint; fetches it again on failure, as if damaged. */
  const take = async (raw: RawCheckpoint): Promise<void> => {
    let current = raw;
    for (let left = refetches; ; left -= 1) {
      try {
        const known = packages.length;
        let found = readFound(current, packages);
        await committees.verify(found.certified, signal);
        // An end of an epoch on the way to its committee upgraded the contract.
        if (packages.length > known) found = readFound(current, packages);
        return await note(current, found);
      } catch (error) {
        // Before the range nothing is appended: what trust does not reach is not needed.
        if (error instanceof TrustNotReachedError && raw.sequence < first) {
          read.add(raw.sequence);
          return;
        }
        if (!isInvalid(error)) throw error;
        from.onRefused?.(error);
        if (left <= 0 || signal.aborted) throw error;
        await pause(REFETCH_PAUSE_MS, signal);
        current = await fetchOne(source, raw.sequence, signal);
      }
    }
  };

  const takeEach = async (
    list: Listed,
    fetch: (sequence: bigint, own: AbortSignal) => Promise<RawCheckpoint | null>,
  ): Promise<void> => {
    const unread = (own: AbortSignal) => notRead(list(own), read);
    for await (const raw of fetchEach(fetch, unread, concurrency, signal)) {
      if (raw !== null) await take(raw);
    }
    await excerpts.flush();
  };

  const fetchPatiently = (sequence: bigint, own: AbortSignal): Promise<RawCheckpoint> =>
    patiently(sequence, (graceMs) => fetchOne(source, sequence, own, graceMs), own);

  const withhold = ({ sequence, message }: CheckpointWithheldError): Withheld => {
    const known = withheld.get(sequence);
    if (known !== undefined) return known;
    const begun = { reason: message, isOfContract: false, objects: new Set<string>() };
    withheld.set(sequence, begun);
    return begun;
  };

  /** A staged excerpt, verified as if it was fetched; null when it and all after it must be found again. */
  const verifiedAgain = async ({ checkpoint, excerpt }: FoundExcerpt): Promise<Found | null> => {
    const known = packages.length;
    try {
      const found = readStaged({ sequence: checkpoint, bytes: excerpt }, packages);
      await committees.verify(found.certified, signal);
      // An end of an epoch that was not staged upgrades the contract: what follows is dropped.
      return packages.length === known ? found : null;
    } catch (error) {
      if (!isInvalid(error)) throw error;
      from.onNotice?.(
        `staged checkpoints (log_found) from ${checkpoint} on are dropped and found again: ${error.message}`,
      );
      await staging.dropAfter(checkpoint - 1n);
      return null;
    }
  };

  const each = (list: Listed) => takeEach(list, (sequence, own) => fetchOne(source, sequence, own));

  return {
    each,
    withheld,
    resume: async () => {
      for await (const staged of stagedAfter(staging, first - 1n)) {
        if (staged.checkpoint > last) break;
        const found = await verifiedAgain(staged);
        if (found === null) break;
        noteFound(found);
        await breathe();
      }
    },
    listed: (list, objects) =>
      takeEach(list, async (sequence, own) => {
        try {
          return await fetchPatiently(sequence, own);
        } catch (error) {
          if (!(error instanceof CheckpointWithheldError)) throw error;
          if (error.cause instanceof CheckpointPrunedError) throw error.cause;
          const one = withhold(error);
          if (objects === undefined) one.isOfContract = true;
          for (const id of objects?.(sequence) ?? []) one.objects.add(id);
          return null;
        }
      }),
    transaction: async (digest, objectId) => {
      const checkpoint = await index.checkpointOf(digest, signal);
      if (checkpoint === null) {
        return { checkpoint, reason: `the node knows no checkpoint of transaction ${digest}` };
      }
      if (read.has(checkpoint)) return { checkpoint, reason: null };
      if (checkpoint > last) await untilSourceHas(from, checkpoint, signal);
      try {
        await takeEach(() => [checkpoint], fetchPatiently);
        return { checkpoint, reason: null };
      } catch (error) {
        if (!(error instanceof CheckpointWithheldError)) throw error;
        withhold(error).objects.add(objectId);
        return { checkpoint, reason: `transaction ${digest}: ${error.message}` };
      }
    },
    fetchAgain: (sequence) =>
      fetchPatiently(sequence, signal).catch((error: unknown) => {
        if (error instanceof CheckpointWithheldError) return null;
        throw error;
      }),
    repeat: async () => {
      const some = due;
      due = [];
      for (const sequence of some) read.delete(sequence);
      if (some.length > 0) await each(() => some);
      return some.length > 0;
    },
    flush: excerpts.flush,
    committeeOf: committees.of,
  };
};

/** A checkpoint that contradicts a digest or its committee's signature. */
const isInvalid = (error: unknown): error is CertificateError | CheckpointDecodeError =>
  error instanceof CertificateError || error instanceof CheckpointDecodeError;

/** Numbers that were not read, each once. */
async function* notRead(
  list: AsyncIterable<bigint> | Iterable<bigint>,
  read: ReadonlySet<bigint>,
): AsyncGenerator<bigint> {
  const given = new Set<bigint>();
  for await (const sequence of list) {
    if (read.has(sequence) || given.has(sequence)) continue;
    given.add(sequence);
    yield sequence;
  }
}
