/**
 * What a holder keeps of a cap table: its row, and what proves that the row is part of the table.
 * Amounts are decimal texts in the coin's smallest unit; hashes are hex without 0x.
 */
export type Statement = {
  readonly format: "holderbook-statement";
  readonly version: 1;
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
  /** Ed25519 over `signedRoot`, base64. */
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
export declare const VERSION: Statement["version"];

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
 * @param options.root the root that others see, hex (`GET /roots`): then all speak of one table
 * @param options.publicKey the deployment's key, base64, as you know it from elsewhere
 * @returns the statement
 * @throws StatementError naming everything that does not hold
 */
export declare const verifyStatement: (
  statement: unknown,
  options?: { readonly root?: string | undefined; readonly publicKey?: string | undefined },
) => Statement;

/** What the signature of a root is over, as RFC 8785 JSON. */
export declare const signedRoot: (
  statement: Pick<
    Statement,
    "chainId" | "coinType" | "checkpoint" | "checkpointDigest" | "root" | "total"
  >,
) => {
  readonly purpose: "holderbook-root-v1";
  readonly chainId: string;
  readonly coinType: string;
  readonly checkpoint: string;
  readonly checkpointDigest: string;
  readonly root: string;
  readonly total: string;
};

/**
 * What the signature of a whole statement is over, as RFC 8785 JSON; `digest` is BLAKE2b-256 (hex) over
 * the RFC 8785 JSON of the statement without its `signature`.
 */
export declare const signedStatement: (statement: Omit<Statement, "signature"> | Statement) => {
  readonly purpose: "holderbook-statement-v1";
  readonly digest: string;
};
