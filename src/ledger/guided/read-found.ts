/** What a found checkpoint says of the contract: changes of objects, coins, packages, an excerpt. */
import { base58 } from "../../values/base58.ts";
import { FRAMEWORK, splitType } from "../../values/move-type.ts";
import { COIN_METADATA, CURRENCY } from "../contract/names.ts";
import { isUpgradeCap, packageOfCap, UPGRADE_CAP } from "../contract/upgrade-cap.ts";
import type { Checkpoint, RawCheckpoint, Transaction } from "../decode/checkpoint.ts";
import { Cursor } from "../decode/cursor.ts";
import { decodeExcerpt, decodeWith, type TypeHead, type Wanted } from "../decode/decode.ts";
import { readObject } from "../decode/object.ts";
import { refusing } from "../decode/verify.ts";
import { type CertifiedSummary, readCertified } from "../proof/certificate.ts";
import { readToExtract } from "../proof/excerpt.ts";
import { createWanted, nameAndCoin } from "../reading/facts.ts";
import { joiningPackages } from "../reading/read.ts";
import type { Change, Subject } from "./chains.ts";

export type ObjectChange = Subject & { readonly id: string; readonly change: Change };

export type Found = {
  readonly sequence: bigint;
  readonly certified: CertifiedSummary;
  /** In chain order. */
  readonly changes: readonly ObjectChange[];
  /** Coin types of facts of the contract. */
  readonly coins: ReadonlySet<string>;
  /** Addresses of packages that join here. */
  readonly joined: readonly string[];
  /** Whether a transaction has facts, or touches the right to upgrade. */
  readonly isRelevant: boolean;
};

export type FoundRaw = Found & { excerpt(): Promise<Uint8Array> };

const METADATA: ReadonlySet<string> = new Set([COIN_METADATA, CURRENCY]);

/** Facts, and objects that carry the right to upgrade a package. */
const wantedOf = (packages: readonly string[]): Wanted => {
  const isFact = createWanted(packages);
  return (type: TypeHead) => isFact(type) || isUpgradeCap(type);
};

/**
 * Reads a whole checkpoint, checking every digest, not the signature.
 * @throws CheckpointDecodeError (retry)
 */
export const readFound = (raw: RawCheckpoint, packages: readonly string[]): FoundRaw => {
  const { checkpoint, certified, excerptOf } = readToExtract(raw, wantedOf(packages));
  const joined = joiningPackages(checkpoint, packages).map(({ address }) => address);
  // Rare: decode again, to get facts of the new types.
  if (joined.length > 0) {
    return { ...readFound(raw, [...packages, ...joined]), joined };
  }
  const { transactions, ...found } = foundIn(checkpoint, packages);
  return { ...found, certified, joined, excerpt: () => excerptOf(transactions) };
};

/** Excerpts have no inputs. */
const digests = refusing(false);

/**
 * Reads a staged excerpt, checking every digest in it, not the signature.
 * @throws CheckpointDecodeError (retry)
 */
export const readStaged = (
  { sequence, bytes }: Pick<RawCheckpoint, "sequence" | "bytes">,
  packages: readonly string[],
): Found => {
  const checkpoint = decodeExcerpt({ sequence, bytes }, wantedOf(packages), digests);
  const joined = joiningPackages(checkpoint, packages).map(({ address }) => address);
  if (joined.length > 0) {
    return { ...readStaged({ sequence, bytes }, [...packages, ...joined]), joined };
  }
  const { transactions: _, ...found } = foundIn(checkpoint, packages);
  const certified = readCertified({ sequence, encoding: "protobuf", bytes });
  return { ...found, certified, joined };
};

const foundIn = (checkpoint: Checkpoint, packages: readonly string[]) => {
  const own: ReadonlySet<string> = new Set(packages);
  const changes: ObjectChange[] = [];
  const coins = new Set<string>();
  const transactions = new Set<number>();
  for (const [index, transaction] of checkpoint.transactions.entries()) {
    const noted = changesOf(checkpoint.sequence, transaction, own);
    changes.push(...noted);
    for (const { type } of transaction.events) {
      const { coinType } = nameAndCoin(type);
      if (isCoin(coinType)) coins.add(coinType);
    }
    for (const { kind, coinType } of noted) {
      if (kind === "contract" && isCoin(coinType)) coins.add(coinType);
    }
    const publishes = transaction.packages.some(({ typeOrigins }) =>
      typeOrigins.some((origin) => own.has(origin)),
    );
    if (noted.length + transaction.events.length > 0 || publishes) transactions.add(index);
  }
  const isRelevant = transactions.size > 0;
  return { sequence: checkpoint.sequence, changes, coins, transactions, isRelevant };
};

/** A parameter can be `u64` or `vector<u8>`; a coin is a type that a module defines. */
const isCoin = (type: string | null): type is string =>
  type !== null && /^0x[0-9a-f]+::/.test(type);

const changesOf = (
  checkpoint: bigint,
  { outputObjects, removedObjects }: Transaction,
  own: ReadonlySet<string>,
): readonly ObjectChange[] => [
  ...outputObjects.flatMap(({ id, type, version, versionBefore, contents }) =>
    type === UPGRADE_CAP && !own.has(packageOfCap(contents))
      ? []
      : [{ id, ...subjectOf(type), change: { checkpoint, before: versionBefore, after: version } }],
  ),
  ...removedObjects.map(({ id, type, version }) => ({
    id,
    ...subjectOf(type),
    change: { checkpoint, before: version, after: null },
  })),
];

const subjectOf = (type: string): Subject => {
  if (type === UPGRADE_CAP) return { kind: "upgrade cap", coinType: null };
  const { name, coinType } = nameAndCoin(type);
  const isMetadata = METADATA.has(name) && splitType(type).address === FRAMEWORK;
  return { kind: isMetadata ? "metadata" : "contract", coinType };
};

/**
 * The transaction that gave an object the version that a transaction of this checkpoint took in;
 * null when the checkpoint does not show it (effects from before 2024 have no such digests).
 */
export const previousTransactionOf = (
  raw: RawCheckpoint,
  id: string,
  version: bigint,
): string | null => {
  let found: string | null = null;
  decodeWith(raw, {
    inputs: true,
    claim: (cursor, { of, idAt, start, end }) => {
      if (of !== "Object" || idAt === undefined || cursor.address(idAt) !== id) return;
      const own = new Cursor(cursor.bytes, raw.sequence);
      own.at = start;
      if (own.u64At(readObject(own).versionAt) !== version) return;
      // A digest of 32 bytes and the storage rebate end an object.
      found = base58(own.bytes, end - 8 - 32);
    },
  });
  return found;
};
