import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import type { Remedy } from "../../src/waiting/remedy.ts";
import { hash } from "../wire/digest.ts";
import { TRANSACTION_INTENT } from "../wire/transaction.ts";
import { idText } from "./ids.ts";

/** DER prefix of a PKCS #8 Ed25519 key. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
const ED25519_FLAG = 0;

type Key = {
  readonly address: string;
  readonly publicKey: Uint8Array;
  readonly secretKey: Uint8Array;
  readonly object: KeyObject;
};

/** The ledger has no key of this sender. Stop; use one of its accounts. */
export class UnknownSenderError extends Error {
  override readonly name = "UnknownSenderError";
  readonly remedy: Remedy = "stop";

  constructor(address: string) {
    super(`the demo ledger holds no key of ${address}; send from one of its own accounts`);
  }
}

/** Ed25519 keys of all accounts, derived from the seed and a label such as `investor/7/0`. */
export class Keyring {
  readonly #seed: string;
  readonly #labels: Map<string, string>;
  readonly #byLabel = new Map<string, Key>();

  /** @param labels address to label, part of the simulation's state; extended here */
  constructor(seed: string, labels: Map<string, string>) {
    this.#seed = seed;
    this.#labels = labels;
  }

  account(label: string): string {
    return this.#key(label).address;
  }

  /** Ed25519 secret (32 bytes) of an account. */
  secretKey(address: string): Uint8Array {
    return this.#keyOf(address).secretKey;
  }

  /** Whether this ledger can sign for the address. */
  knows(address: string): boolean {
    return this.#labels.has(address);
  }

  /**
   * Signs BCS of `TransactionData`: flag, signature and public key (97 bytes).
   * @throws UnknownSenderError
   */
  sign(address: string, data: Uint8Array): Uint8Array {
    const key = this.#keyOf(address);
    const signature = new Uint8Array(97);
    signature[0] = ED25519_FLAG;
    signature.set(sign(null, hash(TRANSACTION_INTENT, data), key.object), 1);
    signature.set(key.publicKey, 65);
    return signature;
  }

  #keyOf(address: string): Key {
    const label = this.#labels.get(address);
    if (label === undefined) throw new UnknownSenderError(address);
    return this.#key(label);
  }

  #key(label: string): Key {
    const known = this.#byLabel.get(label);
    if (known !== undefined) return known;
    const secretKey = hash(Buffer.from(`${this.#seed}/key/${label}`));
    const object = createPrivateKey({
      key: Buffer.concat([PKCS8, secretKey]),
      format: "der",
      type: "pkcs8",
    });
    const spki = createPublicKey(object).export({ format: "der", type: "spki" });
    const publicKey = new Uint8Array(spki.subarray(-32));
    const address = idText(hash(Uint8Array.of(ED25519_FLAG), publicKey));
    const key = { address, publicKey, secretKey, object };
    this.#byLabel.set(label, key);
    this.#labels.set(address, label);
    return key;
  }
}
