import type { CallOptions, ReadOptions } from "./asking.ts";
import { isPlain } from "./forms.ts";

/** Unix seconds. */
type Seconds = bigint;

/** The end of a checkpoint or second in the past. Answers about it never change. */
export type At = { readonly checkpoint: bigint } | { readonly time: Date };

type OfToken = ReadOptions & { readonly coinType: string };
type OfTokenAt = OfToken & { readonly at?: At | undefined };

/** Filters a cap table's rows. */
type WhichRows = {
  /** The row of this holder (its number) or containing this wallet (its address). */
  readonly holder?: bigint | string | undefined;
  /** Wallets without a holder, or rows with a frozen wallet that has a balance. */
  readonly having?: "NO_HOLDER" | "FROZEN_BALANCE" | undefined;
};

export type Token = {
  readonly coinType: string;
  readonly name: string | null;
  readonly symbol: string | null;
  readonly decimals: number | null;
  /** In the smallest unit; null until the treasury is seen. */
  readonly totalSupply: bigint | null;
  readonly firstCheckpoint: bigint;
};

/** With counts, which are too costly per row of a list. */
export type CountedToken = Token & {
  readonly holderCount: number;
  /** Wallets with a balance. */
  readonly ownerCount: number;
};

export type Meta = {
  /** The last checkpoint committed by all pipelines; null before the first. */
  readonly checkpoint: bigint | null;
  readonly checkpointTimestamp: Seconds | null;
  readonly checkpointDigest: string | null;
  readonly chainId: string | null;
  /** Follow events from this position after copying that checkpoint. */
  readonly followPosition: bigint | null;
  /** First checkpoint of the log. */
  readonly firstCheckpoint: bigint | null;
  /** First checkpoint that queries accept. */
  readonly historyCheckpoint: bigint | null;
  /** Guided as soon as a part of the log was read by a node's lists. */
  readonly readFrom: "FULL" | "GUIDED";
  /** Last checkpoint through which all coins are proven complete; null without a proof. */
  readonly completeThrough: bigint | null;
  /** Whether the key sees labels. */
  readonly seesLabels: boolean;
};

export type PipelineStatus = {
  readonly pipeline: string;
  readonly checkpoint: bigint | null;
  readonly checkpointTimestamp: Seconds | null;
  readonly ageSeconds: number;
  readonly digest: string | null;
  readonly historyFilledThrough: bigint | null;
  /** The checkpoint that the rebuild must reach; null without a rebuild. */
  readonly rebuildingTo: bigint | null;
  /** Since when an operator pauses it, ISO 8601; null while it is not paused. */
  readonly pausedSince: string | null;
  /** Of a replay beside the served rows; null when none is under way. */
  readonly rebuilding: ReplayProgress | null;
  /** Coins with a fact that could not be applied; all other coins go on. */
  readonly quarantined: readonly QuarantinedCoin[];
  /** Guided reading of the log under way, the same for all pipelines; null when none runs. */
  readonly guided: GuidedProgress | null;
  /** Backfill by many workers, the same for all pipelines; null when none runs. */
  readonly backfill: BackfillProgress | null;
};

/** Guided reading finds all checkpoints of a range before it appends any. */
export type GuidedProgress = {
  readonly step: string;
  /** Checkpoints fetched, and their bytes. */
  readonly fetched: number;
  readonly bytes: number;
  /** Objects of the contract met, and those whose chain of versions has a gap. */
  readonly objects: number;
  readonly open: number;
  /** Checkpoint fetched last; null before the first. */
  readonly at: bigint | null;
  /** Last checkpoint of the range. */
  readonly last: bigint;
};

/** Workers read ranges ahead of the log, and one process appends them in order. */
export type BackfillProgress = {
  /** Last checkpoint in the log; null before the first. */
  readonly at: bigint | null;
  /** Last checkpoint of the backfill. */
  readonly last: bigint;
  /** Checkpoints appended a second; 0 before the first. */
  readonly ratePerSecond: number;
  /** Null while the rate is 0. */
  readonly secondsLeft: number | null;
  /** Workers that read a range in the last minute. */
  readonly workers: number;
  readonly waitingRanges: number;
  /** Read, and not appended yet. */
  readonly readRanges: number;
  /** Waiting ones whose last reading failed, and the first one's reason. */
  readonly failedRanges: number;
  readonly failure: string | null;
};

