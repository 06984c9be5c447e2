/**
 * Small checkpoints made up for tests, in both encodings, with every digest right. Written with the
 * BCS types of `wire-types.ts` and the hash function of a library, so that nothing of the decoder
 * under test takes part. They hold what the genuine ones at hand do not: all variants of transactions,
 * effects and contents, parties, balance fields, wrapping and unwrapping.
 */
import { bcs, type TypeTag } from "@mysten/sui/bcs";
import { toBase58 } from "@mysten/sui/utils";
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { asProtobuf } from "./as-protobuf.ts";
import { encodeEffects, type FixtureOutcome, inOrder } from "./fixture-effects.ts";
import { encodeObject, hash, join } from "./fixture-object.ts";
import * as wire from "./wire-types.ts";

type Kind = typeof bcs.TransactionKind.$inferInput;
type Expiration = typeof bcs.TransactionExpiration.$inferInput;
type StructTag = typeof bcs.StructTag.$inferInput;

export type FixtureEvent = {
  readonly packageId: string;
  readonly type: StructTag;
  readonly contents: Uint8Array;
};

export type FixtureTransaction = FixtureOutcome & {
  readonly sender: string;
  readonly kind?: Kind;
  readonly expiration?: Expiration;
  readonly events?: readonly FixtureEvent[];
};

export type FixtureCheckpoint = {
  readonly sequence: bigint;
  readonly transactions: readonly FixtureTransaction[];
  readonly contents?: "V1" | "V2";
  readonly endOfEpoch?: boolean;
};

/** A made-up checkpoint in both encodings. */
export type EncodedFixture = { readonly bcs: RawCheckpoint; readonly protobuf: RawCheckpoint };

export const encodeFixture = (fixture: FixtureCheckpoint): EncodedFixture => {
  const { sequence } = fixture;
  const transactions = fixture.transactions.map(encodeTransaction);
  const contents = encodeContents(fixture.contents ?? "V1", transactions);
  const summary = encodeSummary(fixture, transactions.length, hash("CheckpointContents", contents));
  const certificate = wire.certificate
    .serialize({ epoch: 7, signature: new Uint8Array(48).fill(3), signers: [58, 48, 0, 0] })
    .toBytes();
  const count = bcs.uleb128().serialize(transactions.length).toBytes();
  const bytes = join([summary, certificate, contents, count, ...transactions.map((t) => t.bytes)]);
  return {
    bcs: { sequence, encoding: "bcs", bytes },
    protobuf: { sequence, encoding: "protobuf", bytes: asProtobuf(bytes) },
  };
};

/** A struct's type as the library takes it. */
export const structTag = (
  address: string,
  module: string,
  name: string,
  typeParams: TypeTag[] = [],
): { address: string; module: string; name: string; typeParams: TypeTag[] } => ({
  address,
  module,
  name,
  typeParams,
});

type EncodedTransaction = {
  readonly bytes: Uint8Array;
  readonly digest: Uint8Array;
  readonly effectsDigest: Uint8Array;
};

const SIGNATURE = new Uint8Array(97).fill(9);

const encodeTransaction = (fixture: FixtureTransaction, index: number): EncodedTransaction => {
  const data = encodeData(fixture, index);
  const digest = hash("TransactionData", data);
  const events = encodeEvents(fixture);
  const eventsDigest = events === null ? null : toBase58(hash("TransactionEvents", events));
  const effects = encodeEffects(fixture, {
    transactionDigest: toBase58(digest),
    eventsDigest,
  });
  const { changes = [] } = fixture;
  const inputs = changes.flatMap(({ before }) => (before === null ? [] : [encodeObject(before)]));
  const outputs = inOrder(changes).map((object) => encodeObject(object));
  const signed = [Uint8Array.of(1, 0, 0, 0), data, signatures()];
  const optionalEvents = events === null ? [Uint8Array.of(0)] : [Uint8Array.of(1), events];
  return {
    digest,
    effectsDigest: hash("TransactionEffects", effects),
    bytes: join([...signed, effects, ...optionalEvents, vector(inputs), vector(outputs)]),
  };
};

const encodeData = ({ sender, kind, expiration }: FixtureTransaction, index: number): Uint8Array =>
  bcs.TransactionData.serialize({
    V1: {
      kind: kind ?? { ProgrammableTransaction: { inputs: [], commands: [] } },
      sender,
      gasData: { payment: [], owner: sender, price: 1000 + index, budget: 5 },
      expiration: expiration ?? { None: true },
    },
  }).toBytes();

const encodeEvents = ({ events = [], sender }: FixtureTransaction): Uint8Array | null => {
  if (events.length === 0) return null;
  return wire.events
    .serialize(events.map((event) => ({ ...event, module: "running", sender })))
    .toBytes();
};

const encodeContents = (
  version: "V1" | "V2",
  transactions: readonly EncodedTransaction[],
): Uint8Array => {
  const digests = transactions.map(({ digest, effectsDigest }) => ({
    transaction: digest,
    effects: effectsDigest,
  }));
  return wire.contents
    .serialize(
      version === "V1"
        ? { V1: { transactions: digests, signatures: digests.map(() => [SIGNATURE]) } }
        : {
            V2: {
              transactions: digests.map((entry, index) => ({
                digests: entry,
                signatures: [[SIGNATURE, index === 0 ? null : 3]] as const,
              })),
            },
          },
    )
    .toBytes();
};

const encodeSummary = (
  { sequence, endOfEpoch = false }: FixtureCheckpoint,
  transactions: number,
  contentDigest: Uint8Array,
): Uint8Array =>
  wire.summary
    .serialize({
      epoch: 7,
      sequenceNumber: sequence,
      networkTotalTransactions: 1000 + transactions,
      contentDigest,
      previousDigest: sequence === 0n ? null : new Uint8Array(32).fill(1),
      gas: [1, 2, 3, 4],
      timestampMs: 1_700_000_000_000n + sequence,
      commitments: [{ CheckpointArtifacts: new Uint8Array(32).fill(2) }],
      endOfEpoch: endOfEpoch
        ? {
            nextCommittee: [[new Uint8Array(96).fill(4), 2500]],
            nextProtocolVersion: 99,
            commitments: [{ ECMHLiveObjectSet: new Uint8Array(32).fill(8) }],
          }
        : null,
      versionSpecificData: [0, 0],
    })
    .toBytes();

const signatures = (): Uint8Array => bcs.vector(bcs.byteVector()).serialize([SIGNATURE]).toBytes();

const vector = (items: readonly Uint8Array[]): Uint8Array =>
  join([bcs.uleb128().serialize(items.length).toBytes(), ...items]);
