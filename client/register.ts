/** What the service answers about a register. */
import { isPlain } from "./forms.ts";

/** Unix seconds. */
type Seconds = bigint;

/** A moment of the past: the end of a checkpoint, or of a second. Answers about it never change. */
export type At = { readonly checkpoint: bigint } | { readonly time: Date };

type Asking = { readonly signal?: AbortSignal | undefined };
type OfToken = Asking & { readonly coinType: string };
type OfTokenAt = OfToken & { readonly at?: At | undefined };

/** Which rows of a cap table; all without it. */
type WhichRows = {
  /** The row of this holder (its number), or the one that this wallet (its address) is in. */
  readonly holder?: bigint | string | undefined;
  /** Wallets without a holder, or rows with a frozen wallet that holds. */
  readonly having?: "NO_HOLDER" | "FROZEN_BALANCE" | undefined;
};

/** A security token that was seen on the ledger. */
export type Token = {
  readonly coinType: string;
  readonly name: string | null;
  readonly symbol: string | null;
  readonly decimals: number | null;
  /** In the smallest unit; null while the treasury was not seen. */
  readonly totalSupply: bigint | null;
  readonly firstCheckpoint: bigint;
};

/** A token with its counts, which are too costly per row of a list. */
export type CountedToken = Token & {
  /** Rows of its cap table. */
  readonly holderCount: number;
  /** Wallets with a balance. */
  readonly ownerCount: number;
};

/** Progress of the whole register. */
export type Meta = {
  /** The last checkpoint that all pipelines have committed; null before the first. */
  readonly checkpoint: bigint | null;
  readonly checkpointTimestamp: Seconds | null;
  readonly checkpointDigest: string | null;
  readonly chainId: string | null;
  /** Position to follow events from, after a copy of that checkpoint. */
  readonly followPosition: bigint | null;
  /** First checkpoint of the log. */
  readonly firstCheckpoint: bigint | null;
  /** First checkpoint that can be queried. */
  readonly historyCheckpoint: bigint | null;
};

/** Progress of a pipeline. */
export type PipelineStatus = {
  readonly pipeline: string;
  readonly checkpoint: bigint | null;
  readonly checkpointTimestamp: Seconds | null;
  readonly ageSeconds: number;
  readonly digest: string | null;
  readonly historyFilledThrough: bigint | null;
  /** The checkpoint that a rebuild has to come back to; null when none is under way. */
  readonly rebuildingTo: bigint | null;
};

/** Everything a wallet holds; amounts in the smallest unit. */
export type Balance = {
  readonly owner: string;
  readonly balance: bigint;
  readonly timelockBalance: bigint;
  readonly objectCount: number;
  readonly timelockCount: number;
  readonly timelocksIncluded: boolean;
  readonly decimals: number | null;
};

export type Holder = {
  readonly owner: string;
  readonly balance: bigint;
  readonly timelockBalance: bigint;
  readonly timelocksIncluded: boolean;
};

export type TokenObject = {
  readonly objectId: string;
  readonly owner: string;
  readonly balance: bigint;
  readonly version: bigint;
  readonly checkpoint: bigint;
};

/** A vesting grant; times in milliseconds. */
export type Grant = {
  readonly objectId: string;
  readonly owner: string;
  readonly funder: string;
  readonly totalAmount: bigint;
  readonly leftBalance: bigint;
  readonly tokensTransferred: bigint;
  readonly commencementTimestampMs: bigint;
  readonly delayUntilFirstReleaseMs: bigint;
  readonly periodBetweenReleasesMs: bigint;
  readonly releaseCount: bigint;
  readonly initialReleasePortionBps: bigint;
  readonly releaseScheduleId: bigint;
  readonly decimals: number | null;
};

export type CapTableRow = {
  /** Null for a wallet without a holder; 0n is a holder. */
  readonly holderId: bigint | null;
  readonly balance: bigint;
  readonly tokens: bigint;
  readonly granted: bigint;
  readonly unlocked: bigint;
  readonly locked: bigint;
  /** Share of all that is issued, 12 digits after the point, rounded down. */
  readonly share: string;
  readonly cursor: string;
  readonly wallets: readonly {
    readonly address: string;
    readonly balance: bigint;
    readonly groupId: bigint | null;
    readonly isFrozen: boolean;
  }[];
};

