import type { Cursor } from "./cursor.ts";
import {
  address,
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
import { systemTransactionKinds } from "./system-transaction.ts";
import { typeTag } from "./type-tag.ts";

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
