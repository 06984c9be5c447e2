/** What a pack is asked: see `Verdict`. */
export type TierName = "authentic" | "consistent" | "complete";

/** Something in a pack does not hold. Stop: do not rely on it. */
export declare class AuditPackError extends Error {
  override readonly name: "AuditPackError";
  readonly remedy: "stop";
  /** Each thing that does not hold, with its file; never empty, 101 at most, free of control characters. */
  readonly failures: readonly { readonly file: string; readonly what: string }[];
  /** Which of the three tiers is false by it. */
  readonly tier: TierName;
  constructor(
    failures: readonly { readonly file: string; readonly what: string }[],
    tier?: TierName,
  );
}

/** A text from elsewhere, bounded, with control characters shown by their numbers. */
export declare const shown: (text: string) => string;

/** @throws AuditPackError */
export declare const fail: (file: string, what: string, tier?: TierName) => never;
