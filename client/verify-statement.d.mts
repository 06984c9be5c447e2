import type { SequenceEntry } from "./verify-sequence.mjs";

/**
 * What a holder keeps of a cap table: its row, and what proves that the row is part of the table.
 * Amounts are decimal texts in the coin's smallest unit; hashes are hex without 0x.
 */
export type Statement = Statement1 | Statement2;

/** Of version 1, the root covers holder, addresses, balance, tokens and granted alone. */
export type Statement1 = Said & { readonly version: 1 };

/** Of version 2, the root covers the whole row and the decimals, and is an entry of the deployment's sequence. */
export type Statement2 = Said & {
  readonly version: 2;
  /** The checkpoint's time, milliseconds since the Unix epoch. */
  readonly checkpointTimestampMs: string;
  /** Of the sequence: what is signed with the root besides what the statement says of it. */
  readonly entry: {
    readonly number: string;
    /** SHA-256 of the entry before, hex; 64 zeros at first. */
    readonly previous: string;
    /** When it was signed, ISO 8601 in UTC with milliseconds. */
    readonly at: string;
  };
};

/** What every version says. */
type Said = {
  readonly format: "holderbook-statement";
  /** Of the ledger's network. */
  readonly chainId: string;
  readonly coinType: string;
  /** Null while the coin's metadata is not known. */
  readonly decimals: number | null;
  /** The checkpoint at whose end the table stood. */
  readonly checkpoint: string;
  /** Its time, unix seconds. */
  readonly checkpointTimestamp: string;
  readonly checkpointDigest: string;
  readonly row: StatementRow;
  /** The siblings between the row and the root, the row's own first. */
  readonly path: readonly StatementStep[];
  readonly root: string;
  /** What all rows add up to. */
  readonly total: string;
  /** The same as the treasury says it; null where the log has not seen the treasury. */
  readonly totalSupply: string | null;
  readonly keyId: string;
  /** Of the deployment; base64 of 32 bytes. */
  readonly publicKey: string;
  /** Ed25519 over `signedRoot` (version 1) or `signedRootEntry` (version 2), base64. */
  readonly rootSignature: string;
  /** Ed25519 over `signedStatement`, base64. */
  readonly signature: string;
};

/** A holder with all its wallets, or (holderId null) a wallet that belongs to none. */
export type StatementRow = {
  readonly holderId: string | null;
  /** By address, ascending; empty ones too. */
  readonly wallets: readonly {
    readonly address: string;
    readonly balance: string;
    readonly groupId: string | null;
    readonly isFrozen: boolean;
  }[];
  readonly balance: string;
  readonly tokens: string;
  readonly granted: string;
  readonly unlocked: string;
  readonly locked: string;
  /** Balance divided by total, 12 digits after the point, rounded down. */
  readonly share: string;
};

export type StatementStep = {
  readonly hash: string;
  readonly sum: string;
  /** Where the sibling stands. */
  readonly side: "left" | "right";
};

export declare const FORMAT: Statement["format"];
/** The first version. */
export declare const VERSION: 1;

/** What a statement says does not hold. Stop: do not rely on it. */
export declare class StatementError extends Error {
  override readonly name: "StatementError";
  readonly remedy: "stop";
  /** Each thing that does not hold, in words; never empty. */
  readonly failures: readonly string[];
  constructor(failures: readonly string[]);
}

/**
 * Checks a statement, parsed from its JSON: the row's own sums, the way from the row up to root and total,
 * and both signatures. Without options this shows that the statement is consistent and unchanged since
 * it was signed with the key that it names itself; whose key that is, it cannot show.
 *
 * @param options.root the root of its version that others see, hex (`GET /roots?version=`): then all speak of one
 *   table
 * @param options.publicKey the deployment's key, base64, as you know it from elsewhere
 * @param options.entries of the deployment's sequence, as `verifySequence` gives them: those about the root of this
 *   token at this checkpoint and of the statement's version must name its root
 * @returns the statement
 * @throws StatementError naming everything that does not hold
 */
export declare const verifyStatement: (
  statement: unknown,
  options?: {
    readonly root?: string | undefined;
    readonly publicKey?: string | undefined;
    readonly entries?: readonly SequenceEntry[] | undefined;
  },
) => Statement;

/** Whether an entry publishes a root of the statement's token, checkpoint and version. */
export declare const isRootOf: (
  statement: Pick<Statement, "version" | "coinType" | "checkpoint">,
) => (entry: Pick<SequenceEntry, "kind" | "body">) => boolean;

/** The entry of the sequence that a statement of version 2 names, as `GET /sequence` has it. */
export declare const entryOf: (statement: Statement2) => SequenceEntry;

/** What a root of version 1 consists of; all are texts. */
export type Root1 = Pick<
  Statement1,
  "chainId" | "coinType" | "checkpoint" | "checkpointDigest" | "root" | "total"
>;

/** What the signature of a root of version 1 is over, as RFC 8785 JSON. */
export declare const signedRoot: (
  root: Root1,
) => { readonly purpose: "holderbook-root-v1" } & Root1;

/** Body of the entry of the deployment's sequence that publishes a root of version 1. */
export declare const rootBody1: (root: Root1) => { readonly version: "1" } & Root1;

/** What a root of version 2 consists of, beside the entry that publishes it. */
export type Root2 = Pick<
  Statement2,
  | "chainId"
  | "coinType"
  | "decimals"
  | "checkpoint"
  | "checkpointTimestampMs"
  | "checkpointDigest"
  | "root"
  | "total"
>;

/** Body of the entry that publishes a root of version 2: all are texts. */
export declare const rootBody: (root: Root2) => {
  readonly version: "2";
  readonly chainId: string;
  readonly coinType: string;
  readonly decimals: string | null;
  readonly checkpoint: string;
  readonly checkpointTimestampMs: string;
  readonly checkpointDigest: string;
  readonly root: string;
  readonly total: string;
};

/** What the signature of a root of version 2 is over, as RFC 8785 JSON: that entry of the sequence. */
export declare const signedRootEntry: (root: Root2 & Pick<Statement2, "entry">) => {
  readonly purpose: "holderbook-sequence-v1";
  readonly number: string;
  readonly previous: string;
  readonly kind: "root";
  readonly body: ReturnType<typeof rootBody>;
  readonly at: string;
};

/**
 * What the signature of a whole statement is over, as RFC 8785 JSON; `digest` is BLAKE2b-256 (hex) over
 * the RFC 8785 JSON of the statement without its `signature`.
 */
export declare const signedStatement: (
  statement: Statement | Omit<Statement1, "signature"> | Omit<Statement2, "signature">,
) => {
  readonly purpose: "holderbook-statement-v1" | "holderbook-statement-v2";
  readonly digest: string;
};
