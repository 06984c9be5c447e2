/** One transaction of every kind the network knows, with every kind of input and command. */
import type { bcs } from "@mysten/sui/bcs";
import { toBase58 } from "@mysten/sui/utils";
import { id } from "./fixture-object.ts";

type Kind = typeof bcs.TransactionKind.$inferInput;

const digest = toBase58(new Uint8Array(32).fill(11));
const ref = { objectId: id(1), version: 2, digest };
const argument = { NestedResult: [3, 4] } as const;
const everyArgument = [{ GasCoin: true }, { Input: 1 }, { Result: 2 }, argument] as const;
const type = "0x2::coin::Coin<vector<0x3::a::B<u8,bool>>>";

const programmable = {
  inputs: [
    { Pure: { bytes: new Uint8Array([1, 2, 3]) } },
    { Object: { ImmOrOwnedObject: ref } },
    { Object: { SharedObject: { objectId: id(6), initialSharedVersion: 1, mutable: true } } },
    { Object: { Receiving: ref } },
    funds({ Sender: true }),
    funds({ Sponsor: true }),
    funds({ SenderAllowance: { funder: id(1), allowance: id(2) } }),
  ],
  commands: [
    {
      MoveCall: {
        package: id(2),
        module: "m",
        function: "f",
        typeArguments: [type, "address", "u16"],
        arguments: everyArgument,
      },
    },
    { TransferObjects: { objects: everyArgument, address: argument } },
    { SplitCoins: { coin: argument, amounts: everyArgument } },
    { MergeCoins: { destination: argument, sources: everyArgument } },
    { Publish: { modules: [new Uint8Array([7, 8])], dependencies: [id(1)] } },
    { MakeMoveVec: { type, elements: everyArgument } },
    { MakeMoveVec: { type: null, elements: [] } },
    {
      Upgrade: {
        modules: [new Uint8Array([7])],
        dependencies: [id(1), id(2)],
        package: id(5),
        ticket: argument,
      },
    },
  ],
};

function funds(withdrawFrom: object) {
  return {
    FundsWithdrawal: {
      reservation: { MaxAmountU64: 5 },
      typeArg: { Balance: "0x2::sui::SUI" },
      withdrawFrom,
    },
  };
}

const changeEpoch = {
  epoch: 1,
  protocolVersion: 2,
  storageCharge: 3,
  computationCharge: 4,
  storageRebate: 5,
  nonRefundableStorageFee: 6,
  epochStartTimestampMs: 7,
  systemPackages: [[1, [new Uint8Array([1, 2])], [id(1)]]],
};

const prologue = { epoch: 1, round: 2, commitTimestampMs: 3 };
const prologueV3 = {
  ...prologue,
  subDagIndex: 4,
  consensusCommitDigest: digest,
  consensusDeterminedVersionAssignments: { CancelledTransactions: [[digest, [[id(1), 5]]]] },
};

const genesisObject = {
  RawObject: {
    data: {
      Move: {
        type: { GasCoin: true },
        hasPublicTransfer: true,
        version: 1,
        contents: new Uint8Array(40),
      },
    },
    owner: { AddressOwner: id(1) },
  },
};

const genesisPackage = {
  RawObject: {
    data: {
      Package: {
        id: id(1),
        version: 1,
        moduleMap: new Map([["m", new Uint8Array([1])]]),
        typeOriginTable: [{ moduleName: "m", datatypeName: "T", package: id(1) }],
        linkageTable: new Map([[id(1), { upgradedId: id(1), upgradedVersion: 1 }]]),
      },
    },
    owner: { Immutable: true },
  },
};

const endOfEpoch = [
  { ChangeEpoch: changeEpoch },
  { AuthenticatorStateCreate: true },
  { AuthenticatorStateExpire: { minEpoch: 1, authenticatorObjInitialSharedVersion: 2 } },
  { RandomnessStateCreate: true },
  { DenyListStateCreate: true },
  { BridgeStateCreate: digest },
  { BridgeCommitteeInit: 5 },
  {
    StoreExecutionTimeObservations: {
      V1: [
        [
          { MoveEntryPoint: { package: id(1), module: "m", function: "f", typeArguments: [type] } },
          [[new Uint8Array(96).fill(1), { secs: 5, nanos: 6 }]],
        ],
        [{ TransferObjects: true }, []],
        [{ Upgrade: true }, []],
      ],
    },
  },
  { AccumulatorRootCreate: true },
  { CoinRegistryCreate: true },
  { DisplayRegistryCreate: true },
  { AddressAliasStateCreate: true },
  { WriteAccumulatorStorageCost: { storageCost: 5 } },
  { ForwardingAddressRegistryCreate: true },
];

const jwk = {
  jwkId: { iss: "https://issuer.example", kid: "k" },
  jwk: { kty: "RSA", e: "AQAB", n: "n", alg: "RS256" },
  epoch: 3,
};

/** The library validates these while writing; their nested input types are beyond inference here. */
export const everyTransactionKind = [
  { ProgrammableTransaction: programmable },
  { ChangeEpoch: changeEpoch },
  { Genesis: { objects: [genesisObject, genesisPackage] } },
  { ConsensusCommitPrologue: prologue },
  {
    AuthenticatorStateUpdate: {
      epoch: 1,
      round: 2,
      newActiveJwks: [jwk],
      authenticatorObjInitialSharedVersion: 3,
    },
  },
  { EndOfEpochTransaction: endOfEpoch },
  {
    RandomnessStateUpdate: {
      epoch: 1,
      randomnessRound: 2,
      randomBytes: new Uint8Array([1, 2, 3]),
      randomnessObjInitialSharedVersion: 4,
    },
  },
  { ConsensusCommitPrologueV2: { ...prologue, consensusCommitDigest: digest } },
  { ConsensusCommitPrologueV3: prologueV3 },
  {
    ConsensusCommitPrologueV4: {
      ...prologueV3,
      subDagIndex: null,
      consensusDeterminedVersionAssignments: {
        CancelledTransactionsV2: [[digest, [[[id(1), 5], 6]]]],
      },
      additionalStateDigest: digest,
    },
  },
  { ProgrammableSystemTransaction: programmable },
] as unknown as readonly Kind[];

const validity = {
  minEpoch: 1,
  maxEpoch: null,
  minTimestamp: 3,
  maxTimestamp: null,
  chain: digest,
  nonce: 5,
};

export const everyExpiration: readonly (typeof bcs.TransactionExpiration.$inferInput)[] = [
  { None: true },
  { Epoch: 5 },
  { ValidDuring: validity },
  { Validity: { ...validity, allowedProposers: null } },
  { Validity: { ...validity, allowedProposers: { epoch: 1, proposers: [1, 2, 3] } } },
];
