/** How much of what the ledger's source says is checked, as the settings have it. */
import type { Committee } from "../ledger/proof/committee.ts";
import type { Verification } from "../ledger/reading/proving.ts";
import { committeeFrom, readTrusted } from "../ledger/reading/trust.ts";
import type { Config } from "../settings/config.ts";

/**
 * The level, and the committee or checkpoint that signatures are followed from.
 * @param own the committee of a ledger that is our own: it is trusted where the settings name nothing
 */
export const verificationOf = (
  { verify: { level, committeeFile, trustedCheckpoint } }: Pick<Config, "verify">,
  own?: Committee,
): Verification => ({
  level,
  trust: async () => {
    const checkpoint = trustedCheckpoint === undefined ? null : readTrusted(trustedCheckpoint);
    if (checkpoint !== null) return { checkpoint };
    if (committeeFile !== undefined) return { committee: await committeeFrom(committeeFile) };
    return own === undefined ? null : { committee: own };
  },
});
