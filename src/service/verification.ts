/** The configured verification of the ledger's source. */
import type { Committee } from "../ledger/proof/committee.ts";
import type { Verification } from "../ledger/reading/proving.ts";
import { committeeFrom, readTrusted } from "../ledger/reading/trust.ts";
import type { Config } from "../settings/config.ts";

/** @param own committee of our own ledger, trusted unless the settings name another */
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
