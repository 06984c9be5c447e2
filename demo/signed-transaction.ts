/** Reads and checks transactions signed outside the simulation. */
import { createPublicKey, verify } from "node:crypto";
import { bcs } from "@mysten/sui/bcs";
import { base58 } from "../src/values/base58.ts";
import { canonicalAddress, canonicalType } from "../src/values/move-type.ts";
import { GAS_PRICE } from "./chain/execute.ts";
import { idText } from "./chain/ids.ts";
import type { LiveObject } from "./chain/state.ts";
import type { Call } from "./contract/calls.ts";
import { hash } from "./wire/digest.ts";
import { TRANSACTION_INTENT } from "./wire/transaction.ts";

export type SignedTransaction = {
  /** BCS of `TransactionData`, base64. */
  readonly data: string;
  /** Flag, Ed25519 signature and public key (97 bytes), base64. */
  readonly signature: string;
};

type ReadTransaction = {
  readonly sender: string;
  readonly calls: readonly Call[];
  readonly signed: SignedTransaction;
};

/** Why the network refuses it, as a message. */
export type Refusal = { readonly wrong: string };

/** DER prefix of an Ed25519 public key. */
const SPKI = Buffer.from("302a300506032b6570032100", "hex");
const SIGNATURE_BYTES = 97;
const ED25519_FLAG = 0;

/** Parses a transaction and checks its form and signature. */
export const readSigned = (
  data: Uint8Array,
  signatures: readonly Uint8Array[],
  contract: {
    /** Addresses of the security-token package. */
    readonly packages: readonly string[];
    readonly treasuryOf: (coinType: string) => string | undefined;
  },
): ReadTransaction | Refusal => {
  const parsed = parse(data);
  if (parsed === undefined) return { wrong: "this is not a TransactionData" };
  const { V1: transaction } = parsed;
  const program = transaction.kind.ProgrammableTransaction;
  if (program === undefined) return { wrong: "only programmable transactions are accepted" };
  const [signature, ...others] = signatures;
  if (signature === undefined || others.length > 0) return { wrong: "one signature is needed" };
  const sender = canonicalAddress(transaction.sender);
  if (!signs(signature, data, sender)) return { wrong: "the signature is not the sender's" };
  const { gasData } = transaction;
  if (gasData.owner === null || canonicalAddress(gasData.owner) !== sender) {
    return { wrong: "the sender pays its own gas here" };
  }
  if (BigInt(gasData.price) !== GAS_PRICE) return { wrong: `the gas price is ${GAS_PRICE}` };

  const pure = (index: number | undefined): Buffer | undefined => {
    const bytes = index === undefined ? undefined : program.inputs[index]?.Pure?.bytes;
    return bytes === undefined ? undefined : Buffer.from(bytes, "base64");
  };
  const calls: Call[] = [];
  for (const command of program.commands) {
    const call = command.MoveCall;
    if (call === undefined) return { wrong: "only calls are accepted here" };
    const name = `${call.module}::${call.function}`;
    if (!contract.packages.includes(canonicalAddress(call.package))) {
      return { wrong: `${call.package} is not the security-token package` };
    }
    const coinType = canonicalType(call.typeArguments[0] ?? "0x0::none::NONE");
    const [treasury, ...args] = call.arguments.map((argument) => argument.Input ?? undefined);
    const shared =
      treasury === undefined ? undefined : program.inputs[treasury]?.Object?.SharedObject;
    const known = contract.treasuryOf(coinType);
    if (known === undefined || shared == null || canonicalAddress(shared.objectId) !== known) {
      return { wrong: `${name}: its first argument is not the treasury of ${coinType}` };
    }
    const made = callOf(name, coinType, args.map(pure));
    if (made === undefined)
      return { wrong: `${name} is not accepted here, or its arguments are wrong` };
    calls.push(made);
  }
  if (calls.length === 0) return { wrong: "it calls nothing" };
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
  return { sender, calls, signed: { data: base64(data), signature: base64(signature) } };
};

/** The coin that pays, if the transaction names its current version. */
export const currentGasCoin = (
  { data }: SignedTransaction,
  sender: string,
  object: (id: string) => LiveObject | undefined,
): { readonly id: string } | Refusal => {
  const payment = parse(Buffer.from(data, "base64"))?.V1.gasData.payment ?? [];
  const [coin, ...others] = payment;
  if (coin === undefined || others.length > 0) return { wrong: "one coin pays the gas here" };
  const id = canonicalAddress(coin.objectId);
  const current = object(id);
  if (current?.owner.kind !== "address" || current.owner.address !== sender) {
    return { wrong: `the sender has no coin ${id}` };
  }
  if (current.version !== BigInt(coin.version) || base58(current.digest) !== coin.digest) {
    return { wrong: `coin ${id} is at version ${current.version}, not ${coin.version}` };
  }
  return { id };
};

const parse = (data: Uint8Array) => {
  try {
    return bcs.TransactionData.parse(data);
  } catch {
    return undefined;
  }
};

const callOf = (
  name: string,
  coinType: string,
  args: readonly (Buffer | undefined)[],
): Call | undefined => {
  const [first, second] = args;
  if (first === undefined || second === undefined) return undefined;
  if (name === "group_holder_config::add_holder_address") {
    if (first.length !== 8 || second.length !== 32) return undefined;
    const args = { coinType, holderId: first.readBigUInt64LE(), wallet: idText(second) };
    return { function: "addHolderAddress", args };
  }
  if (name === "group_holder_config::set_address_group") {
    if (first.length !== 32 || second.length !== 8) return undefined;
    const args = { coinType, wallet: idText(first), groupId: second.readBigUInt64LE() };
    return { function: "setAddressGroup", args };
  }
  return undefined;
};

const signs = (signature: Uint8Array, data: Uint8Array, sender: string): boolean => {
  if (signature.length !== SIGNATURE_BYTES || signature[0] !== ED25519_FLAG) return false;
  const publicKey = signature.subarray(65);
  if (idText(hash(Uint8Array.of(ED25519_FLAG), publicKey)) !== sender) return false;
  const key = createPublicKey({
    key: Buffer.concat([SPKI, publicKey]),
    format: "der",
    type: "spki",
  });
  return verify(null, hash(TRANSACTION_INTENT, data), key, signature.subarray(1, 65));
};