/** The register at the end of one checkpoint; iterate over it for its rows, all of that checkpoint. */
export type CapTable = AsyncIterable<CapTableRow> & {
  readonly coinType: string;
  readonly decimals: number | null;
  readonly checkpoint: bigint;
  readonly checkpointTimestamp: Seconds;
  readonly checkpointDigest: string;
  readonly totalSupply: bigint | null;
  readonly issued: bigint;
  readonly holderCount: number;
  readonly root: string;
  /** Cursor to follow balance changes from, directly after this table. */
  readonly followCursor: string;
};

export type WalletRole = {
  readonly owner: string;
  readonly roles: readonly string[];
  readonly roleBits: number;
};

export type TokenActivity = {
  readonly eventId: string;
  readonly eventSeq: number;
  readonly activityType: "mint" | "burn" | "transfer" | "force_transfer";
  readonly amount: bigint;
  readonly fromAddress: string | null;
  readonly toAddress: string | null;
  readonly signer: string;
  readonly coinType: string;
  readonly decimals: number | null;
  readonly tokenObjectId: string;
  readonly checkpoint: bigint;
  readonly checkpointTimestamp: Seconds;
  /** The same time, in milliseconds. */
  readonly checkpointTimestampMs: bigint;
  readonly txDigest: string;
  /** Place in chain order: keep it, to go on behind it. */
  readonly position: bigint;
};

export type BalanceChange = {
  readonly coinType: string;
  readonly owner: string;
  readonly part: "TOKENS" | "GRANTS";
  readonly cause:
    | "MINT"
    | "BURN"
    | "TRANSFER"
    | "FORCE_TRANSFER"
    | "GRANT_FUNDED"
    | "GRANT_CLAIMED"
    | "GRANT_CANCELLED"
    | "UNKNOWN";
  readonly change: bigint;
  readonly balanceAfter: bigint;
  readonly checkpoint: bigint;
  readonly checkpointTimestamp: Seconds;
  /** The same time, in milliseconds. */
  readonly checkpointTimestampMs: bigint;
  readonly txDigest: string;
  readonly position: bigint;
  /** Keep it, to go on behind it. */
  readonly cursor: string;
};

export type HolderEvent = {
  readonly eventId: string;
  readonly coinType: string;
  readonly eventType: string;
  readonly holderId: bigint | null;
  readonly address: string | null;
  readonly groupId: bigint | null;
  readonly isFrozen: boolean | null;
  readonly checkpointTimestamp: Seconds;
  /** The same time, in milliseconds. */
  readonly checkpointTimestampMs: bigint;
  readonly position: bigint;
};

export type RoleEvent = {
  readonly eventId: string;
  readonly coinType: string;
  readonly owner: string;
  readonly role: string;
  readonly roleBit: number;
  readonly granted: boolean;
  readonly signer: string;
  readonly checkpointTimestamp: Seconds;
  /** The same time, in milliseconds. */
  readonly checkpointTimestampMs: bigint;
  readonly position: bigint;
};

/** A state of a coin as one digest line, with the checkpoints between which it was current. */
export type StateRange = {
  readonly checkpoint: bigint;
  /** First checkpoint that ended it; null if it was still current at the checkpoint asked about. */
  readonly until: bigint | null;
  /** RFC 8785 JSON of its row. */
  readonly line: string;
  readonly cursor: string;
};

/**
 * Which events: all behind `after`, or from the beginning without it. `follow` (true unless given): go on
 * with those that come, over one connection that is made again behind the last event when it is lost, or by
 * asking every two seconds where a service or a proxy offers no streams; false: end with the newest there is.
 */
