import { ByteWriter } from "./byte-writer.ts";
import type { GasCost } from "./effects.ts";
import {
  type MoveObject,
  type ObjectOwner,
  type PackageObject,
  writeMoveData,
  writeOwner,
  writePackageData,
} from "./object.ts";
import { typeTag } from "./type-tag.ts";

type ObjectRef = {
  readonly id: string;
  readonly version: bigint;
  readonly digest: Uint8Array;
};

/** `CallArg`: an input of a programmable transaction. */
type CallArgument =
  | { readonly kind: "pure"; readonly bytes: Uint8Array }
  | { readonly kind: "owned"; readonly ref: ObjectRef }
  | { readonly kind: "receiving"; readonly ref: ObjectRef }
  | {
      readonly kind: "shared";
      readonly id: string;
      readonly initialSharedVersion: bigint;
      readonly mutable: boolean;
    };

/** `Argument` of a command. */
export type Argument =
  | { readonly kind: "gas" }
  | { readonly kind: "input"; readonly index: number }
  | { readonly kind: "result"; readonly command: number };

/** `Command` of a programmable transaction. */
export type Command =
  | {
      readonly kind: "call";
      readonly package: string;
      readonly module: string;
      readonly function: string;
      readonly typeArguments: readonly string[];
      readonly arguments: readonly Argument[];
    }
  | {
      readonly kind: "transfer";
      readonly objects: readonly Argument[];
      readonly recipient: Argument;
    }
  | { readonly kind: "split"; readonly coin: Argument; readonly amounts: readonly Argument[] }
  | { readonly kind: "merge"; readonly into: Argument; readonly coins: readonly Argument[] }
  | {
      readonly kind: "publish";
      readonly modules: readonly Uint8Array[];
      readonly dependencies: readonly string[];
    }
  | {
      readonly kind: "upgrade";
      readonly modules: readonly Uint8Array[];
      readonly dependencies: readonly string[];
      readonly package: string;
      readonly ticket: Argument;
    };

export type TransactionKind =
  | {
      readonly kind: "programmable";
      readonly inputs: readonly CallArgument[];
      readonly commands: readonly Command[];
    }
  /** The chain's first transaction, with the objects it starts with. */
  | {
      readonly kind: "genesis";
      readonly objects: readonly (
        | { readonly move: MoveObject; readonly owner: ObjectOwner }
        | { readonly package: PackageObject }
      )[];
    }
  /** Consensus prologue, first in every commit: sets the clock. */
  | {
      readonly kind: "prologue";
      readonly epoch: bigint;
      readonly round: bigint;
      readonly timestampMs: bigint;
      readonly consensusDigest: Uint8Array;
      readonly additionalStateDigest: Uint8Array;
    }
  /** `ChangeEpoch`: the last of an epoch. */
  | {
      readonly kind: "change-epoch";
      /** The next epoch. */
      readonly epoch: bigint;
      readonly protocolVersion: bigint;
      /** Cost of the ending epoch's transactions. */
      readonly gas: GasCost;
      /** Start of the next epoch. */
      readonly timestampMs: bigint;
    };

export type Gas = {
  readonly payment: ObjectRef;
  readonly owner: string;
  readonly price: bigint;
  readonly budget: bigint;
};

const ZERO_ADDRESS = `0x${"0".repeat(64)}`;

export const SYSTEM_GAS: Gas = {
  payment: { id: ZERO_ADDRESS, version: 0n, digest: new Uint8Array(32) },
  owner: ZERO_ADDRESS,
  price: 1n,
  budget: 0n,
};

export const SYSTEM_SENDER = ZERO_ADDRESS;

/** BCS of `TransactionData` V1, under the transaction's digest. */
export const encodeTransactionData = (
  kind: TransactionKind,
  sender: string,
  gas: Gas,
): Uint8Array => {
  const writer = new ByteWriter().u8(0);
  writeKind(writer, kind);
  return writer
    .address(sender)
    .list([gas.payment], writeRef)
    .address(gas.owner)
    .u64(gas.price)
    .u64(gas.budget)
    .u8(0) // expiration: none
    .done();
};

