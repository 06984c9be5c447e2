/** Which of a checkpoint's roots holds, where a correction replaced the published one. */
import type { Roots } from "../../data/answers.ts";

type Published = Roots["roots"][number];
export type Correction = Published["corrections"][number];

/** The corrected root may not be published yet: the list then has the former one. */
export const heldRoot = ({ root, total, corrections }: Published): Correction["to"] =>
  corrections.at(-1)?.to ?? { root, total };

export type Compared =
  | { readonly found: "same" | "former"; readonly correction: Correction | undefined }
  | { readonly found: "other" | "none" };

/** A file's root beside the published one. */
export const comparedRoot = (root: string, published: Published | undefined): Compared => {
  if (published === undefined) return { found: "none" };
  const { corrections } = published;
  if (heldRoot(published).root === root) return { found: "same", correction: corrections.at(-1) };
  const correction = corrections.findLast(({ from }) => from.root === root);
  return correction === undefined ? { found: "other" } : { found: "former", correction };
};

export const correctionWords = ({ number, by, why }: Correction): string =>
  `Corrected by ${by} (entry ${number}): ${why}`;
