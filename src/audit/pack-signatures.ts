/** The validators' signatures of a pack, and the committees that follow one another through its epochs. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import { loadBls } from "../ledger/proof/bls.ts";
import { type CertifiedSummary, readCertified } from "../ledger/proof/certificate.ts";
import { type Committee, TOTAL_STAKE } from "../ledger/proof/committee.ts";
import { readCommitteeFile } from "../ledger/proof/committee-file.ts";
import { committeeAfter, createProver } from "../ledger/proof/prover.ts";
import { AuditPackError, EPOCHS, excerptFile, FILES, type PackHead } from "./pack-form.ts";

export type PackSignatures = {
  /**
   * Verifies the signature of a checkpoint; to be called in ascending order.
   * @throws AuditPackError (stop)
   */
  prove(file: string, certified: CertifiedSummary): Promise<void>;
  told(): {
    readonly signatures: number;
    /** Of 10,000: the least that signed any of them. */
    readonly lowestStake: bigint;
    readonly firstEpoch: bigint;
    readonly lastEpoch: bigint;
  };
};

/** Whatever goes wrong in a file, with its name. */
export const reading = async <Read>(
  file: string,
  read: () => Read | Promise<Read>,
): Promise<Read> => {
  try {
    return await read();
  } catch (error) {
    if (error instanceof AuditPackError || !(error instanceof Error)) throw error;
    throw new AuditPackError(file, error.message);
  }
};

/** Numbers of the excerpts in a folder of a pack, ascending. */
export const excerptsIn = async (folder: string, name: string): Promise<readonly bigint[]> => {
  const files = await readdir(join(folder, name));
  return files
    .map((file) => {
      const [, number] = /^(0|[1-9]\d{0,18})\.binpb$/.exec(file) ?? [];
      if (number === undefined) throw new AuditPackError(`${name}/${file}`, "is no excerpt");
      return BigInt(number);
    })
    .sort((a, b) => (a < b ? -1 : 1));
};

/** The committee that a pack begins with, as its own file says. */
export const packCommittee = (folder: string): Promise<Committee> =>
  reading(FILES.committee, async () =>
    readCommitteeFile(FILES.committee, await readFile(join(folder, FILES.committee), "utf8")),
  );

/** Whether two committees are of one epoch and have the same members with the same stakes. */
export const isSameCommittee = (one: Committee, other: Committee): boolean =>
  one.epoch === other.epoch &&
  one.members.length === other.members.length &&
  one.members.every(({ publicKey, stake }, place) => {
    const member = other.members[place];
    return member?.stake === stake && Buffer.compare(publicKey, member.publicKey) === 0;
  });

export const openSignatures = async (
  folder: string,
  { trust }: Pick<PackHead, "trust">,
): Promise<PackSignatures> => {
  const first = await packCommittee(folder);
  const ends = await excerptsIn(folder, EPOCHS);
  let next = 0;
  const endAt = (sequence: bigint): Promise<CertifiedSummary> => {
    const file = excerptFile(EPOCHS, sequence);
    return reading(file, async () => {
      const bytes = await readFile(join(folder, file));
      return readCertified({ sequence, encoding: "protobuf", bytes } satisfies RawCheckpoint);
    });
  };
  if (first.epoch !== trust.epoch) {
    throw new AuditPackError(FILES.committee, `is of epoch ${first.epoch}, not ${trust.epoch}`);
  }
  if (trust.checkpoint !== null) {
    const file = excerptFile(EPOCHS, trust.checkpoint);
    if (ends[0] !== trust.checkpoint)
      throw new AuditPackError(file, "is not the first of its folder");
    const anchor = await endAt(trust.checkpoint);
    const named = committeeAfter(anchor);
    if (anchor.header.digest !== trust.digest) {
      throw new AuditPackError(file, `has digest ${anchor.header.digest}, not ${trust.digest}`);
    }
    if (named === null || !isSameCommittee(named, first)) {
      throw new AuditPackError(FILES.committee, `is not the committee that ${file} names`);
    }
    next = 1;
  }
  const prover = createProver(await loadBls(), first);
  const told = {
    signatures: 0,
    lowestStake: TOTAL_STAKE,
    firstEpoch: first.epoch,
    lastEpoch: first.epoch,
  };
  const proven = (file: string, certified: CertifiedSummary) =>
    reading(file, () => {
      const { stake } = prover.prove(certified);
      told.signatures += 1;
      if (stake < told.lowestStake) told.lowestStake = stake;
      told.lastEpoch = certified.header.epoch;
    });
  return {
    prove: async (file, certified) => {
      while (prover.committee.epoch < certified.header.epoch) {
        const sequence = ends[next];
        if (sequence === undefined) {
          throw new AuditPackError(
            file,
            `is of epoch ${certified.header.epoch}, but ${EPOCHS}/ does not lead beyond epoch ${prover.committee.epoch}`,
          );
        }
        next += 1;
        const end = await endAt(sequence);
        // One that holds facts has passed already.
        if (end.header.epoch >= prover.committee.epoch) {
          await proven(excerptFile(EPOCHS, sequence), end);
        }
      }
      await proven(file, certified);
    },
    told: () => told,
  };
};
