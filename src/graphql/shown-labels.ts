/** Labels beside holders and wallets: one statement for all that a level of an answer shows. */
import { setImmediate as turn } from "node:timers/promises";
import type { Reads } from "../database/readers.ts";
import type { LabelSubject } from "../labels/label.ts";
import { type Label, type LabelKeys, labelsOf, subjectName } from "../labels/read.ts";

export type ShownLabels = {
  /** Whether the caller's key sees labels. */
  readonly sees: boolean;
  /** Text of the subject's label; null without one, and always for keys that see none. */
  textOf(subject: LabelSubject): Promise<string | null> | null;
};

/** For keys that see none: nothing is read, so that not even the time of an answer says more. */
export const NO_LABELS: ShownLabels = { sees: false, textOf: () => null };

/** Of one request whose key sees labels. */
export const createShownLabels = (reads: Reads, keys: LabelKeys): ShownLabels => {
  let batch:
    | { readonly subjects: LabelSubject[]; readonly found: Promise<ReadonlyMap<string, Label>> }
    | undefined;
  const next = () => {
    const subjects: LabelSubject[] = [];
    // Resolvers of one level run before the event loop's next turn.
    const found = turn().then(() => {
      batch = undefined;
      return labelsOf(reads, keys, subjects);
    });
    return { subjects, found };
  };
  return {
    sees: true,
    textOf: async (subject) => {
      batch ??= next();
      batch.subjects.push(subject);
      return (await batch.found).get(subjectName(subject))?.text ?? null;
    },
  };
};

/** The field `label` of a type. @param subjectOf null where there is nothing to name */
export const labelField = <Shown>(subjectOf: (shown: Shown) => LabelSubject | null) => ({
  nullable: true as const,
  description:
    "Its label; null without one, and for keys that do not see labels (`keys create --labels`).",
  resolve: (shown: Shown, _args: object, { labels }: { readonly labels: ShownLabels }) => {
    const subject = labels.sees ? subjectOf(shown) : null;
    return subject && labels.textOf(subject);
  },
});

export const holderSubject = (coinType: string, holderId: bigint | string): LabelSubject => ({
  kind: "HOLDER",
  coinType,
  subject: `${holderId}`,
});

export const walletSubject = (address: string): LabelSubject => ({
  kind: "WALLET",
  coinType: "",
  subject: address,
});
