/** Labels beside holders and wallets: one statement for all that a level of an answer shows. */
import { setImmediate as turn } from "node:timers/promises";
import type { Reads } from "../database/readers.ts";
import type { LabelSubject } from "../labels/label.ts";
import { type LabelKeys, labelsOf, subjectName } from "../labels/read.ts";

export type ShownLabels = {
  /** Whether the caller's key sees labels. */
  readonly sees: boolean;
  /** Text of the subject's label; null without one, and always for keys that see none. */
  textOf(subject: LabelSubject): Promise<string | null> | null;
};

/** For keys that see none: nothing is read, so that not even the time of an answer says more. */
export const NO_LABELS: ShownLabels = { sees: false, textOf: () => null };

/**
 * Names of a coin's holders that the transfer agent has for them, by their numbers; for holders
 * without a label.
 */
export type AgentNames = (
  on: Reads,
  coinType: string,
  holderIds: readonly string[],
) => Promise<ReadonlyMap<string, string>>;

/**
 * Of one request whose key sees labels.
 * @param agentNames for operators' keys alone
 */
export const createShownLabels = (
  reads: Reads,
  keys: LabelKeys,
  agentNames?: AgentNames,
): ShownLabels => {
  const textsOf = async (subjects: readonly LabelSubject[]) => {
    const found = await labelsOf(reads, keys, subjects);
    const texts = new Map([...found].map(([name, { text }]) => [name, text]));
    if (agentNames === undefined) return texts;
    const unnamed = subjects.filter(
      (subject) => subject.kind === "HOLDER" && !found.has(subjectName(subject)),
    );
    for (const coinType of new Set(unnamed.map((subject) => subject.coinType))) {
      const of = unnamed.filter((subject) => subject.coinType === coinType);
      const ids = of.map(({ subject }) => subject);
      const names = await agentNames(reads, coinType, ids);
      for (const subject of of) {
        texts.set(subjectName(subject), names.get(subject.subject) ?? null);
      }
    }
    return texts;
  };

  let batch:
    | {
        readonly subjects: LabelSubject[];
        readonly found: Promise<ReadonlyMap<string, string | null>>;
      }
    | undefined;
  const next = () => {
    const subjects: LabelSubject[] = [];
    // Resolvers of one level run before the event loop's next turn.
    const found = turn().then(() => {
      batch = undefined;
      return textsOf(subjects);
    });
    return { subjects, found };
  };
  return {
    sees: true,
    textOf: async (subject) => {
      batch ??= next();
      batch.subjects.push(subject);
      return (await batch.found).get(subjectName(subject)) ?? null;
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