/** What is shown about missing changes of a token. */
export type Completeness = {
  readonly coinType: string;
  readonly state: "COMPLETE" | "INCOMPLETE" | "NOT_SHOWN";
  /** Last checkpoint up to which a proof shows that no change is missing. */
  readonly through: bigint | null;
  /** ISO 8601. */
  readonly provenAt: string | null;
  /** Whether the deployment's key signed a certificate of it. */
  readonly isSigned: boolean;
  /** First checkpoint that may lack a change; null while none is missing. */
  readonly missingFrom: bigint | null;
  readonly reason: string | null;
  /** ISO 8601. */
  readonly since: string | null;
};

export type QuarantinedCoin = {
  readonly coinType: string;
  /** First checkpoint whose facts of the coin are not in the register. */
  readonly checkpoint: bigint;
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
};

/** A followed coin is in quarantine: its events behind `after` come after its release. */
export type Hold = Omit<QuarantinedCoin, "since"> & {
  readonly pipeline: string;
  /** Where to follow this coin alone from. */
  readonly after: string;
};

export type ReplayProgress = {
  readonly checkpoint: bigint;
  /** The served checkpoint, which it has to reach. */
  readonly of: bigint;
  readonly ratePerSecond: number;
  readonly secondsLeft: number | null;
};

type DifferingColumn = {
  readonly name: string;
  readonly served: string | null;
  readonly replayed: string | null;
};

/** A pipeline's last replay. */
export type Replay = {
  readonly pipeline: string;
  readonly reason: string;
  readonly state: string;
  readonly begunTimestamp: Seconds;
  readonly updatedTimestamp: Seconds;
  readonly progress: ReplayProgress;
  readonly comparison: {
    readonly checkpoint: bigint | null;
    readonly timestamp: Seconds;
    readonly rows: number;
    /** Empty: all rows are identical. */
    readonly differences: readonly {
      readonly table: string;
      readonly count: number;
      readonly rows: readonly {
        readonly onlyIn: string | null;
        readonly key: readonly DifferingColumn[];
        readonly columns: readonly DifferingColumn[];
      }[];
    }[];
  } | null;
};

/** A wallet's holdings, in the smallest unit. */
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

/** Times in milliseconds. */
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
  /** Null for an unassigned wallet; 0n is a valid holder. */
  readonly holderId: bigint | null;
  /** Of the holder, or of a wallet without one; null without a label, or for keys that do not see labels. */
  readonly label: string | null;
  readonly balance: bigint;
  readonly tokens: bigint;
  readonly granted: bigint;
  readonly unlocked: bigint;
  readonly locked: bigint;
  /** Share of the issued total, 12 decimals, rounded down. */
  readonly share: string;
  readonly cursor: string;
  readonly wallets: readonly {
    readonly address: string;
    readonly label: string | null;
    readonly balance: bigint;
    readonly groupId: bigint | null;
    readonly isFrozen: boolean;
  }[];
};

/** The register at the end of one checkpoint; iterate for its rows. */
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
  /** Follow balance changes from this cursor, directly after this table. */
  readonly followCursor: string;
};

/** A name that an operator gave; no part of the register. */
export type Label = {
  readonly id: string;
  readonly kind: "HOLDER" | "WALLET" | "ROLE" | "TREASURY";
  /** Null for a wallet, whose label holds for all coins. */
  readonly coinType: string | null;
  readonly holderId: bigint | null;
  readonly address: string | null;
  readonly role: string | null;
  /** Null where it is sealed and the service lacks its key. */
  readonly text: string | null;
  readonly isSealed: boolean;
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
  readonly cursor: string;
};

