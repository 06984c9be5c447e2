/**
 * What the projections should say, worked out the plainest way: one fact after the other into maps and
 * lists, sums made when asked.
 */
import * as events from "../../src/ledger/contract/events.ts";
import * as names from "../../src/ledger/contract/names.ts";
import { decodeSharedToken, decodeTimelock } from "../../src/ledger/contract/objects.ts";
import { roleBitOf } from "../../src/ledger/contract/roles.ts";
import type { EventFact, Fact } from "../../src/log/fact.ts";

type Standing = {
  readonly coinType: string;
  readonly owner: string;
  readonly held: bigint;
  readonly version: bigint;
  readonly checkpoint: bigint;
  readonly commencementTimestampMs: bigint;
};

/** An event as the model keeps it: its place, and what it said. */
type Kept = { readonly fact: EventFact; readonly said: Readonly<Record<string, unknown>> };

const ascending = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const least = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);

const movements: Readonly<Record<string, (contents: Uint8Array) => object>> = {
  [names.MINT]: (c) => ({ activityType: "mint", ...events.decodeMint(c) }),
  [names.BURN]: (c) => ({ activityType: "burn", ...events.decodeBurn(c) }),
  [names.TRANSFER]: (c) => ({ activityType: "transfer", ...events.decodeTransfer(c) }),
};
const happenings: Readonly<Record<string, (contents: Uint8Array) => object>> = {
  [names.HOLDER_ADDRESS_ADDED]: (c) => ({
    eventType: "holder_address_added",
    ...events.decodeHolderAddressAdded(c),
  }),
  [names.HOLDER_ADDRESS_REMOVED]: (c) => ({
    eventType: "holder_address_removed",
    ...events.decodeHolderAddressRemoved(c),
  }),
  [names.ADDRESS_LEFT_GROUP]: (c) => ({
    eventType: "address_left_group",
    ...events.decodeAddressLeftGroup(c),
  }),
  [names.ADDRESS_JOINED_GROUP]: (c) => ({
    eventType: "address_joined_group",
    ...events.decodeAddressJoinedGroup(c),
  }),
  [names.ADDRESS_FROZEN]: (c) => ({
    eventType: "address_frozen",
    ...events.decodeAddressFrozen(c),
  }),
};

/** What an event says of a wallet, by its type: undefined for nothing any more. */
const SAID: Readonly<Record<string, (said: Kept["said"]) => readonly [string, unknown]>> = {
  holder_address_added: ({ holderId }) => ["holder", holderId],
  holder_address_removed: () => ["holder", undefined],
  address_joined_group: ({ groupId }) => ["group", groupId],
  address_left_group: () => ["group", undefined],
  address_frozen: ({ isFrozen }) => ["freeze", isFrozen === true ? 1n : undefined],
};

