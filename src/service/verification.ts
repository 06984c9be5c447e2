/** How much of what the ledger's source says is checked, as the settings have it. */
import type { Verification } from "../ledger/reading/proving.ts";
import { committeeFrom, readTrusted } from "../ledger/reading/trust.ts";
import type { Config } from "../settings/config.ts";

/** The level, and the committee or checkpoint that signatures are followed from. */
export const verificationOf = ({
  verify: { level, committeeFile, trustedCheckpoint },
}: Pick<Config, "verify">): Verification => ({
  level,
  trust: async () => {
    const checkpoint = trustedCheckpoint === undefined ? null : readTrusted(trustedCheckpoint);
    if (checkpoint !== null) return { checkpoint };
    return committeeFile === undefined ? null : { committee: await committeeFrom(committeeFile) };
  },
});
