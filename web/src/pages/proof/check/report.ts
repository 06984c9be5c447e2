/** What a check of a file came to, step by step. */

export type Step = {
  readonly title: string;
  /** `skipped`: one before it failed, so that it says nothing; `open`: neither shown nor refuted here. */
  readonly result: "holds" | "fails" | "skipped" | "open";
  /** What was found, or everything that does not hold. */
  readonly details: readonly string[];
};

/** A step behind one that failed. */
export const skipped = (title: string): Step => ({ title, result: "skipped", details: [] });

export type Report = {
  readonly kind: "statement" | "audit pack";
  /** What it comes to when no step fails, and no more than that. */
  readonly verdict: string;
  /** What the file is about, in a line. */
  readonly title: string;
  readonly steps: readonly Step[];
  /** What it says; to be relied on as far as the steps hold. */
  readonly says: readonly Said[];
  /** The key it is signed with, base64, as it names it itself; null when it was not read so far. */
  readonly publicKey: string | null;
  /** The root of a table it is part of, with where that is published. */
  readonly root: {
    readonly coinType: string;
    readonly checkpoint: string;
    readonly root: string;
    /** Of the tree, 1 unless given: roots of each version are published apart. */
    readonly version?: 1 | 2;
  } | null;
  /** What this check cannot show. */
  readonly open: readonly string[];
};

export type Said =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly id: string }
  | { readonly name: string; readonly units: bigint; readonly decimals: number | null };

/** Whether nothing that was checked is false. */
export const holds = ({ steps }: Pick<Report, "steps">): boolean =>
  steps.every(({ result }) => result === "holds" || result === "open");

/** How it looks: green only where every step holds, not where nothing was shown but nothing is false. */
export const toneOf = ({ steps }: Pick<Report, "steps">): "good" | "warn" | "bad" => {
  if (!holds({ steps })) return "bad";
  return steps.every(({ result }) => result === "holds") ? "good" : "warn";
};

/** The file is none that this page checks, or cannot be read; the message says so. */
export class UncheckableError extends Error {
  override readonly name = "UncheckableError";
}
