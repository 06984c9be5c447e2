/** Each wallet's holder and legends, event by event; freezes and groups are stock legends. */
import type { HolderEvent } from "../../projections/holder-events.ts";
import type { StockLegendTemplate } from "./forms.ts";

const FROZEN = "legend-frozen";
const GROUP = "legend-group-";

type Restricted = { readonly groupId: bigint | null; readonly isFrozen: boolean };

/** In their fixed order. */
export const legendsOf = ({ groupId, isFrozen }: Restricted): readonly string[] => [
  ...(isFrozen ? [FROZEN] : []),
  ...(groupId === null ? [] : [`${GROUP}${groupId}`]),
];

export const legendTemplate = (id: string): StockLegendTemplate => {
  const group = id.startsWith(GROUP) ? id.slice(GROUP.length) : null;
  return {
    object_type: "STOCK_LEGEND_TEMPLATE",
    id,
    name: group === null ? "Frozen" : `Group ${group}`,
    text:
      group === null
        ? "The wallet that holds this security is frozen: the token's contract refuses transfers from it and to it. A transfer admin can still move the tokens by a forced transfer; funding, claiming and cancelling a grant do not ask for freezes."
        : `The wallet that holds this security is in transfer group ${group} of the token's register. A wallet is in one group at most, only while it is a holder's, and only a wallets admin can change that. Which transfers a group may take part in is decided by the token's contract; its events do not say it.`,
    comments: ["the text says what the contract enforces; it is no legal text of the issuer"],
  };
};

/** The stakeholder: a holder, or an unassigned wallet. */
export const stakeholderId = (holderId: bigint | null, wallet: string): string =>
  holderId === null ? `wallet-${wallet}` : `holder-${holderId}`;

const UNRESTRICTED: Restricted = { groupId: null, isFrozen: false };

/** Memory: each wallet with a holder, group or freeze; each set of legends once. */
export class WalletBook {
  readonly #holders = new Map<string, bigint>();
  readonly #restricted = new Map<string, Restricted>();
  readonly #legends = new Map<string, readonly string[]>();

  stakeholderOf(wallet: string): string {
    return stakeholderId(this.#holders.get(wallet) ?? null, wallet);
  }

  /** The same array for the same legends. */
  legendsOf(wallet: string): readonly string[] {
    const ids = legendsOf(this.#restricted.get(wallet) ?? UNRESTRICTED);
    const key = ids.join(" ");
    const known = this.#legends.get(key);
    if (known === undefined) this.#legends.set(key, ids);
    return known ?? ids;
  }

  /** @returns whether the wallet's stakeholder changed */
  moveTo(wallet: string, holderId: bigint | null): boolean {
    const before = this.stakeholderOf(wallet);
    if (holderId === null) this.#holders.delete(wallet);
    else this.#holders.set(wallet, holderId);
    return this.stakeholderOf(wallet) !== before;
  }

  /** Applies a group or freeze event. @returns its effect in words; null for other events */
  restrict({ eventType, address, groupId, isFrozen }: HolderEvent): string | null {
    if (address === null) return null;
    const before = this.#restricted.get(address) ?? UNRESTRICTED;
    const keep = (now: Restricted, words: string) => {
      if (now.groupId === null && !now.isFrozen) this.#restricted.delete(address);
      else this.#restricted.set(address, now);
      return words;
    };
    switch (eventType) {
      case "address_joined_group":
        return keep({ ...before, groupId }, `wallet joined group ${groupId}`);
      case "address_left_group":
        return keep({ ...before, groupId: null }, `wallet left group ${groupId}`);
      case "address_frozen":
        return keep(
          { ...before, isFrozen: isFrozen === true },
          isFrozen ? "wallet frozen" : "wallet no longer frozen",
        );
      default:
        return null;
    }
  }
}
