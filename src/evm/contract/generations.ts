/**
 * The generations of security-token contracts and what sets them apart.
 *
 * A token's generation comes from configuration (`type`), because most of them cannot say what they
 * are; `doubts` in `../movements/transfers.ts` report logs that contradict it.
 */

import type { EvmToken } from "../../settings/assets.ts";

export type TokenType = EvmToken["type"];

/** Version number inside a token type. */
export type Version = 1 | 2 | 3 | 4 | 5;

export type Generation = {
  readonly version: Version;
  /**
   * Which Transfer carries the vesting details of a `ScheduleFunded`:
   * - `holder`: the one to the holder of locked tokens (the lockup in v1, the token itself in v2);
   * - `pair`: the second of the pair sender → token → recipient, or the only one, to the token, of
   *   early builds that emit no pair;
   * - `recipient`: the one to the recipient.
   */
  readonly vestingLeg: "holder" | "pair" | "recipient";
  /**
   * Where regulatory groups come from: `AddressTransferGroup` logs (a wallet never set is in group
   * 0), the regions of an identity registry (none when no registry is configured), or nowhere.
   */
  readonly groups: "transfer groups" | "regions" | "none";
};

/** What is known of each generation. Of v4 no code is public: it moves tokens as v5 does. */
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
