/** A pack's validator signatures, and its committees from epoch to epoch. */
import { type PackFiles, textOf } from "../../../client/pack-files.ts";
import { loadBls } from "../../ledger/proof/bls.ts";
import type { CertifiedSummary } from "../../ledger/proof/certificate.ts";
import { type Committee, TOTAL_STAKE } from "../../ledger/proof/committee.ts";
import { readCommitteeFile } from "../../ledger/proof/committee-file.ts";
import { readSummaryExcerpt } from "../../ledger/proof/excerpt.ts";
import { committeeAfter, createProver } from "../../ledger/proof/prover.ts";
import type { TrustedCheckpoint } from "../../ledger/reading/trust.ts";
import { AuditPackError, EPOCHS, excerptFile, FILES, type PackHead, packError } from "./form.ts";

type PackSignatures = {
  /** Verifies a checkpoint's signature; call in ascending order. @throws AuditPackError (stop) */
  prove(file: string, certified: CertifiedSummary): Promise<void>;
  totals(): {
    readonly signatures: number;
    /** The lowest signing stake, of 10,000. */
    readonly lowestStake: bigint;
    readonly firstEpoch: bigint;
    readonly lastEpoch: bigint;
  };
};

/** Adds the file's name to errors. */
export const reading = async <Read>(
  file: string,
  read: () => Read | Promise<Read>,
): Promise<Read> => {
  try {
    return await read();
  } catch (error) {
    if (error instanceof AuditPackError || !(error instanceof Error)) throw error;
    throw packError(file, error.message);
  }
};

/** Checkpoint numbers of a folder's excerpts, ascending. */
export const excerptsIn = (pack: PackFiles, folder: string): readonly bigint[] =>
  [...pack.keys()]
    .flatMap((path) => {
      const [, of, number] = /^(\w+)\/(0|[1-9]\d{0,17})\.binpb$/.exec(path) ?? [];
      return of === folder && number !== undefined ? [BigInt(number)] : [];
    })
    .sort((a, b) => (a < b ? -1 : 1));

/** @throws AuditPackError (stop) */
export const excerptBytes = async (pack: PackFiles, file: string): Promise<Uint8Array> => {
  const blob = pack.get(file);
  if (blob === undefined) throw packError(file, "is missing");
  return new Uint8Array(await blob.arrayBuffer());
};

const LONGEST_COMMITTEE = 2 ** 20;

/** The initial committee from the pack's file. */
const packCommittee = (pack: PackFiles): Promise<Committee> =>
  reading(FILES.committee, async () =>
    readCommitteeFile(FILES.committee, await textOf(pack, FILES.committee, LONGEST_COMMITTEE)),
  );

/** Whether both have the same epoch, members and stakes. */
const isSameCommittee = (one: Committee, other: Committee): boolean =>
  one.epoch === other.epoch &&
  one.members.length === other.members.length &&
  one.members.every(({ publicKey, stake }, place) => {
    const member = other.members[place];
    return member?.stake === stake && Buffer.compare(publicKey, member.publicKey) === 0;
  });

/** Trusted data from outside the pack. */
export type KnownValidators = {
  readonly committee?: Committee | undefined;
  /** The checkpoint that names the initial committee. */
  readonly trusted?: TrustedCheckpoint | undefined;
};

/** @throws AuditPackError (stop) if the initial committee is not the known one */
export const openSignatures = async (
  pack: PackFiles,
  { trust }: Pick<PackHead, "trust">,
  known: KnownValidators = {},
): Promise<PackSignatures> => {
  const first = await packCommittee(pack);
  const ends = excerptsIn(pack, EPOCHS);
  let next = 0;
  const endAt = (sequence: bigint): Promise<CertifiedSummary> => {
    const file = excerptFile(EPOCHS, sequence);
    return reading(file, async () => {
      const bytes = await excerptBytes(pack, file);
      return readSummaryExcerpt(sequence, bytes);
    });
  };
  if (`${first.epoch}` !== trust.epoch) {
    throw packError(FILES.committee, `is of epoch ${first.epoch}, not ${trust.epoch}`);
  }
  assertTrusted(trust, known.trusted);
  if (known.committee !== undefined && !isSameCommittee(known.committee, first)) {
    const { epoch } = known.committee;
    throw packError(
      FILES.committee,
      `${epoch}` === trust.epoch
        ? `is another committee of epoch ${epoch} than the one given`
        : `is the committee of epoch ${trust.epoch}; one of epoch ${epoch} was given`,
    );
  }
  if (trust.checkpoint !== null) {
    const file = excerptFile(EPOCHS, trust.checkpoint);
    if (`${ends[0]}` !== trust.checkpoint) throw packError(file, "is not the first of its folder");
    const anchor = await endAt(BigInt(trust.checkpoint));
    const named = committeeAfter(anchor);
    if (anchor.header.digest !== trust.digest) {
      throw packError(file, `has digest ${anchor.header.digest}, not ${trust.digest}`);
    }
    // The summary's digest was computed from its bytes, so a trusted digest proves the committee.
    if (named === null || !isSameCommittee(named, first)) {
      throw packError(FILES.committee, `is not the committee that ${file} names`);
    }
    next = 1;
  }
  const prover = createProver(await loadBls(), first);
  const totals = {
    signatures: 0,
    lowestStake: TOTAL_STAKE,
    firstEpoch: first.epoch,
    lastEpoch: first.epoch,
  };
  const proven = (file: string, certified: CertifiedSummary) =>
    reading(file, () => {
      const { stake } = prover.prove(certified);
      totals.signatures += 1;
      if (stake < totals.lowestStake) totals.lowestStake = stake;
      totals.lastEpoch = certified.header.epoch;
    });
  return {
    prove: async (file, certified) => {
      while (prover.committee.epoch < certified.header.epoch) {
        const sequence = ends[next];
        if (sequence === undefined) {
          throw packError(
            file,
            `is of epoch ${certified.header.epoch}, but ${EPOCHS}/ does not lead beyond epoch ${prover.committee.epoch}`,
          );
        }
        next += 1;
        await proven(excerptFile(EPOCHS, sequence), await endAt(sequence));
      }
      await proven(file, certified);
    },
    totals: () => {
      const unread = ends[next];
      if (unread === undefined) return totals;
      throw packError(
        excerptFile(EPOCHS, unread),
        "is of no use to the pack: it ends no epoch of it",
      );
    },
  };
};

/**
 * Compares the manifest with the trusted checkpoint; the excerpt's bytes prove the manifest later.
 */
const assertTrusted = (
  { epoch, checkpoint, digest }: PackHead["trust"],
  trusted: TrustedCheckpoint | undefined,
): void => {
  if (trusted === undefined) return;
  if (checkpoint === null || digest === null) {
    throw packError(
      FILES.manifest,
      `the pack begins with the committee of epoch ${epoch} itself, and not with a checkpoint: give the committee, with --committee-from`,
    );
  }
  if (digest === trusted.digest && `${trusted.sequence ?? checkpoint}` === checkpoint) return;
  const number = trusted.sequence === null ? "" : `checkpoint ${trusted.sequence} `;
  throw packError(
    FILES.manifest,
    `the pack begins with the committee that checkpoint ${checkpoint} of digest ${digest} names, not ${number}of digest ${trusted.digest}`,
  );
};
