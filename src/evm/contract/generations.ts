/**
 * A token's generation is configured (`type`), because most contracts do not state it; `doubts` in
 * `../movements/transfers.ts` report contradicting logs.
 */

import type { EvmToken } from "../../settings/assets.ts";

export type TokenType = EvmToken["type"];

export type Version = 1 | 2 | 3 | 4 | 5;

export type Generation = {
  readonly version: Version;
  /**
   * The Transfer that carries the vesting details of a `ScheduleFunded`:
   * - `holder`: to the holder of locked tokens (the lockup in v1, the token itself in v2);
   * - `pair`: the second of sender → token → recipient; early builds emit only the first;
   * - `recipient`: to the recipient.
   */
  readonly vestingLeg: "holder" | "pair" | "recipient";
  /**
   * Source of regulatory groups: `AddressTransferGroup` logs (unset wallets are in group 0), the
   * regions of an identity registry (none without a registry), or none.
   */
  readonly groups: "transfer groups" | "regions" | "none";
};

/** The code of v4 is not public: it moves tokens as v5 does. */
export const generations: Readonly<Record<TokenType, Generation>> = {
  comakery_security_token_v1: {
    version: 1,
    vestingLeg: "holder",
    groups: "none",
  },
  comakery_security_token_v2: {
    version: 2,
    vestingLeg: "holder",
    groups: "transfer groups",
  },
  comakery_security_token_v3: {
    version: 3,
    vestingLeg: "pair",
    groups: "transfer groups",
  },
  comakery_security_token_v4: {
    version: 4,
    vestingLeg: "recipient",
    groups: "transfer groups",
  },
  comakery_security_token_v5: {
    version: 5,
    vestingLeg: "recipient",
    groups: "regions",
  },
};
