/**
 * Committees of all epochs of a range, derived from trust over the ends of epochs alone.
 *
 * A node's hint says which checkpoint ends an epoch; where it is wrong or missing, a search finds
 * it. Each is verified with the committee before it, so a hint can only cost time.
 */
import type { LogCommittee } from "../../log/fact.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { LedgerIndex } from "../history/ledger-index.ts";
import type { Bls } from "../proof/bls.ts";
import { type CertifiedSummary, readCertified } from "../proof/certificate.ts";
import { type Committee, packMembers, unpackCommittee } from "../proof/committee.ts";
import { CertificateError, TrustNotReachedError } from "../proof/proof-errors.ts";
import {
  type CertificateVerifier,
  committeeAfter,
  createVerifier,
  parseKeys,
} from "../proof/prover.ts";
import { endOfEpoch, startOf, type Trust } from "../reading/trust.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { fetchOne } from "./fetch-each.ts";

type CommitteesFrom = {
  readonly source: CheckpointSource;
  readonly index: Pick<LedgerIndex, "epochEnd">;
  readonly bls: Bls;
  /** Says whom to trust, or which committee is known already. */
  readonly trust: Trust;
  /** Verified before, such as those in the log. */
  readonly verified: readonly LogCommittee[];
  /** Called for the verified end of each epoch, in order. */
  readonly onEnd: (raw: RawCheckpoint, certified: CertifiedSummary) => Promise<void>;
};

export type Committees = {
  /**
   * Verifies the signature on a summary, following the ends of epochs up to it.
   * @throws CertificateError (retry), TrustNotReachedError (retry), CommitteeError (stop)
   */
  verify(certified: CertifiedSummary, signal: AbortSignal): Promise<void>;
  /** Takes over what a verified end of an epoch names. */
  keep(end: CertifiedSummary): void;
  /** The committee of an epoch, with the checkpoint that names it; null while unknown. */
  of(epoch: bigint): LogCommittee | null;
};

/** Ends of epochs fetched ahead: a few hundred kilobytes each. */
const AHEAD = 8n;
/** Verifiers of this many epochs are kept: some 20 kilobytes each. */
const VERIFIERS = 64;

/** Committees in packed form: about ten kilobytes per epoch. */
export const createCommittees = ({
  source,
  index,
  bls,
  trust,
  verified,
  onEnd,
}: CommitteesFrom): Committees => {
  const known = new Map(verified.map((committee) => [committee.epoch, committee]));
  const verifiers = new Map<bigint, CertificateVerifier>();
  let following: Promise<unknown> = Promise.resolve();

  const add = ({ epoch, members }: Committee, namedBy: bigint | null) => {
    if (!known.has(epoch)) known.set(epoch, { epoch, members: packMembers(members), namedBy });
  };
  const keep = (end: CertifiedSummary) => {
    const named = committeeAfter(end);
    if (named !== null) add(named, end.header.sequence);
  };

  const verifierOf = async (packed: LogCommittee): Promise<CertificateVerifier> => {
    const made = verifiers.get(packed.epoch);
    if (made !== undefined) return made;
    const committee = unpackCommittee(packed.epoch, packed.members);
    const verifier = createVerifier(bls, committee, await parseKeys(bls, committee));
    for (const oldest of verifiers.keys()) {
      if (verifiers.size < VERIFIERS) break;
      verifiers.delete(oldest);
    }
    verifiers.set(packed.epoch, verifier);
    return verifier;
  };

  const newestUpTo = (epoch: bigint): bigint | null => {
    let newest: bigint | null = null;
    for (const each of known.keys()) {
      if (each <= epoch && (newest === null || each > newest)) newest = each;
    }
    return newest;
  };

  /** The checkpoint that ends an epoch, as hinted or found. */
  const endOf = async (
    epoch: bigint,
    { after, before }: { readonly after: bigint | undefined; readonly before: bigint },
    signal: AbortSignal,
  ): Promise<RawCheckpoint> => {
    const hint = await index.epochEnd(epoch, signal);
    if (hint !== null && hint < before) {
      const raw = await fetchOne(source, hint, signal);
      const { header, nextCommittee } = readCertified(raw);
      if (header.epoch === epoch && nextCommittee !== null) return raw;
    }
    const { header } = await endOfEpoch(source, epoch, before, signal, after);
    return fetchOne(source, header.sequence, signal);
  };

  /** Follows the ends of epochs until the committee of `epoch` is known. */
  const follow = async (
    { epoch, sequence }: CertifiedSummary["header"],
    signal: AbortSignal,
  ): Promise<void> => {
    let start = newestUpTo(epoch);
    if (start === null) {
      const { committee, namedBy } = await startOf(source, trust, { epoch, sequence }, signal);
      add(committee, namedBy);
      start = newestUpTo(epoch);
    }
    if (start === null) {
      throw new TrustNotReachedError(
        source.description,
        `checkpoint ${sequence} is of epoch ${epoch}, before that of the trusted committee; trust one of epoch ${epoch} or before`,
      );
    }
    const ahead = new Map<bigint, Promise<RawCheckpoint>>();
    for (let at = start; at < epoch; at += 1n) {
      const committee = known.get(at);
      if (committee === undefined) throw new Error(`the committee of epoch ${at} was not kept`);
      const after = committee.namedBy ?? undefined;
      for (let next = at; next < epoch && next < at + AHEAD; next += 1n) {
        if (ahead.has(next)) continue;
        const end = endOf(next, { after, before: sequence }, signal);
        // Surfaces when its turn comes.
        end.catch(() => undefined);
        ahead.set(next, end);
      }
      const raw = await (ahead.get(at) ?? endOf(at, { after, before: sequence }, signal));
      ahead.delete(at);
      const certified = readCertified(raw);
      (await verifierOf(committee)).verify(certified);
      keep(certified);
      await onEnd(raw, certified);
    }
  };

  return {
    keep,
    of: (epoch) => known.get(epoch) ?? null,
    verify: async (certified, signal) => {
      const { header } = certified;
      if (!known.has(header.epoch)) {
        // One at a time: several checkpoints of one new epoch need the same ends.
        const turn = following.then(() =>
          known.has(header.epoch) ? undefined : follow(header, signal),
        );
        following = turn.catch(() => undefined);
        await turn;
      }
      const committee = known.get(header.epoch);
      if (committee === undefined) {
        throw new CertificateError(
          header.sequence,
          `has no known committee of epoch ${header.epoch}`,
        );
      }
      (await verifierOf(committee)).verify(certified);
    },
  };
};