/** What a searched text may mean; members that its kind does not have are null. */
export type SearchHit = {
  readonly kind: "WALLET" | "TRANSACTION" | "EVENT" | "HOLDER" | "TOKEN" | "CHECKPOINT" | "DATE";
  readonly coinType: string | null;
  readonly symbol: string | null;
  readonly holderId: bigint | null;
  readonly address: string | null;
  readonly txDigest: string | null;
  readonly eventId: string | null;
  readonly checkpoint: bigint | null;
  readonly timestamp: Seconds | null;
  /** For keys that see labels. */
  readonly label: string | null;
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
  /** Chain order; keep it to resume after this event. */
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
  /** Keep it to resume after this event. */
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

/** What one transaction did to the register, of all coins. */
export type Transaction = {
  readonly digest: string;
  readonly checkpoint: bigint;
  readonly checkpointTimestamp: Seconds;
  /** The same time, in milliseconds. */
  readonly checkpointTimestampMs: bigint;
  /** Null where its facts were archived. */
  readonly sender: string | null;
  readonly activity: readonly TokenActivity[];
  readonly changes: readonly BalanceChange[];
  readonly holderEvents: readonly HolderEvent[];
  readonly roleEvents: readonly RoleEvent[];
};

/** What a wallet holds and is in one token. */
export type WalletToken = {
  readonly coinType: string;
  readonly decimals: number | null;
  readonly symbol: string | null;
  readonly name: string | null;
  readonly balance: bigint;
  readonly tokens: bigint;
  readonly granted: bigint;
  /** Null for none; 0n is a valid holder. */
  readonly holderId: bigint | null;
  readonly groupId: bigint | null;
  readonly isFrozen: boolean;
  readonly roles: readonly string[];
  readonly roleBits: number;
};

/** A wallet at the end of one checkpoint; iterate for its tokens. */
export type Wallet = AsyncIterable<WalletToken> & {
  readonly address: string;
  readonly label: string | null;
  readonly checkpoint: bigint;
  readonly checkpointTimestamp: Seconds;
};

/** A change of a holder's balance, over all wallets that it had then. */
export type HolderChange = {
  /** Keep it to page on after this change. */
  readonly cursor: string;
  readonly position: bigint;
  readonly checkpoint: bigint;
  readonly checkpointTimestamp: Seconds;
  /** The same time, in milliseconds. */
  readonly checkpointTimestampMs: bigint;
  readonly txDigest: string;
  readonly wallet: string;
  /** The last two: a wallet with a balance joins or leaves the holder. */
  readonly cause: BalanceChange["cause"] | "WALLET_ADDED" | "WALLET_REMOVED";
  readonly part: BalanceChange["part"] | null;
  readonly change: bigint;
  /** Of the holder: the changes add up to it. */
  readonly totalAfter: bigint;
  /** The other wallet that the transaction changed, where it is exactly one. */
  readonly counterparty: string | null;
  readonly counterpartyHolderId: bigint | null;
};

/** A holder of a token at the end of one checkpoint. */
export type HolderRecord = {
  readonly coinType: string;
  readonly holderId: bigint;
  /** Null without a label, or for keys that do not see labels. */
  readonly label: string | null;
  readonly checkpoint: bigint;
  readonly checkpointTimestamp: Seconds;
  /** Unix seconds, as text; null if it never had a wallet. */
  readonly since: string | null;
  readonly balance: bigint;
  readonly tokens: bigint;
  readonly granted: bigint;
  readonly unlocked: bigint;
  readonly locked: bigint;
  /** Share of the total supply, 12 decimals, rounded down; null until a treasury was seen. */
  readonly share: string | null;
  readonly wallets: readonly {
    readonly address: string;
    readonly label: string | null;
    readonly balance: bigint;
    readonly tokens: bigint;
    readonly granted: bigint;
    readonly groupId: bigint | null;
    readonly isFrozen: boolean;
    /** Unix seconds, as text. */
    readonly since: string;
  }[];
  /** The first thousand. */
  readonly grants: readonly Grant[];
  /** All changes up to the checkpoint, oldest first. */
  history(): AsyncIterable<HolderChange>;
};

/** Evenly spaced moments of a token. */
export type SeriesOf = ReadOptions & {
  readonly coinType: string;
  /** Default, and the earliest: the token's first checkpoint. */
  readonly from?: Date | undefined;
  /** Default, and the latest: the last committed checkpoint. */
  readonly to?: Date | undefined;
  /** 2 to 400; 60 by default. */
  readonly points?: number | undefined;
};

type Point = { readonly checkpoint: bigint; readonly checkpointTimestamp: Seconds };
/** In the smallest unit; null until a treasury was seen. */
export type SupplyPoint = Point & { readonly totalSupply: bigint | null };
/** As `holderCount` and `ownerCount` of a token. */
export type HolderCountPoint = Point & { readonly holders: number; readonly owners: number };

/** A coin's state as one digest line, and the checkpoint range in which it was current. */
export type StateRange = {
  readonly checkpoint: bigint;
  /** The first checkpoint that ended it; null if still current at the requested checkpoint. */
  readonly until: bigint | null;
  /** RFC 8785 JSON of its row. */
  readonly line: string;
  readonly cursor: string;
};

/**
 * All events after `after`, or from the beginning. `follow` (default true): continue with new ones
 * over one connection, reconnecting after the last event, or polling every two seconds without
 * streams; false: end with the newest event.
 */
export type Which<Cursor> = CallOptions & {
  readonly after?: Cursor | undefined;
  /** Called when a followed coin is in quarantine, before later events of others. */
  readonly onHold?: ((hold: Hold) => void | Promise<void>) | undefined;
} & (
    | {
        readonly coinType: string;
        readonly coinTypes?: undefined;
        readonly follow?: boolean | undefined;
      }
    | {
        readonly coinType?: undefined;
        /** Up to 100, in chain order; absent: all coins. Follow only. */
        readonly coinTypes?: readonly string[] | undefined;
        readonly follow?: true | undefined;
      }
  );

/** Filters of a list of events; all apply together. They need `follow: false`. */
export type EventFilters = {
  readonly owner?: string | undefined;
  /** Events of the wallets that this holder had when they happened. */
  readonly holderId?: bigint | undefined;
  readonly types?: readonly string[] | undefined;
  /** From this checkpoint, or this second, on. */
  readonly from?: At | undefined;
  /** Up to this checkpoint, or this second, included. */
  readonly to?: At | undefined;
  /** Default: `ASC`, the oldest first. */
  readonly order?: "ASC" | "DESC" | undefined;
};

/** A list of one coin, with filters. */
export type Listed<Cursor, Filters = EventFilters> = CallOptions &
  Filters & {
    readonly coinType: string;
    readonly follow: false;
    readonly after?: Cursor | undefined;
    readonly coinTypes?: undefined;
    readonly onHold?: undefined;
  };

/** Also shows the holder of each wallet at the event; null without one. */
export type WithHolders = { readonly holders: true };
export type ActivityWithHolders = TokenActivity & {
  readonly fromHolderId: bigint | null;
  readonly toHolderId: bigint | null;
};
export type ChangeWithHolder = BalanceChange & { readonly holderId: bigint | null };

/** What to store, in one transaction, to resume from. */
export type KeptCopy = {
  readonly cursor: string;
  /** By wallet. */
  readonly balances: Iterable<readonly [owner: string, balance: bigint]>;
};

export type RegisterCopy = {
  readonly coinType: string;
  /** Just behind what `balances` holds. */
  readonly cursor: string;
  /** By wallet, grants included, without zeros. One map, changed in place as changes come. */
  readonly balances: ReadonlyMap<string, bigint>;
  /** The change just applied; null for the copy itself, which comes first. */
  readonly change: BalanceChange | null;
};

export type Followed = CallOptions &
  Pick<Which<string>, "onHold"> & {
    readonly coinType: string;
    /** Absent: the copy is read first, all of one checkpoint. */
    readonly from?: KeptCopy | undefined;
  };

export type Book = {
  /**
   * Any query of the schema; decimal texts of known fields become `bigint`.
   * @throws BookError if refused, or unanswered after several attempts
   */
  ask(
    query: string,
    variables?: Readonly<Record<string, unknown>>,
    asking?: ReadOptions,
  ): Promise<unknown>;
  meta(asking?: ReadOptions & { readonly at?: At | undefined }): Promise<Meta>;
  tokens(asking?: ReadOptions): AsyncIterable<Token>;
  /** Null for a token not seen by then. */
  token(of: OfTokenAt): Promise<CountedToken | null>;
  /** Hex over a pipeline's rows up to a checkpoint: equal digests mean equal rows anywhere. */
  pipelineDigest(
    of: ReadOptions & { readonly pipeline: string; readonly checkpoint: bigint },
  ): Promise<string | null>;
  status(asking?: ReadOptions): Promise<readonly PipelineStatus[]>;
  /** The last replay of each pipeline that had one. */
  replays(asking?: ReadOptions): Promise<readonly Replay[]>;
  balance(of: OfTokenAt & { readonly owner: string }): Promise<Balance>;
  /** Null for a token not seen. */
  completeness(of: OfToken): Promise<Completeness | null>;
  roles(of: OfTokenAt): Promise<readonly WalletRole[]>;
  /**
   * What a text may mean: a wallet, a digest (whole, its beginning, or shortened), a holder, token, checkpoint, date,
   * event or label. By kind, best first; `limit` of each kind, 10 by default and 50 at most.
   */
  search(
    of: ReadOptions & { readonly text: string; readonly limit?: number | undefined },
  ): Promise<readonly SearchHit[]>;
  /** Of one token and of wallets, or all; none for keys that do not see labels. */
  labels(of?: ReadOptions & { readonly coinType?: string | undefined }): AsyncIterable<Label>;
  /** Null when the register knows nothing of it. */
  transaction(of: ReadOptions & { readonly digest: string }): Promise<Transaction | null>;
  /** Null for a holder that the token's register did not have by then. */
  holder(of: OfTokenAt & { readonly holderId: bigint }): Promise<HolderRecord | null>;
  /** Oldest first; empty for a token not seen. */
  supply(of: SeriesOf): Promise<readonly SupplyPoint[]>;
  /** Oldest first; empty for a token not seen. */
  holderCounts(of: SeriesOf): Promise<readonly HolderCountPoint[]>;
  /** Without tokens for an unknown wallet. */
  wallet(
    of: ReadOptions & { readonly address: string; readonly at?: At | undefined },
  ): Promise<Wallet>;
  /** Null for a token not seen by then. Totals cover all rows, whatever the filter. */
  capTable(of: OfTokenAt & WhichRows): Promise<CapTable | null>;
  /** Wallets by balance, at `at` or the newest checkpoint. */
  holders(of: OfTokenAt): AsyncIterable<Holder>;
  objects(of: OfTokenAt & { readonly owner: string }): AsyncIterable<TokenObject>;
  grants(of: OfTokenAt & { readonly owner?: string | undefined }): AsyncIterable<Grant>;
  /** All past and current states of a kind, up to a checkpoint. */
  stateRanges(
    of: OfToken & {
      readonly kind: "GRANT" | "MEMBERSHIP" | "ROLE" | "SUPPLY" | "TOKEN";
      readonly checkpoint: bigint;
    },
  ): AsyncIterable<StateRange>;
  tokenActivity(
    which: (Which<bigint> | Listed<bigint>) & WithHolders,
  ): AsyncIterable<ActivityWithHolders>;
  tokenActivity(which: Which<bigint> | Listed<bigint>): AsyncIterable<TokenActivity>;
  holderEvents(which: Which<bigint> | Listed<bigint>): AsyncIterable<HolderEvent>;
  roleEvents(
    which: Which<bigint> | Listed<bigint, Omit<EventFilters, "holderId" | "types">>,
  ): AsyncIterable<RoleEvent>;
  balanceChanges(
    which: ((Which<string> & { readonly owner?: string | undefined }) | Listed<string>) &
      WithHolders,
  ): AsyncIterable<ChangeWithHolder>;
  balanceChanges(
    which: (Which<string> & { readonly owner?: string | undefined }) | Listed<string>,
  ): AsyncIterable<BalanceChange>;
  /** A copy of a token's balances at one checkpoint, then each change after it. */
  follow(of: Followed): AsyncIterable<RegisterCopy>;
  /** The whole list, now and after each change. */
  statusChanges(asking?: CallOptions): AsyncIterable<readonly PipelineStatus[]>;
};

/** Members that the schema gives as decimal text. */
const DECIMAL = new Set([
  "amount",
  "at",
  "balance",
  "balanceAfter",
  "begunTimestamp",
  "change",
  "checkpoint",
  "checkpointTimestamp",
  "checkpointTimestampMs",
  "commencementTimestampMs",
  "completeThrough",
  "counterpartyHolderId",
  "delayUntilFirstReleaseMs",
  "firstCheckpoint",
  "followPosition",
  "fromHolderId",
  "granted",
  "groupId",
  "historyCheckpoint",
  "historyFilledThrough",
  "holderId",
  "initialReleasePortionBps",
  "issued",
  "last",
  "leftBalance",
  "locked",
  "missingFrom",
  "of",
  "periodBetweenReleasesMs",
  "position",
  "rebuildingTo",
  "releaseCount",
  "releaseScheduleId",
  "through",
  "timelockBalance",
  "timestamp",
  "toHolderId",
  "tokens",
  "tokensTransferred",
  "totalAfter",
  "totalAmount",
  "totalSupply",
  "unlocked",
  "until",
  "updatedTimestamp",
  "version",
]);

/** Converts decimal texts to `bigint`, recursively. */
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