/** The state after these facts, in chain order. */
export const modelOf = (facts: readonly Fact[]) => {
  const tokens = new Map<string, Standing>();
  const grants = new Map<string, Standing>();
  const activity: Kept[] = [];
  const register: Kept[] = [];
  const roleLog: Kept[] = [];
  for (const fact of facts) {
    const coinType = fact.coinType ?? "";
    if (fact.kind === "removal") {
      tokens.delete(fact.objectId);
      grants.delete(fact.objectId);
    } else if (fact.kind === "object") {
      const { version, checkpoint } = fact;
      const same = { coinType, version, checkpoint };
      if (fact.name === names.SHARED_TOKEN) {
        const { owner, balance } = decodeSharedToken(fact.contents);
        const state = { ...same, owner, held: balance, commencementTimestampMs: 0n };
        tokens.set(fact.objectId, state);
      } else {
        const { owner, leftBalance, commencementTimestampMs } = decodeTimelock(fact.contents);
        const state = { ...same, owner, held: leftBalance, commencementTimestampMs };
        grants.set(fact.objectId, state);
      }
    } else if (fact.name === names.ROLE_CHANGE) {
      roleLog.push({ fact, said: { ...events.decodeRoleChange(fact.contents) } });
    } else {
      const movement = movements[fact.name];
      const happening = happenings[fact.name];
      if (movement) activity.push({ fact, said: { ...movement(fact.contents) } });
      if (happening) register.push({ fact, said: { ...happening(fact.contents) } });
    }
  }

  const of = (set: Map<string, Standing>, coinType: string, owner?: string) =>
    [...set]
      .map(([objectId, state]) => ({ objectId, ...state }))
      .filter((o) => o.coinType === coinType && (owner === undefined || o.owner === owner))
      .sort((a, b) => ascending(a.objectId, b.objectId));
  const held = (standing: readonly Standing[]) => standing.reduce((sum, o) => sum + o.held, 0n);
  const logOf = (log: readonly Kept[], coinType: string) =>
    log.filter(({ fact }) => fact.coinType === coinType);

  const balance = (coinType: string, owner: string, grantsToo: boolean) => {
    const [own, vesting] = [
      of(tokens, coinType, owner),
      grantsToo ? of(grants, coinType, owner) : [],
    ];
    return {
      owner,
      balance: held(own) + held(vesting),
      objectCount: own.length,
      timelockBalance: held(vesting),
      timelockCount: vesting.length,
      timelocksIncluded: grantsToo,
    };
  };

  return {
    balance,
    tokens: (coinType: string, owner: string) =>
      of(tokens, coinType, owner).map(({ objectId, owner, held, version, checkpoint }) => ({
        objectId,
        owner,
        balance: held,
        version,
        checkpoint,
      })),
    grantIds: (coinType: string, owner?: string) =>
      of(grants, coinType, owner)
        .sort((a, b) => least(a.commencementTimestampMs, b.commencementTimestampMs))
        .map(({ objectId, held }) => ({ objectId, leftBalance: held })),
    holders: (coinType: string, owners: readonly string[], grantsToo: boolean) =>
      owners
        .map((owner) => balance(coinType, owner, grantsToo))
        .filter((row) => row.balance > 0n)
        .sort((a, b) => least(b.balance, a.balance) || ascending(a.owner, b.owner))
        .map(({ owner, balance, timelockBalance, timelocksIncluded }) => ({
          owner,
          balance,
          timelockBalance,
          timelocksIncluded,
        })),
    activity: (coinType: string) =>
      logOf(activity, coinType).map(({ fact, said }) => ({
        ...placeOf(fact),
        checkpoint: fact.checkpoint,
        coinType,
        activityType: said.activityType,
        amount: said.amount,
        fromAddress: said.from ?? null,
        toAddress: said.to ?? null,
        signer: fact.sender,
        tokenObjectId: said.tokenId,
      })),
    register: (coinType: string, sinceSeconds: bigint) =>
      logOf(register, coinType)
        .filter(({ fact }) => fact.timestampMs / 1000n >= sinceSeconds)
        .map(({ fact, said }) => ({
          ...placeOf(fact),
          coinType,
          eventType: said.eventType,
          holderId: said.holderId ?? null,
          address: said.addr ?? null,
          groupId: said.groupId ?? null,
          isFrozen: said.isFrozen ?? null,
        })),
    /** What its wallets are, by address and aspect. */
    memberships: (coinType: string): ReadonlyMap<string, unknown> => {
      const now = new Map<string, unknown>();
      for (const { said } of logOf(register, coinType)) {
        const [aspect, value] = SAID[String(said.eventType)]?.(said) ?? [];
        const key = `${said.addr} ${aspect}`;
        if (value === undefined) now.delete(key);
        else now.set(key, value);
      }
      return now;
    },
    roleEvents: (coinType: string, sinceSeconds: bigint, packages: readonly string[]) =>
      logOf(roleLog, coinType)
        .filter(({ fact }) => fact.timestampMs / 1000n >= sinceSeconds)
        .map(({ fact, said }) => ({
          ...placeOf(fact),
          coinType,
          ...said,
          roleBit: roleBitOf(String(said.role), packages),
          signer: fact.sender,
        })),
    walletRoles: (coinType: string, packages: readonly string[]) => {
      const now = new Map<string, { owner: string; role: string; granted: unknown }>();
      for (const { said } of logOf(roleLog, coinType)) {
        const [owner, role] = [String(said.owner), String(said.role)];
        now.set(`${owner} ${role}`, { owner, role, granted: said.granted });
      }
      const granted = [...now.values()].filter((row) => row.granted === true);
      const owners = [...new Set(granted.map(({ owner }) => owner))].sort(ascending);
      return owners.map((owner) => {
        const roles = granted.filter((row) => row.owner === owner).map(({ role }) => role);
        const bits = new Set(roles.map((role) => roleBitOf(role, packages)));
        return {
          owner,
          roleBits: [...bits].reduce((a, b) => a + b, 0),
          roles: roles.sort(ascending),
        };
      });
    },
  };
};

const placeOf = (fact: EventFact) => ({
  position:
    fact.checkpoint * 1_000_000_000n + BigInt(fact.transaction) * 10_000n + BigInt(fact.index),
  txDigest: fact.txDigest,
  eventSeq: fact.index,
  timestampMs: fact.timestampMs,
});
