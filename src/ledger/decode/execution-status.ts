import {
  address,
  bytes,
  type Layout,
  nothing,
  oneOf,
  optional,
  record,
  text,
  u8,
  u16,
  u64,
  vector,
} from "./layout.ts";

/** Module (address and name), function, instruction, function name. */
const moveLocation = record(address, text, u16, u16, optional(text));

const commandArgumentError = oneOf("CommandArgumentError", [
  nothing, // 0 TypeMismatch
  nothing, // 1 InvalidBCSBytes
  nothing, // 2 InvalidUsageOfPureArg
  nothing, // 3 InvalidArgumentToPrivateEntryFunction
  u16, // 4 IndexOutOfBounds
  record(u16, u16), // 5 SecondaryIndexOutOfBounds
  u16, // 6 InvalidResultArity
  nothing, // 7 InvalidGasCoinUsage
  nothing, // 8 InvalidValueUsage
  nothing, // 9 InvalidObjectByValue
  nothing, // 10 InvalidObjectByMutRef
  nothing, // 11 SharedObjectOperationNotAllowed
  nothing, // 12 InvalidArgumentArity
  nothing, // 13 InvalidTransferObject
  nothing, // 14 InvalidMakeMoveVecNonObjectArgument
  nothing, // 15 ArgumentWithoutValue
  nothing, // 16 CannotMoveBorrowedValue
  nothing, // 17 CannotWriteToExtendedReference
  nothing, // 18 InvalidReferenceArgument
  nothing, // 19 InvalidTxContext
]);

const typeArgumentError = oneOf("TypeArgumentError", [
  nothing, // 0 TypeNotFound
  nothing, // 1 ConstraintNotSatisfied
]);

const packageUpgradeError = oneOf("PackageUpgradeError", [
  address, // 0 UnableToFetchPackage
  address, // 1 NotAPackage
  nothing, // 2 IncompatibleUpgrade
  bytes, // 3 DigestDoesNotMatch
  u8, // 4 UnknownUpgradePolicy
  record(address, address), // 5 PackageIDDoesNotMatch
]);

const failure = oneOf("ExecutionFailureStatus", [
  nothing, // 0 InsufficientGas
  nothing, // 1 InvalidGasObject
  nothing, // 2 InvariantViolation
  nothing, // 3 FeatureNotYetSupported
  record(u64, u64), // 4 MoveObjectTooBig
  record(u64, u64), // 5 MovePackageTooBig
  address, // 6 CircularObjectOwnership
  nothing, // 7 InsufficientCoinBalance
  nothing, // 8 CoinBalanceOverflow
  nothing, // 9 PublishErrorNonZeroAddress
  nothing, // 10 SuiMoveVerificationError
  optional(moveLocation), // 11 MovePrimitiveRuntimeError
  record(moveLocation, u64), // 12 MoveAbort
  nothing, // 13 VMVerificationOrDeserializationError
  nothing, // 14 VMInvariantViolation
  nothing, // 15 FunctionNotFound
  nothing, // 16 ArityMismatch
  nothing, // 17 TypeArityMismatch
  nothing, // 18 NonEntryFunctionInvoked
  record(u16, commandArgumentError), // 19 CommandArgumentError
  record(u16, typeArgumentError), // 20 TypeArgumentError
  record(u16, u16), // 21 UnusedValueWithoutDrop
  u16, // 22 InvalidPublicFunctionReturnType
  nothing, // 23 InvalidTransferObject
  record(u64, u64), // 24 EffectsTooLarge
  nothing, // 25 PublishUpgradeMissingDependency
  nothing, // 26 PublishUpgradeDependencyDowngrade
  packageUpgradeError, // 27 PackageUpgradeError
  record(u64, u64), // 28 WrittenObjectsTooLarge
  nothing, // 29 CertificateDenied
  nothing, // 30 SuiMoveVerificationTimedout
  nothing, // 31 SharedObjectOperationNotAllowed
  nothing, // 32 InputObjectDeleted
  vector(address), // 33 ExecutionCancelledDueToSharedObjectCongestion
  record(address, text), // 34 AddressDeniedForCoin
  text, // 35 CoinTypeGlobalPause
  nothing, // 36 ExecutionCancelledDueToRandomnessUnavailable
  record(u64, u64), // 37 MoveVectorElemTooBig
  record(u64, u64), // 38 MoveRawValueTooBig
  nothing, // 39 InvalidLinkage
  nothing, // 40 InsufficientFundsForWithdraw
  address, // 41 NonExclusiveWriteInputObjectModified
]);

/** `ExecutionStatus`: success, or the failure and its command. */
export const executionStatus: Layout = oneOf("ExecutionStatus", [
  nothing, // 0 Success
  record(failure, optional(u64)), // 1 Failure
]);
