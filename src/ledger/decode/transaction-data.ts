import type { Cursor } from "./cursor.ts";
import {
  address,
  authorityKey,
  bytes,
  digest,
  fixed,
  type Layout,
  nothing,
  objectRef,
  oneOf,
  optional,
  record,
  text,
  u16,
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
const systemTransactionKinds: readonly Layout[] = [
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

/** Skips `TransactionData` and returns the offset of its sender. */
export const readTransactionData = (cursor: Cursor): number => {
  cursor.variant("TransactionData", 1);
  transactionKind(cursor);
  const senderAt = cursor.skip(32);
  gasData(cursor);
  expiration(cursor);
  return senderAt;
};

const argument = oneOf("Argument", [
  nothing, // 0 GasCoin
  u16, // 1 Input
  u16, // 2 Result
  record(u16, u16), // 3 NestedResult
]);
const callArguments = vector(argument);

const objectArg = oneOf("ObjectArg", [
  objectRef, // 0 ImmOrOwnedObject
  record(
    address, // 1 SharedObject: id, initial version, how it is used
    u64,
    oneOf("SharedObjectMutability", [nothing, nothing, nothing]),
  ),
  objectRef, // 2 Receiving
]);

const fundsWithdrawal = record(
  oneOf("Reservation", [u64]),
  oneOf("WithdrawalTypeArg", [typeTag]),
  oneOf("WithdrawFrom", [
    nothing, // 0 Sender
    nothing, // 1 Sponsor
    record(address, address), // 2 SenderAllowance: funder, allowance
  ]),
);

const callArg = oneOf("CallArg", [
  bytes, // 0 Pure
  objectArg, // 1 Object
  fundsWithdrawal, // 2 FundsWithdrawal
]);

const command = oneOf("Command", [
  record(address, text, text, vector(typeTag), callArguments), // 0 MoveCall
  record(callArguments, argument), // 1 TransferObjects
  record(argument, callArguments), // 2 SplitCoins
  record(argument, callArguments), // 3 MergeCoins
  record(vector(bytes), vector(address)), // 4 Publish
  record(optional(typeTag), callArguments), // 5 MakeMoveVec
  record(vector(bytes), vector(address), address, argument), // 6 Upgrade
]);

const programmable: Layout = record(vector(callArg), vector(command));

const transactionKind = oneOf("TransactionKind", [
  programmable, // 0 ProgrammableTransaction
  ...systemTransactionKinds, // 1 to 9
  programmable, // 10 ProgrammableSystemTransaction
]);

/** Payment, owner, price, budget. */
const gasData = record(vector(objectRef), address, fixed(8 + 8));

/** Minimum and maximum epoch and timestamp; chain, nonce. */
const validity = record(optional(u64), optional(u64), optional(u64), optional(u64), digest, u32);

const expiration = oneOf("TransactionExpiration", [
  nothing, // 0 None
  u64, // 1 Epoch
  validity, // 2 ValidDuring
  record(validity, optional(record(u64, vector(u32)))), // 3 Validity: also the allowed proposers
]);
