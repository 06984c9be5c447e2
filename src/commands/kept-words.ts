/** What `verify --log` says of heads and entries that were kept, and of the keys that all of it is signed with. */

import type { LogHead } from "../audit/sequence/log-heads.ts";
import type { Kept } from "../audit/verify/kept.ts";
import type { KeptChecked } from "../audit/verify/kept-check.ts";
import type { KeptSigned } from "../audit/verify/kept-signatures.ts";

/** Members of `--json`. */
export type KeptWords = {
  readonly keptShown: readonly string[];
  readonly keptFaith: readonly string[];
  /** What was asked for, and cannot be shown. */
  readonly keptNotShown: readonly string[];
};

export const KEPT_WORDS: readonly (readonly [keyof KeptWords, (what: string) => string])[] = [
  ["keptShown", (what) => what],
  ["keptFaith", (what) => `taken on faith: ${what}`],
  ["keptNotShown", (what) => `not shown: ${what}`],
];

/** Such lines are one for each entry; a hundred tell enough. */
const MOST = 100;

/** @param key the one that was given: signatures with it were asked for */
export const keptInWords = (
  found: {
    readonly kept: readonly Kept[];
    readonly compared: KeptChecked;
    readonly signed: KeptSigned;
    readonly head: LogHead | null;
  },
  key: string | undefined,
): KeptWords => {
  const { kept, compared, signed, head } = found;
  const { earlier } = compared;
  const faults = compared.faults.length + signed.faults.length;
  const open = [...signed.open].map(([why, count]) => `who signed ${count} of those kept: ${why}`);
  const keyIds = new Set(signed.named.keys());
  if (head !== null && !signed.trusted.has(head.keyId)) keyIds.add(head.keyId);
  const unvouched = [...keyIds].map((keyId) => {
    const count = signed.named.get(keyId) ?? 0;
    const of = count === 0 ? "" : `, which signed ${count} of those kept,`;
    return `that ${keyId}${of} is a key of the deployment, as deployment_keys says`;
  });
  const compares = kept.length - earlier.length;
  return {
    keptShown: [
      ...(compares > 0 && faults === 0
        ? [`all ${compares} heads and entries that were kept fit`]
        : []),
      ...(signed.given > 0 ? [`${signed.given} of those kept are signed with the key given`] : []),
    ],
    keptFaith: [
      ...(kept.length === 0
        ? ["that nobody made the chains and heads anew (--head FILE shows it)"]
        : []),
      ...(key === undefined ? unvouched.map((what) => `${what} (--key shows it)`) : []),
      ...(key === undefined ? open : []),
    ],
    keptNotShown: [
      ...earlier.slice(0, MOST),
      ...(earlier.length > MOST ? [`${earlier.length - MOST} more of that log`] : []),
      ...(key === undefined
        ? []
        : [...unvouched, ...open, ...(unvouched.length > 0 ? signed.why : [])]),
    ],
  };
};
