/** Sealed texts of labels, and the keyed hash that finds one by its whole text. */
import { createHmac, hkdfSync } from "node:crypto";
import type { KeyRing, SealingKey } from "../sealing/key-ring.ts";
import { SealedError, seal, unseal } from "../sealing/sealed.ts";
import { folded } from "./label.ts";

export type SealedText = {
  readonly keyId: string;
  readonly sealed: Uint8Array;
  readonly mark: Uint8Array;
};

/** Bound to its row, so that it cannot be moved to another one. */
const rowName = (id: bigint) => `text of label ${id}`;

export const sealText = ({ current }: KeyRing, id: bigint, text: string): SealedText => ({
  keyId: current.id,
  sealed: seal(current.key, rowName(id), Buffer.from(text)),
  mark: markUnder(current, text),
});

/** Null without its key here. */
export const openText = (
  keys: KeyRing | undefined,
  {
    id,
    keyId,
    sealed,
  }: { readonly id: bigint; readonly keyId: string; readonly sealed: Uint8Array },
): string | null => {
  const found = keys?.find(keyId);
  if (found === undefined) return null;
  try {
    return Buffer.from(unseal(found.key, rowName(id), sealed)).toString();
  } catch (error) {
    // Another key of this name: as without it.
    if (error instanceof SealedError) return null;
    throw error;
  }
};

/** Hashes of a whole text under each key. */
export const marksOf = ({ all }: KeyRing, text: string): readonly Uint8Array[] =>
  all.map((key) => markUnder(key, text));

const markUnder = ({ key }: SealingKey, text: string): Uint8Array =>
  createHmac("sha256", Buffer.from(hkdfSync("sha256", key, "", "holderbook label search", 32)))
    .update(folded(text))
    .digest();
