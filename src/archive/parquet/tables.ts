/** Columns of the exported files (docs/reference/formats.md has their units). */

import type { KnownCoin } from "../../log/coins.ts";
import type { ReadFact } from "../../log/fact.ts";
import type { BalanceChange } from "../../projections/balance-changes.ts";
import { placeOf } from "../../projections/position.ts";
import type { Token } from "../../projections/tokens.ts";
import type {
  RegisterGrant,
  RegisterObject,
  RegisterWallet,
} from "../../projections/whole-register.ts";
import type { Column } from "./columns.ts";

export type RegisterToken = Token & Pick<KnownCoin, "decimals">;

const ofCoin: Column<{ readonly coinType: string }> = {
  ...{ name: "coin_type", type: "text", isRepeated: true },
  of: ({ coinType }) => coinType,
};

export const FACTS: readonly Column<ReadFact>[] = [
  { name: "checkpoint", type: "int64", of: ({ checkpoint }) => checkpoint },
  { name: "checkpoint_time", type: "time", of: ({ timestampMs }) => timestampMs },
  { name: "transaction_index", type: "int32", of: ({ transaction }) => transaction },
  { name: "kind", type: "text", isRepeated: true, of: ({ kind }) => kind },
  { name: "fact_index", type: "int32", of: ({ index }) => index },
  { name: "type", type: "text", isRepeated: true, of: ({ type }) => type },
  { name: "name", type: "text", isRepeated: true, of: ({ name }) => name },
  {
    ...{ name: "coin_type", type: "text", isRepeated: true, isNullable: true },
    of: ({ coinType }) => coinType,
  },
  { name: "tx_digest", type: "text", of: ({ txDigest }) => txDigest },
  { name: "sender", type: "text", of: ({ sender }) => sender },
  {
    ...{ name: "object_id", type: "text", isNullable: true },
    of: (fact) => (fact.kind === "event" ? null : fact.objectId),
  },
  {
    ...{ name: "version", type: "u64", isNullable: true },
    of: (fact) => (fact.kind === "event" ? null : fact.version),
  },
  {
    ...{ name: "version_before", type: "u64", isNullable: true },
    of: (fact) => (fact.kind === "object" ? fact.versionBefore : null),
  },
  {
    ...{ name: "contents", type: "bytes", isNullable: true },
    of: (fact) => (fact.kind === "removal" ? null : fact.contents),
  },
];

/** Bytes of a fact besides its numbers and repeated texts. */
export const factSize = (fact: ReadFact): number =>
  200 + fact.type.length + (fact.kind === "removal" ? 0 : fact.contents.length);

export const MOVEMENTS: readonly Column<BalanceChange>[] = [
  { name: "checkpoint", type: "int64", of: ({ checkpoint }) => checkpoint },
  { name: "checkpoint_time", type: "time", of: ({ timestampMs }) => timestampMs },
  { name: "position", type: "int64", of: ({ position }) => position },
  {
    ...{ name: "transaction_index", type: "int32" },
    of: ({ position }) => placeOf(position).transaction,
  },
  { name: "tx_digest", type: "text", of: ({ txDigest }) => txDigest },
  ofCoin,
  { name: "owner", type: "text", of: ({ owner }) => owner },
  { name: "part", type: "text", isRepeated: true, of: ({ part }) => part },
  { name: "cause", type: "text", isRepeated: true, of: ({ cause }) => cause },
  { name: "change", type: "amount", of: ({ change }) => change },
  { name: "balance_after", type: "amount", of: ({ balanceAfter }) => balanceAfter },
];

export const REGISTER: readonly Column<RegisterWallet>[] = [
  ofCoin,
  { name: "wallet", type: "text", of: ({ wallet }) => wallet },
  { name: "holder_id", type: "u64", isNullable: true, of: ({ holderId }) => holderId },
  { name: "group_id", type: "u64", isNullable: true, of: ({ groupId }) => groupId },
  { name: "is_frozen", type: "flag", of: ({ isFrozen }) => isFrozen },
  { name: "balance", type: "amount", of: ({ balance }) => balance },
  { name: "tokens", type: "amount", of: ({ tokens }) => tokens },
  { name: "granted", type: "amount", of: ({ granted }) => granted },
  { name: "unlocked", type: "amount", of: ({ unlocked }) => unlocked },
  { name: "locked", type: "amount", of: ({ granted, unlocked }) => granted - unlocked },
];

export const GRANTS: readonly Column<RegisterGrant>[] = [
  ofCoin,
  { name: "object_id", type: "text", of: ({ objectId }) => objectId },
  { name: "owner", type: "text", of: ({ owner }) => owner },
  { name: "funder", type: "text", of: ({ funder }) => funder },
  { name: "total_amount", type: "amount", of: ({ totalAmount }) => totalAmount },
  { name: "tokens_transferred", type: "amount", of: ({ tokensTransferred }) => tokensTransferred },
  { name: "left_balance", type: "amount", of: ({ leftBalance }) => leftBalance },
  { name: "release_schedule_id", type: "u64", of: ({ releaseScheduleId }) => releaseScheduleId },
  { name: "release_count", type: "u64", of: ({ releaseCount }) => releaseCount },
  {
    ...{ name: "delay_until_first_release_ms", type: "u64" },
    of: ({ delayUntilFirstReleaseMs }) => delayUntilFirstReleaseMs,
  },
  {
    ...{ name: "period_between_releases_ms", type: "u64" },
    of: ({ periodBetweenReleasesMs }) => periodBetweenReleasesMs,
  },
  {
    ...{ name: "initial_release_portion_bps", type: "u64" },
    of: ({ initialReleasePortionBps }) => initialReleasePortionBps,
  },
  {
    ...{ name: "commencement_timestamp_ms", type: "u64" },
    of: ({ commencementTimestampMs }) => commencementTimestampMs,
  },
  { name: "version", type: "u64", of: ({ version }) => version },
  { name: "last_checkpoint", type: "int64", of: ({ checkpoint }) => checkpoint },
];

export const OBJECTS: readonly Column<RegisterObject>[] = [
  ofCoin,
  { name: "object_id", type: "text", of: ({ objectId }) => objectId },
  { name: "owner", type: "text", of: ({ owner }) => owner },
  { name: "balance", type: "amount", of: ({ balance }) => balance },
  { name: "version", type: "u64", of: ({ version }) => version },
  { name: "last_checkpoint", type: "int64", of: ({ checkpoint }) => checkpoint },
];

export const TOKENS: readonly Column<RegisterToken>[] = [
  ofCoin,
  { name: "symbol", type: "text", isNullable: true, of: ({ symbol }) => symbol },
  { name: "name", type: "text", isNullable: true, of: ({ name }) => name },
  { name: "decimals", type: "int32", isNullable: true, of: ({ decimals }) => decimals },
  { name: "total_supply", type: "amount", isNullable: true, of: ({ totalSupply }) => totalSupply },
  { name: "first_checkpoint", type: "int64", of: ({ firstCheckpoint }) => firstCheckpoint },
];
