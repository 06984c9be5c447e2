import { ByteWriter } from "./byte-writer.ts";
import { type ObjectOwner, writeOwner } from "./object.ts";
import { structTag } from "./type-tag.ts";

/** Cost of a transaction, in SUI's smallest unit. */
export type GasCost = {
  readonly computation: bigint;
  readonly storage: bigint;
  readonly rebate: bigint;
  readonly nonRefundable: bigint;
};

/** Cost of system transactions. */
export const NO_GAS: GasCost = { computation: 0n, storage: 0n, rebate: 0n, nonRefundable: 0n };

export type AbortLocation = {
  /** Original id of the package. */
  readonly package: string;
  readonly module: string;
  /** Index of the function in its module. */
  readonly functionIndex: number;
  readonly instruction: number;
  readonly functionName: string;
};

export type ExecutionStatus =
  | { readonly kind: "success" }
  | {
      readonly kind: "abort";
      readonly location: AbortLocation;
      readonly code: bigint;
      readonly command: bigint;
    }
  | { readonly kind: "insufficient-gas" };

/** An entry of the effects' `changed_objects`. */
export type ObjectChange = {
  readonly id: string;
  /** The object before; null when it did not exist. */
  readonly input: {
    readonly version: bigint;
    readonly digest: Uint8Array;
    readonly owner: ObjectOwner;
  } | null;
  readonly output:
    | { readonly kind: "none" }
    | { readonly kind: "object"; readonly digest: Uint8Array; readonly owner: ObjectOwner }
    | { readonly kind: "package"; readonly version: bigint; readonly digest: Uint8Array };
  readonly idOperation: "none" | "created" | "deleted";
};

type ReadObject = {
  readonly id: string;
  readonly version: bigint;
  readonly digest: Uint8Array;
};

/** `TransactionEffects` V2. */
export type Effects = {
  readonly status: ExecutionStatus;
  readonly epoch: bigint;
  readonly gas: GasCost;
  readonly transactionDigest: Uint8Array;
  /** Index of the gas coin in `changes`; null for system transactions. */
  readonly gasObjectIndex: number | null;
  readonly eventsDigest: Uint8Array | null;
  /** Transactions that wrote what this one used, ascending. */
  readonly dependencies: readonly Uint8Array[];
  /** Version of every written object. */
  readonly lamportVersion: bigint;
  /** By id, ascending. */
  readonly changes: readonly ObjectChange[];
  /** By id, ascending. */
  readonly reads: readonly ReadObject[];
};

export type WireEvent = {
  /** Package version whose code ran. */
  readonly packageId: string;
  /** The called module. */
  readonly module: string;
  readonly sender: string;
  readonly type: string;
  readonly contents: Uint8Array;
};

/** BCS of `TransactionEvents`. */
export const encodeEvents = (events: readonly WireEvent[]): Uint8Array =>
  new ByteWriter()
    .list(events, (writer, event) =>
      writer
        .address(event.packageId)
        .string(event.module)
        .address(event.sender)
        .raw(structTag(event.type))
        .bytes(event.contents),
    )
    .done();

/** BCS of `GasCostSummary`. */
export const writeGasCost = (writer: ByteWriter, gas: GasCost): ByteWriter =>
  writer.u64(gas.computation).u64(gas.storage).u64(gas.rebate).u64(gas.nonRefundable);

/** BCS of `TransactionEffects` V2. */
export const encodeEffects = (effects: Effects): Uint8Array => {
  const writer = new ByteWriter().u8(1);
  writeStatus(writer, effects.status);
  writeGasCost(writer.u64(effects.epoch), effects.gas);
  return writer
    .bytes(effects.transactionDigest)
    .option(effects.gasObjectIndex, (w, index) => w.u32(index))
    .option(effects.eventsDigest, (w, digest) => w.bytes(digest))
    .list(effects.dependencies, (w, digest) => w.bytes(digest))
    .u64(effects.lamportVersion)
    .list(effects.changes, writeChange)
    .list(effects.reads, (w, read) => w.address(read.id).u8(0).u64(read.version).bytes(read.digest))
    .u8(0) // auxiliary data: none
    .done();
};

const writeStatus = (writer: ByteWriter, status: ExecutionStatus): void => {
  switch (status.kind) {
    case "success":
      writer.u8(0);
      return;
    case "insufficient-gas":
      writer.u8(1).u8(0).u8(0);
      return;
    case "abort":
      writer
        .u8(1)
        .u8(12) // MoveAbort
        .address(status.location.package)
        .string(status.location.module)
        .u16(status.location.functionIndex)
        .u16(status.location.instruction)
        .u8(1)
        .string(status.location.functionName)
        .u64(status.code)
        .u8(1)
        .u64(status.command);
  }
};

const ID_OPERATIONS = { none: 0, created: 1, deleted: 2 } as const;

const writeChange = (writer: ByteWriter, change: ObjectChange): void => {
  writer.address(change.id);
  const { input, output } = change;
  if (input === null) writer.u8(0);
  else writeOwner(writer.u8(1).u64(input.version).bytes(input.digest), input.owner);
  switch (output.kind) {
    case "none":
      writer.u8(0);
      break;
    case "object":
      writeOwner(writer.u8(1).bytes(output.digest), output.owner);
      break;
    case "package":
      writer.u8(2).u64(output.version).bytes(output.digest);
      break;
  }
  writer.u8(ID_OPERATIONS[change.idOperation]);
};
