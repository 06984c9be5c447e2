/** Compares a pack's operators' acts with kept entries of the deployment's sequence. */
import type { ActLine } from "../../../client/pack-forms.ts";
import { actHash } from "../../../client/pack-lines.ts";
import type { SequenceEntry } from "../../../client/verify-sequence.ts";
import { CLOCKS_MS } from "../../audit/sequence/acts.ts";
import { textIn } from "../../audit/sequence/sequence.ts";
import { FILES, packError } from "./form.ts";

export type ComparedActs = { readonly by: readonly string[]; readonly open: readonly string[] };

/**
 * @param entries all valid kept entries, of any kind
 * @param acts null before version 3
 * @throws AuditPackError (stop) if an act was changed or replaced since its entry
 */
export const compareActs = async (
  entries: readonly SequenceEntry[],
  acts: readonly ActLine[] | null,
): Promise<ComparedActs> => {
  const lines = new Map((acts ?? []).map((act) => [act.number, act]));
  const kept = new Map(entries.map((entry) => [entry.number, entry]));
  for (const { number, entry } of lines.values()) {
    const named = entry === null ? undefined : kept.get(entry);
    if (named === undefined) continue;
    if (named.kind === "act" && textIn(named.body, "act") === number) continue;
    throw wrong(number, `names entry ${entry}, which was kept and is not about it`);
  }
  const [shown, withheld]: [SequenceEntry[], SequenceEntry[]] = [[], []];
  for (const entry of entries) {
    if (entry.kind !== "act") continue;
    const act = lines.get(textIn(entry.body, "act"));
    (act === undefined ? withheld : shown).push(entry);
    if (act !== undefined) await assertSame(act, entry);
  }
  assertOrder(acts ?? [], withheld);
  return {
    by:
      shown.length === 0
        ? []
        : [
            `${numbered(shown)} of the deployment's sequence, which you kept: ${shown.length === 1 ? "it has the hash of an act" : "each has the hash of an act"} in ${FILES.acts}, which was not changed since`,
          ],
    open:
      withheld.length === 0 || acts === null
        ? []
        : [
            `what ${numbered(withheld)}, which you kept, ${withheld.length === 1 ? "is" : "are"} about: acts that ${FILES.acts} does not have, because they are on other tokens or were left out. Who made the pack can show you their lines`,
          ],
  };
};

/** Limit of listed numbers. */
const LISTED = 5;

const numbered = (entries: readonly SequenceEntry[]): string => {
  const numbers = entries.slice(0, LISTED).map(({ number }) => number);
  const more = entries.length - numbers.length;
  const all = `${numbers.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return entries.length === 1 ? `entry ${all}` : `entries ${all}`;
};

const wrong = (act: string, what: string) =>
  packError(FILES.acts, `act ${act} ${what}`, "complete");

const assertSame = async (act: ActLine, { number, at, body }: SequenceEntry): Promise<void> => {
  if ((await actHash(act)) !== textIn(body, "sha256")) {
    throw wrong(act.number, `is not the one that entry ${number}, which was kept, has the hash of`);
  }
  if (act.entry !== null && act.entry !== number) {
    throw wrong(
      act.number,
      `names entry ${act.entry}, but entry ${number}, which was kept, is its`,
    );
  }
  if (Date.parse(at) < Date.parse(act.at) - CLOCKS_MS) {
    throw wrong(act.number, `is dated ${act.at}, but entry ${number}, which was kept, ${at}`);
  }
};

/** Acts are published in order, including those missing from the pack. */
const assertOrder = (acts: readonly ActLine[], withheld: readonly SequenceEntry[]): void => {
  const all = [
    ...acts.flatMap(({ number, entry }) => (entry === null ? [] : [{ act: number, entry }])),
    ...withheld.map(({ number, body }) => ({ act: textIn(body, "act"), entry: number })),
  ].sort((a, b) => (BigInt(a.act) < BigInt(b.act) ? -1 : 1));
  for (const [at, { act, entry }] of all.entries()) {
    const before = all[at - 1];
    if (before === undefined || BigInt(before.entry) < BigInt(entry)) continue;
    throw wrong(
      act,
      `comes behind act ${before.act}, but its entry ${entry} before entry ${before.entry}: it was renumbered`,
    );
  }
};
