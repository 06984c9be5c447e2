/**
 * Regulatory groups of wallets, folded from logs.
 *
 * A wallet of versions 2 to 4 is in one transfer group. Version 5 has none: there the group is the
 * first region that the identity registry lists for the wallet, when a registry is configured.
 */
import type { TokenEvent } from "../contract/events.ts";
import { type Address, zeroAddress } from "../contract/fact.ts";
import type { Generation } from "../contract/generations.ts";

/** Group ids of wallets: one transfer group, or the regions in the registry's order. */
export type WalletGroups = Map<Address, readonly bigint[]>;

/** A wallet's groups after a log. */
export type GroupChange = {
  readonly wallet: Address;
  readonly groups: readonly bigint[];
  readonly block: bigint;
  readonly logIndex: number;
};

/** The wallet an event moves between groups, with its groups afterwards; undefined for other events. */
export const groupsAfter = (
  event: TokenEvent,
  before: WalletGroups,
): { readonly wallet: Address; readonly groups: readonly bigint[] } | undefined => {
  switch (event.kind) {
    case "group set":
      return { wallet: event.wallet, groups: [event.group] };
    case "regions set":
      return { wallet: event.wallet, groups: event.regions };
    case "region added": {
      const others = without(before.get(event.wallet), event.region);
      return { wallet: event.wallet, groups: [...others, event.region] };
    }
    case "region removed":
      return { wallet: event.wallet, groups: without(before.get(event.wallet), event.region) };
    case "identity removed":
      return { wallet: event.wallet, groups: [] };
    default:
      return undefined;
  }
};

const without = (regions: readonly bigint[] | undefined, region: bigint): readonly bigint[] =>
  (regions ?? []).filter((each) => each !== region);

/** The group a record shows for a wallet: null for the zero address and where there are no groups. */
export const groupShown = (
  wallet: Address,
  groups: WalletGroups,
  kind: Generation["groups"],
): bigint | null => {
  if (wallet === zeroAddress || kind === "none") return null;
  const [first] = groups.get(wallet) ?? [];
  if (first !== undefined) return first;
  return kind === "transfer groups" ? 0n : null;
};
