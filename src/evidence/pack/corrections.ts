/** Corrections of the token's roots in kept entries, compared with the acts and registers of a pack. */
import type { ActLine, PackManifest } from "../../../client/pack-forms.ts";
import { isCorrection } from "../../../client/pack-verdict.ts";
import { correctionText, type RootCorrection } from "../../../client/root-corrections.ts";
import type { SequenceEntry } from "../../../client/verify-sequence.ts";
import type { ComparedActs } from "./acts.ts";
import { FILES, packError } from "./form.ts";

type Pack = {
  readonly manifest: PackManifest;
  /** Null before version 3. */
  readonly acts: readonly ActLine[] | null;
};

/**
 * @param corrections of roots of the pack's token, by kept entries that hold; its registers have the corrected roots
 * @param all kept entries that hold, of any kind
 * @throws AuditPackError (stop) if an act contradicts its entry, or a pack that is younger than a correction has no act
 * about it
 */
export const compareCorrections = (
  corrections: readonly RootCorrection[],
  all: readonly SequenceEntry[],
  { manifest, acts }: Pack,
): ComparedActs => {
  const correcting = (acts ?? []).filter(isCorrection);
  const named = new Set(correcting.map(({ details }) => `${details.correction}`));
  const entries = Map.groupBy(corrections, ({ number }) => number);
  for (const act of correcting) {
    const number = `${act.details.correction}`;
    const wrong = packError(
      FILES.acts,
      `act ${act.number} contradicts entry ${number}, which was kept`,
      "complete",
    );
    const isKept = all.some((entry) => entry.number === number);
    if (isKept && !isSame(act, entries.get(number) ?? [])) throw wrong;
  }
  const [by, open]: [string[], string[]] = [[], []];
  for (const [number, roots] of entries) {
    const says = `entry ${number}, which you kept, corrects published roots of the token at checkpoints ${checkpointsOf(roots)}, by ${roots[0]?.by}: ${roots[0]?.why}`;
    by.push(says, ...roots.filter(isOfRegister(manifest)).map(correctionText));
    if (roots.some(({ isPublished }) => !isPublished)) {
      open.push(
        `that the former roots which entry ${number} corrects were published: no kept entry shows it`,
      );
    }
    if (named.has(number)) continue;
    if (isYounger(number, roots, corrections, { manifest, acts })) {
      const what = `has no act about the correction of roots: ${says}. It was left out`;
      throw packError(FILES.acts, what, "complete");
    }
    open.push(`that the pack is from before entry ${number}, which none of its acts names`);
  }
  return { by, open };
};

const checkpointsOf = (roots: readonly RootCorrection[]): string =>
  [...new Set(roots.map(({ checkpoint }) => checkpoint))].join(", ");

const isSame = ({ details }: ActLine, roots: readonly RootCorrection[]): boolean =>
  details.by === roots[0]?.by &&
  details.why === roots[0]?.why &&
  details.checkpoints === checkpointsOf(roots);

const isOfRegister =
  ({ first, last }: PackManifest) =>
  ({ checkpoint }: RootCorrection): boolean =>
    checkpoint === first.checkpoint || checkpoint === last.checkpoint;

/** Whether the pack names a later entry, or has a register with a root that only held since. */
const isYounger = (
  number: string,
  roots: readonly RootCorrection[],
  corrections: readonly RootCorrection[],
  { manifest, acts }: Pack,
): boolean => {
  if (acts === null) return false;
  const named = [manifest.coinChain?.entry ?? null, ...acts.map(({ entry }) => entry)];
  if (named.some((entry) => entry !== null && BigInt(entry) > BigInt(number))) return true;
  return roots
    .filter(isOfRegister(manifest))
    .some(
      ({ version, checkpoint, to }) =>
        !corrections.some(
          (one) =>
            one.version === version &&
            one.checkpoint === checkpoint &&
            one.from.root === to.root &&
            one.from.total === to.total,
        ),
    );
};