/** Intent: transaction data, version 0, application Sui. */
export const TRANSACTION_INTENT = Uint8Array.of(0, 0, 0);

/** BCS of `SenderSignedData`. */
export const encodeSignedTransaction = (
  data: Uint8Array,
  signatures: readonly Uint8Array[],
): Uint8Array =>
  new ByteWriter()
    .uleb(1)
    .raw(TRANSACTION_INTENT)
    .raw(data)
    .list(signatures, (writer, signature) => writer.bytes(signature))
    .done();

const writeKind = (writer: ByteWriter, kind: TransactionKind): void => {
  switch (kind.kind) {
    case "programmable":
      writer.u8(0).list(kind.inputs, writeCallArgument).list(kind.commands, writeCommand);
      return;
    case "genesis":
      writer.u8(2).list(kind.objects, (w, object) => {
        w.u8(0); // GenesisObject::RawObject
        if ("move" in object) writeOwner(writeMoveData(w, object.move), object.owner);
        else writeOwner(writePackageData(w, object.package), { kind: "immutable" });
      });
      return;
    case "prologue":
      writer
        .u8(9) // ConsensusCommitPrologueV4
        .u64(kind.epoch)
        .u64(kind.round)
        .u8(0) // sub-DAG index: none
        .u64(kind.timestampMs)
        .bytes(kind.consensusDigest)
        .u8(1) // no cancelled transactions, V2
        .uleb(0)
        .bytes(kind.additionalStateDigest);
      return;
    case "change-epoch":
      writer
        .u8(5) // EndOfEpochTransaction
        .uleb(1)
        .u8(0) // ChangeEpoch
        .u64(kind.epoch)
        .u64(kind.protocolVersion)
        .u64(kind.gas.storage)
        .u64(kind.gas.computation)
        .u64(kind.gas.rebate)
        .u64(kind.gas.nonRefundable)
        .u64(kind.timestampMs)
        .uleb(0); // system packages: none
  }
};

const writeRef = (writer: ByteWriter, ref: ObjectRef): void => {
  writer.address(ref.id).u64(ref.version).bytes(ref.digest);
};

const writeCallArgument = (writer: ByteWriter, argument: CallArgument): void => {
  switch (argument.kind) {
    case "pure":
      writer.u8(0).bytes(argument.bytes);
      return;
    case "owned":
      writeRef(writer.u8(1).u8(0), argument.ref);
      return;
    case "shared":
      writer
        .u8(1)
        .u8(1)
        .address(argument.id)
        .u64(argument.initialSharedVersion)
        .bool(argument.mutable);
      return;
    case "receiving":
      writeRef(writer.u8(1).u8(2), argument.ref);
  }
};

const writeArgument = (writer: ByteWriter, argument: Argument): void => {
  switch (argument.kind) {
    case "gas":
      writer.u8(0);
      return;
    case "input":
      writer.u8(1).u16(argument.index);
      return;
    case "result":
      writer.u8(2).u16(argument.command);
  }
};

const writeCommand = (writer: ByteWriter, command: Command): void => {
  switch (command.kind) {
    case "call":
      writer
        .u8(0)
        .address(command.package)
        .string(command.module)
        .string(command.function)
        .list(command.typeArguments, (w, type) => w.raw(typeTag(type)))
        .list(command.arguments, writeArgument);
      return;
    case "transfer":
      writeArgument(writer.u8(1).list(command.objects, writeArgument), command.recipient);
      return;
    case "split":
      writeArgument(writer.u8(2), command.coin);
      writer.list(command.amounts, writeArgument);
      return;
    case "merge":
      writeArgument(writer.u8(3), command.into);
      writer.list(command.coins, writeArgument);
      return;
    case "publish":
      writer
        .u8(4)
        .list(command.modules, (w, code) => w.bytes(code))
        .list(command.dependencies, (w, id) => w.address(id));
      return;
    case "upgrade":
      writer
        .u8(6)
        .list(command.modules, (w, code) => w.bytes(code))
        .list(command.dependencies, (w, id) => w.address(id))
        .address(command.package);
      writeArgument(writer, command.ticket);
  }
};