export type Which<Cursor> = Asking & { readonly after?: Cursor | undefined } & (
    | {
        readonly coinType: string;
        readonly coinTypes?: undefined;
        readonly follow?: boolean | undefined;
      }
    | {
        readonly coinType?: undefined;
        /** Up to 100, their events in chain order; all coins without it. These can only be followed. */
        readonly coinTypes?: readonly string[] | undefined;
        readonly follow?: true | undefined;
      }
  );

export type Book = {
  /**
   * Any query of the schema; decimal texts of known fields come as `bigint`.
   * @throws BookError when it is refused, or not answered after some attempts
   */
  ask(
    query: string,
    variables?: Readonly<Record<string, unknown>>,
    asking?: Asking,
  ): Promise<unknown>;
  /** With `at`: of that checkpoint. */
  meta(asking?: Asking & { readonly at?: At | undefined }): Promise<Meta>;
  tokens(asking?: Asking): AsyncIterable<Token>;
  /** Null for a token that was not seen by then. */
  token(of: OfTokenAt): Promise<CountedToken | null>;
  /** Hex over all rows of a pipeline up to a checkpoint: equal ones mean equal rows, wherever. */
  pipelineDigest(
    of: Asking & { readonly pipeline: string; readonly checkpoint: bigint },
  ): Promise<string | null>;
  status(asking?: Asking): Promise<readonly PipelineStatus[]>;
  balance(of: OfTokenAt & { readonly owner: string }): Promise<Balance>;
  roles(of: OfTokenAt): Promise<readonly WalletRole[]>;
  /** Null for a token that was not seen by then. Totals are of all rows, whichever are asked for. */
  capTable(of: OfTokenAt & WhichRows): Promise<CapTable | null>;
  /** Wallets by balance, all of one checkpoint: the newest unless `at` says another. */
  holders(of: OfTokenAt): AsyncIterable<Holder>;
  objects(of: OfTokenAt & { readonly owner: string }): AsyncIterable<TokenObject>;
  grants(of: OfTokenAt & { readonly owner?: string | undefined }): AsyncIterable<Grant>;
  /** All past and current states of a kind, up to the end of a checkpoint. */
  stateRanges(
    of: OfToken & {
      readonly kind: "GRANT" | "MEMBERSHIP" | "ROLE" | "SUPPLY" | "TOKEN";
      readonly checkpoint: bigint;
    },
  ): AsyncIterable<StateRange>;
  tokenActivity(which: Which<bigint>): AsyncIterable<TokenActivity>;
  holderEvents(which: Which<bigint>): AsyncIterable<HolderEvent>;
  roleEvents(which: Which<bigint>): AsyncIterable<RoleEvent>;
  balanceChanges(
    which: Which<string> & { readonly owner?: string | undefined },
  ): AsyncIterable<BalanceChange>;
  /** The whole list, at once and whenever it has changed. */
  statusChanges(asking?: Asking): AsyncIterable<readonly PipelineStatus[]>;
};

/** Members of answers that the schema gives as decimal text. */
const DECIMAL = new Set([
  "amount",
  "balance",
  "balanceAfter",
  "change",
  "checkpoint",
  "checkpointTimestamp",
  "checkpointTimestampMs",
  "commencementTimestampMs",
  "delayUntilFirstReleaseMs",
  "firstCheckpoint",
  "followPosition",
  "granted",
  "groupId",
  "historyCheckpoint",
  "historyFilledThrough",
  "holderId",
  "initialReleasePortionBps",
  "issued",
  "leftBalance",
  "locked",
  "periodBetweenReleasesMs",
  "position",
  "rebuildingTo",
  "releaseCount",
  "releaseScheduleId",
  "timelockBalance",
  "tokens",
  "tokensTransferred",
  "totalAmount",
  "totalSupply",
  "unlocked",
  "until",
  "version",
]);

/** An answer with its decimal texts as `bigint`, all the way down. */
export const exactMembers = (
  answer: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [
      name,
      typeof value === "string" && DECIMAL.has(name) && /^-?\d+$/.test(value)
        ? BigInt(value)
        : exact(value),
    ]),
  );

const exact = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(exact);
  return isPlain(value) ? exactMembers(value) : value;
};
