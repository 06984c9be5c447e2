/** The result of checking a file, step by step. */

export type Step = {
  readonly title: string;
  /** `skipped`: an earlier step failed; `open`: neither proven nor disproven here. */
  readonly result: "holds" | "fails" | "skipped" | "open";
  /** Findings, or everything that fails. */
  readonly details: readonly string[];
};

/** A step after a failed one. */
export const skipped = (title: string): Step => ({ title, result: "skipped", details: [] });

export type Report = {
  readonly kind: "statement" | "audit pack";
  /** The verdict when no step fails. */
  readonly verdict: string;
  /** The file in one line. */
  readonly title: string;
  readonly steps: readonly Step[];
  /** Contents of the file, reliable as far as the steps hold. */
  readonly contents: readonly Entry[];
  /** The signing key that the file names, base64; null when the check stopped before it. */
  readonly publicKey: string | null;
  /** The root of its cap table. */
  readonly root: {
    readonly coinType: string;
    readonly checkpoint: string;
    readonly root: string;
    /** Of the tree; 1 by default. Roots of each version are published separately. */
    readonly version?: 1 | 2;
  } | null;
  /** What this check cannot prove. */
  readonly open: readonly string[];
};

/** An entry of a file's contents. */
export type Entry =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly id: string }
  | { readonly name: string; readonly units: bigint; readonly decimals: number | null };

/** Whether no step fails. */
export const holds = ({ steps }: Pick<Report, "steps">): boolean =>
  steps.every(({ result }) => result === "holds" || result === "open");

/** Good only when every step holds; with open steps it is a warning. */
export const toneOf = ({ steps }: Pick<Report, "steps">): "good" | "warn" | "bad" => {
  if (!holds({ steps })) return "bad";
  return steps.every(({ result }) => result === "holds") ? "good" : "warn";
};

/** The page cannot check this file: drop a statement or an audit pack instead, as the message says. */
export class UncheckableError extends Error {
  override readonly name = "UncheckableError";
}
