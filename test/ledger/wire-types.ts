/**
 * The network's checkpoint as BCS types, put together from `@mysten/sui/bcs`: written by others than
 * the decoder under test, so that one can be held against the other.
 */
import { BcsReader } from "@mysten/bcs";
import { BcsType, bcs } from "@mysten/sui/bcs";

const digest = bcs.byteVector();

/** Positions inside the bytes being read; `BcsReader` keeps its own private. */
class CountingReader extends BcsReader {
  readonly bytes: Uint8Array;
  position = 0;

  constructor(bytes: Uint8Array) {
    super(bytes);
    this.bytes = bytes;
  }

  override shift(bytes: number): this {
    this.position += bytes;
    return super.shift(bytes);
  }
}

/** A value together with the bytes it was read from. */
type WithBytes<T> = { readonly value: T; readonly bytes: Uint8Array };

const withBytes = <T, Input>(type: BcsType<T, Input>): BcsType<WithBytes<T>> =>
  new BcsType({
    name: `WithBytes<${type.name}>`,
    read: (reader): WithBytes<T> => {
      if (!(reader instanceof CountingReader)) throw new Error("read with readCheckpointData");
      const start = reader.position;
      const value = type.read(reader);
      return { value, bytes: reader.bytes.slice(start, reader.position) };
    },
    write: () => {
      throw new Error("for reading only");
    },
  });

/** Newer than the library's: it knows neither balance fields nor parties. */
export const moveObjectType = bcs.enum("MoveObjectType", {
  Other: bcs.StructTag,
  GasCoin: null,
  StakedSui: null,
  Coin: bcs.TypeTag,
  SuiBalanceAccumulatorField: null,
  BalanceAccumulatorField: bcs.TypeTag,
});

export const owner = bcs.enum("Owner", {
  AddressOwner: bcs.Address,
  ObjectOwner: bcs.Address,
  Shared: bcs.u64(),
  Immutable: null,
  ConsensusAddressOwner: bcs.struct("ConsensusAddressOwner", {
    startVersion: bcs.u64(),
    owner: bcs.Address,
  }),
  Party: bcs.struct("Party", {
    startVersion: bcs.u64(),
    defaultPermissions: bcs.u64(),
    members: bcs.vector(bcs.tuple([bcs.Address, bcs.u64()])),
  }),
});

export const object = bcs.struct("Object", {
  data: bcs.enum("Data", {
    Move: bcs.struct("MoveObject", {
      type: moveObjectType,
      hasPublicTransfer: bcs.bool(),
      version: bcs.u64(),
      contents: bcs.byteVector(),
    }),
    Package: bcs.MovePackage,
  }),
  owner,
  previousTransaction: digest,
  storageRebate: bcs.u64(),
});

export const events = bcs.vector(
  bcs.struct("Event", {
    packageId: bcs.Address,
    module: bcs.string(),
    sender: bcs.Address,
    type: bcs.StructTag,
    contents: bcs.byteVector(),
  }),
);

const commitments = bcs.vector(
  bcs.enum("CheckpointCommitment", { ECMHLiveObjectSet: digest, CheckpointArtifacts: digest }),
);

export const summary = bcs.struct("CheckpointSummary", {
  epoch: bcs.u64(),
  sequenceNumber: bcs.u64(),
  networkTotalTransactions: bcs.u64(),
  contentDigest: digest,
  previousDigest: bcs.option(digest),
  gas: bcs.tuple([bcs.u64(), bcs.u64(), bcs.u64(), bcs.u64()]),
  timestampMs: bcs.u64(),
  commitments,
  endOfEpoch: bcs.option(
    bcs.struct("EndOfEpochData", {
      nextCommittee: bcs.vector(bcs.tuple([bcs.byteVector(), bcs.u64()])),
      nextProtocolVersion: bcs.u64(),
      commitments,
    }),
  ),
  versionSpecificData: bcs.byteVector(),
});

export const certificate = bcs.struct("AuthorityStrongQuorumSignInfo", {
  epoch: bcs.u64(),
  signature: bcs.bytes(48),
  signers: bcs.byteVector(),
});

const executionDigests = bcs.struct("ExecutionDigests", { transaction: digest, effects: digest });

export const contents = bcs.enum("CheckpointContents", {
  V1: bcs.struct("CheckpointContentsV1", {
    transactions: bcs.vector(executionDigests),
    signatures: bcs.vector(bcs.vector(bcs.byteVector())),
  }),
  V2: bcs.struct("CheckpointContentsV2", {
    transactions: bcs.vector(
      bcs.struct("CheckpointTransactionContents", {
        digests: executionDigests,
        signatures: bcs.vector(bcs.tuple([bcs.byteVector(), bcs.option(bcs.u64())])),
      }),
    ),
  }),
});

/** The parts of a `CheckpointData`, each with its bytes. */
const checkpointData = bcs.struct("CheckpointData", {
  summary: withBytes(summary),
  certificate,
  contents: withBytes(contents),
  transactions: bcs.vector(
    bcs.struct("CheckpointTransaction", {
      signed: bcs.vector(
        bcs.struct("SenderSignedTransaction", {
          intent: bcs.Intent,
          data: withBytes(bcs.TransactionData),
          signatures: bcs.vector(bcs.byteVector()),
        }),
      ),
      effects: withBytes(bcs.TransactionEffects),
      events: bcs.option(withBytes(events)),
      inputs: bcs.vector(withBytes(object)),
      outputs: bcs.vector(withBytes(object)),
    }),
  ),
});

/** Takes a `CheckpointData` apart. */
export const readCheckpointData = (bytes: Uint8Array): typeof checkpointData.$inferType =>
  checkpointData.read(new CountingReader(bytes));
