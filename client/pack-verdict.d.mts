import type { TierName } from "./pack-error.mjs";
import type { Verdict } from "./verify-audit-pack.mjs";

export { failedVerdict, TIERS, verdictLines } from "./verify-audit-pack.mjs";

/** Those of the tiers asked for that are neither shown nor refuted. */
export declare const unshown: (
  verdict: Verdict,
  required: readonly TierName[],
) => readonly TierName[];

/** Whose pack of which checkpoints it is, in words. */
export declare const rangeText: (of: {
  readonly coinType: string;
  readonly first: { readonly checkpoint: string | bigint };
  readonly last: { readonly checkpoint: string | bigint };
}) => string;

/** What remains open of operators' acts, by tier; nothing where the pack has no list of them (null). */
export declare const actsOpen: (
  count: number | null,
) => Readonly<Record<"consistent" | "complete", readonly string[]>>;
