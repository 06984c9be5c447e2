/** Errors of audit packs, in text that is safe for a terminal. */
import { shown } from "./forms.ts";

/** The questions asked about a pack: see `Verdict`. */
export type TierName = "authentic" | "consistent" | "complete";

export type Failure = { readonly file: string; readonly what: string };

/** Limit of listed reasons; a badly packed pack has thousands. */
const LISTED = 100;

/** Something in a pack does not hold. Stop: do not rely on it. */
export class AuditPackError extends Error {
  override readonly name = "AuditPackError";
  readonly remedy = "stop";
  /** 1 to 101 failed checks, free of control characters. */
  readonly failures: readonly Failure[];
  readonly tier: TierName;

  constructor(failures: readonly Failure[], tier: TierName = "consistent") {
    const listed = failures
      .slice(0, LISTED)
      .map(({ file, what }) => ({ file: shown(file), what: shown(what) }));
    const more = failures.length - LISTED;
    if (more > 0) listed.push({ file: "and", what: `${more} more` });
    super(listed.map(({ file, what }) => `${file}: ${what}`).join("; "));
    this.failures = listed;
    this.tier = tier;
  }
}

/** @throws AuditPackError if there are failures */
export const stopAt = (failures: readonly Failure[], tier?: TierName): void => {
  if (failures.length > 0) throw new AuditPackError(failures, tier);
};

/** @throws AuditPackError */
export const fail = (file: string, what: string, tier?: TierName): never => {
  throw new AuditPackError([{ file, what }], tier);
};
