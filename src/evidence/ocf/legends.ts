/** Freezes and groups as stock legends: a security carries those of the wallet that holds it. */
import type { StockLegendTemplate } from "./forms.ts";

const FROZEN = "legend-frozen";
const GROUP = "legend-group-";

/** What a wallet is that restricts what it holds. */
export type Restricted = { readonly groupId: bigint | null; readonly isFrozen: boolean };

/** Ids of a wallet's legends, in their order. */
export const legendsOf = ({ groupId, isFrozen }: Restricted): readonly string[] => [
  ...(isFrozen ? [FROZEN] : []),
  ...(groupId === null ? [] : [`${GROUP}${groupId}`]),
];

/** The template of an id that `legendsOf` gave. */
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
