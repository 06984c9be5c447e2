/** The true state of the demo ledger, to compare projections with; not decoded from bytes. */

export type CoinModel = {
  readonly coinType: string;
  readonly symbol: string;
  readonly name: string;
  readonly decimals: number;
  /** Kind of metadata object: legacy, or registry entry. */
  readonly metadata: "CoinMetadata" | "Currency";
  readonly treasuryId: string;
  /** Minted minus burned: the sum of all tokens and grants. */
  readonly supply: bigint;
};

/** A live `SharedToken`. */
export type TokenModel = {
  readonly id: string;
  readonly coinType: string;
  readonly owner: string;
  readonly balance: bigint;
  /** Of its last write, including failed transactions. */
  readonly version: bigint;
  readonly checkpoint: bigint;
};

/** A live `Timelock`; times in milliseconds. */
export type GrantModel = {
  readonly id: string;
  readonly coinType: string;
  readonly owner: string;
  readonly funder: string;
  readonly releaseScheduleId: bigint;
  readonly releaseCount: bigint;
  readonly delayUntilFirstReleaseMs: bigint;
  readonly periodBetweenReleasesMs: bigint;
  readonly initialReleasePortionBps: bigint;
  readonly commencementTimestampMs: bigint;
  readonly totalAmount: bigint;
  readonly tokensTransferred: bigint;
  readonly leftBalance: bigint;
  readonly version: bigint;
  readonly checkpoint: bigint;
};

export type RegisterModel = {
  /** Wallets by holder, in order of addition. */
  readonly holders: Map<bigint, readonly string[]>;
  /** Holder by wallet. */
  readonly wallets: Map<string, bigint>;
  /** Group by wallet. */
  readonly groups: Map<string, bigint>;
  readonly frozen: Map<string, true>;
};

/** Position and id of an event. */
export type EventPlace = {
  readonly coinType: string;
  /** `{txDigest}-{eventSeq}` */
  readonly eventId: string;
  readonly txDigest: string;
  readonly eventSeq: number;
  readonly checkpoint: bigint;
  /** `checkpoint * 10^9 + transactionIndex * 10^4 + eventIndex` */
  readonly position: bigint;
  readonly timestampMs: bigint;
  readonly signer: string;
};

type ActivityModel = EventPlace & {
  readonly activityType: "mint" | "burn" | "transfer" | "force_transfer";
  readonly amount: bigint;
  /** Null for a mint. */
  readonly fromAddress: string | null;
  /** Null for a burn. */
  readonly toAddress: string | null;
  readonly tokenObjectId: string;
};

export type HolderEventModel = EventPlace & {
  readonly eventType:
    | "holder_added"
    | "holder_removed"
    | "holder_address_added"
    | "holder_address_removed"
    | "address_joined_group"
    | "address_left_group"
    | "address_frozen";
  readonly holderId: bigint | null;
  readonly address: string | null;
  readonly groupId: bigint | null;
  readonly isFrozen: boolean | null;
};

type RoleEventModel = EventPlace & {
  readonly owner: string;
  /** `0x…64::roles::Name` */
  readonly role: string;
  readonly granted: boolean;
};

/** The state after a checkpoint. */
export type DemoModel = {
  /** By coin type, in order of publication. */
  readonly coins: Map<string, CoinModel>;
  readonly tokens: Map<string, TokenModel>;
  readonly grants: Map<string, GrantModel>;
  /** By coin type. */
  readonly registers: Map<string, RegisterModel>;
  /** By coin type: roles by owner, in order of granting. */
  readonly roles: Map<string, Map<string, readonly string[]>>;
  /** All events in chain order; empty unless kept. */
  readonly activity: ActivityModel[];
  readonly holderEvents: HolderEventModel[];
  readonly roleEvents: RoleEventModel[];
};

type OwnerBalance = {
  readonly tokens: bigint;
  readonly tokenCount: number;
  readonly grants: bigint;
  readonly grantCount: number;
};

export const emptyModel = (): DemoModel => ({
  coins: new Map(),
  tokens: new Map(),
  grants: new Map(),
  registers: new Map(),
  roles: new Map(),
  activity: [],
  holderEvents: [],
  roleEvents: [],
});

const NOTHING: OwnerBalance = { tokens: 0n, tokenCount: 0, grants: 0n, grantCount: 0 };

/** Balances by owner, summed from tokens and grants. */
export const balancesOf = (model: DemoModel, coinType: string): Map<string, OwnerBalance> => {
  const balances = new Map<string, OwnerBalance>();
  for (const token of model.tokens.values()) {
    if (token.coinType !== coinType) continue;
    const now = balances.get(token.owner) ?? NOTHING;
    balances.set(token.owner, {
      ...now,
      tokens: now.tokens + token.balance,
      tokenCount: now.tokenCount + 1,
    });
  }
  for (const grant of model.grants.values()) {
    if (grant.coinType !== coinType) continue;
    const now = balances.get(grant.owner) ?? NOTHING;
    balances.set(grant.owner, {
      ...now,
      grants: now.grants + grant.leftBalance,
      grantCount: now.grantCount + 1,
    });
  }
  return balances;
};
