/**
 * Facts of security tokens with genuine contents, for tests of the ledger pipelines: say what happened
 * in each transaction of each checkpoint, get the facts a reader would have appended.
 */
import {
  addressFrozen,
  addressGroup,
  burn,
  holderAdded,
  holderAddress,
  holderRemoved,
  mint,
  roleChange,
  transfer,
} from "../../src/ledger/contract/events.ts";
import * as names from "../../src/ledger/contract/names.ts";
import { sharedToken, timelock } from "../../src/ledger/contract/objects.ts";
import type { CheckpointMark, Fact, FactBatch } from "../../src/log/fact.ts";

/** `0x` and 64 digits. */
export const address = (digits: string): string => `0x${digits.padStart(64, "0")}`;

export const PACKAGE = address("5ec");
export const ACME = `${address("ac")}::acme::ACME`;
export const BETA = `${address("be")}::beta::BETA`;
export const SIGNER = address("516");

/** Something a transaction says: an event, or an object that it wrote or removed. */
export type Said = {
  readonly name: string;
  readonly coinType: string | null;
} & (
  | { readonly kind: "event"; readonly contents: Uint8Array }
  | { readonly kind: "object"; readonly objectId: string; readonly contents: Uint8Array }
  | { readonly kind: "removal"; readonly objectId: string }
);

const event = (name: string, contents: { toBytes(): Uint8Array }, coinType = ACME): Said => ({
  kind: "event",
  name,
  coinType,
  contents: contents.toBytes(),
});

export const minted = (said: typeof mint.$inferInput, coinType?: string): Said =>
  event(names.MINT, mint.serialize(said), coinType);
export const burned = (said: typeof burn.$inferInput, coinType?: string): Said =>
  event(names.BURN, burn.serialize(said), coinType);
export const transferred = (said: typeof transfer.$inferInput, coinType?: string): Said =>
  event(names.TRANSFER, transfer.serialize(said), coinType);
export const forceTransferred = (said: typeof transfer.$inferInput, coinType?: string): Said =>
  event(names.FORCE_TRANSFER, transfer.serialize(said), coinType);
/** `role` as a Move `TypeName` has it: the address without `0x`. */
export const roleChanged = (said: typeof roleChange.$inferInput, coinType?: string): Said =>
  event(names.ROLE_CHANGE, roleChange.serialize(said), coinType);
export const holderAddedTo = (said: typeof holderAdded.$inferInput, coinType?: string): Said =>
  event(names.HOLDER_ADDED, holderAdded.serialize(said), coinType);
export const holderRemovedFrom = (
  said: typeof holderRemoved.$inferInput,
  coinType?: string,
): Said => event(names.HOLDER_REMOVED, holderRemoved.serialize(said), coinType);
export const addressAdded = (said: typeof holderAddress.$inferInput, coinType?: string): Said =>
  event(names.HOLDER_ADDRESS_ADDED, holderAddress.serialize(said), coinType);
export const addressRemoved = (said: typeof holderAddress.$inferInput, coinType?: string): Said =>
  event(names.HOLDER_ADDRESS_REMOVED, holderAddress.serialize(said), coinType);
export const joinedGroup = (said: typeof addressGroup.$inferInput, coinType?: string): Said =>
  event(names.ADDRESS_JOINED_GROUP, addressGroup.serialize(said), coinType);
export const leftGroup = (said: typeof addressGroup.$inferInput, coinType?: string): Said =>
  event(names.ADDRESS_LEFT_GROUP, addressGroup.serialize(said), coinType);
export const frozen = (said: typeof addressFrozen.$inferInput, coinType?: string): Said =>
  event(names.ADDRESS_FROZEN, addressFrozen.serialize(said), coinType);

/** A `SharedToken` stands like this. */
export const token = (said: typeof sharedToken.$inferInput, coinType = ACME): Said => ({
  kind: "object",
  name: names.SHARED_TOKEN,
  coinType,
  objectId: said.id,
  contents: sharedToken.serialize(said).toBytes(),
});

/** A grant stands like this; what is not given is a plain schedule. */
export const grant = (
  given: Pick<typeof timelock.$inferInput, "id" | "owner" | "leftBalance"> &
    Partial<typeof timelock.$inferInput>,
  coinType = ACME,
): Said => ({
  kind: "object",
  name: names.TIMELOCK,
  coinType,
  objectId: given.id,
  contents: timelock
    .serialize({
      funder: SIGNER,
      releaseScheduleId: 3n,
      releaseCount: 12n,
      delayUntilFirstReleaseMs: 1_000n,
      periodBetweenReleasesMs: 86_400_000n,
      initialReleasePortionBps: 2_500n,
      commencementTimestampMs: 1_700_000_000_000n,
      totalAmount: 1_000n,
      tokensTransferred: 0n,
      ...given,
    })
    .toBytes(),
});

/** An object is deleted, or wrapped into another. */
export const removed = (name: string, objectId: string, coinType = ACME): Said => ({
  kind: "removal",
  name,
  coinType,
  objectId,
});

/** A checkpoint: what each of its transactions said, events before objects. */
export type SaidCheckpoint = {
  readonly sequence: bigint;
  /** By default one checkpoint every second, from a round second on. */
  readonly timestampMs?: bigint;
  readonly transactions: readonly (readonly Said[])[];
};

const timeOf = ({ sequence, timestampMs }: SaidCheckpoint): bigint =>
  timestampMs ?? (1_700_000_000n + sequence) * 1_000n;

/** Version of every object written in a checkpoint's transaction. */
export const versionOf = (sequence: bigint, transaction: number): bigint =>
  sequence * 1_000n + BigInt(transaction) + 1n;

export const digestOf = (sequence: bigint, transaction: number): string =>
  `Tx${sequence}x${transaction}`;

const factsOf = (checkpoint: SaidCheckpoint): Fact[] =>
  checkpoint.transactions.flatMap((transaction, number) => {
    const [events, objects] = [
      transaction.filter((said) => said.kind === "event"),
      transaction.filter((said) => said.kind !== "event"),
    ];
    return [...events.entries(), ...objects.entries()].map(([index, said]): Fact => {
      const parameters = said.coinType === null ? "" : `<${said.coinType}>`;
      const common = {
        checkpoint: checkpoint.sequence,
        transaction: number,
        index,
        type: `${PACKAGE}::${said.name}${parameters}`,
        txDigest: digestOf(checkpoint.sequence, number),
        sender: SIGNER,
        timestampMs: timeOf(checkpoint),
      };
      if (said.kind === "event") return { ...common, ...said };
      return { ...common, ...said, version: versionOf(checkpoint.sequence, number) };
    });
  });

const markOf = (checkpoint: SaidCheckpoint): CheckpointMark => ({
  sequence: checkpoint.sequence,
  digest: `Checkpoint${checkpoint.sequence}`,
  timestampMs: timeOf(checkpoint),
});

/** One batch of consecutive checkpoints. */
export const batchOf = (checkpoints: readonly SaidCheckpoint[]): FactBatch => {
  const [first, last] = [checkpoints.at(0), checkpoints.at(-1)];
  if (first === undefined || last === undefined) throw new Error("a batch has a checkpoint");
  return { first: first.sequence, last: markOf(last), facts: checkpoints.flatMap(factsOf) };
};

/** A batch as the log gives it to a pipeline: only the facts it wants. */
export const wantedBy = (pipeline: { readonly facts: readonly string[] }, batch: FactBatch) => ({
  ...batch,
  facts: batch.facts.filter((fact) => pipeline.facts.includes(fact.name)),
});
