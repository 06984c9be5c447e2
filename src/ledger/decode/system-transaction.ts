import {
  address,
  authorityKey,
  bytes,
  digest,
  fixed,
  type Layout,
  nothing,
  oneOf,
  optional,
  record,
  text,
  u32,
  u64,
  vector,
} from "./layout.ts";
import { skipGenesisObject } from "./object.ts";
import { typeTag } from "./type-tag.ts";

/** Seven u64 settings, then system packages: version, modules, dependencies. */
const changeEpoch = record(fixed(7 * 8), vector(record(u64, vector(bytes), vector(address))));

const activeJwk = record(
  record(text, text), // issuer, key id
  record(text, text, text, text), // kty, e, n, alg
  u64, // epoch
);

const executionTimeObservations = oneOf("StoredExecutionTimeObservations", [
  vector(
    record(
      oneOf("ExecutionTimeObservationKey", [
        record(address, text, text, vector(typeTag)), // 0 MoveEntryPoint
        nothing, // 1 TransferObjects
        nothing, // 2 SplitCoins
        nothing, // 3 MergeCoins
        nothing, // 4 Publish
        nothing, // 5 MakeMoveVec
        nothing, // 6 Upgrade
      ]),
      vector(record(authorityKey, u64, u32)), // validator, seconds, nanoseconds
    ),
  ),
]);

const endOfEpochKind = oneOf("EndOfEpochTransactionKind", [
  changeEpoch, // 0 ChangeEpoch
  nothing, // 1 AuthenticatorStateCreate
  record(u64, u64), // 2 AuthenticatorStateExpire
  nothing, // 3 RandomnessStateCreate
  nothing, // 4 DenyListStateCreate
  digest, // 5 BridgeStateCreate
  u64, // 6 BridgeCommitteeInit
  executionTimeObservations, // 7 StoreExecutionTimeObservations
  nothing, // 8 AccumulatorRootCreate
  nothing, // 9 CoinRegistryCreate
  nothing, // 10 DisplayRegistryCreate
  nothing, // 11 AddressAliasStateCreate
  u64, // 12 WriteAccumulatorStorageCost
  nothing, // 13 ForwardingAddressRegistryCreate
]);

const objectVersion = record(address, u64);

const versionAssignments = oneOf("ConsensusDeterminedVersionAssignments", [
  vector(record(digest, vector(objectVersion))), // 0 CancelledTransactions
  vector(record(digest, vector(record(objectVersion, u64)))), // 1 CancelledTransactionsV2
]);

/** Epoch, round, sub-DAG index, timestamp, commit digest, version assignments. */
const commitPrologue = record(u64, u64, optional(u64), u64, digest, versionAssignments);

/** `TransactionKind` variants 1 to 9: system transactions. */
export const systemTransactionKinds: readonly Layout[] = [
  changeEpoch, // 1 ChangeEpoch
  vector(skipGenesisObject), // 2 Genesis
  record(u64, u64, u64), // 3 ConsensusCommitPrologue
  record(u64, u64, vector(activeJwk), u64), // 4 AuthenticatorStateUpdate
  vector(endOfEpochKind), // 5 EndOfEpochTransaction
  record(u64, u64, bytes, u64), // 6 RandomnessStateUpdate
  record(u64, u64, u64, digest), // 7 ConsensusCommitPrologueV2
  commitPrologue, // 8 ConsensusCommitPrologueV3
  record(commitPrologue, digest), // 9 ConsensusCommitPrologueV4
];
