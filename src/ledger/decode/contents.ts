import type { Cursor } from "./cursor.ts";
import { bytes, optional, u64 } from "./layout.ts";

/** A transaction in the checkpoint's contents. */
export type ContentsEntry = {
  /** Offset of the transaction's digest. */
  readonly transactionAt: number;
  /** Offset of its effects' digest. */
  readonly effectsAt: number;
};

/** Reads `CheckpointContents`, both versions; skips signatures. */
export const readContents = (cursor: Cursor): readonly ContentsEntry[] =>
  cursor.variant("CheckpointContents", 2) === 0 ? readV1(cursor) : readV2(cursor);

const readV1 = (cursor: Cursor): readonly ContentsEntry[] => {
  const entries: ContentsEntry[] = [];
  for (let left = cursor.length(); left > 0; left--) entries.push(readDigests(cursor));
  const at = cursor.at;
  const signed = cursor.length();
  if (signed !== entries.length) {
    cursor.fail(`signatures for ${signed} of ${entries.length} transactions`, at);
  }
  for (let left = signed; left > 0; left--) {
    for (let signatures = cursor.length(); signatures > 0; signatures--) bytes(cursor);
  }
  return entries;
};

const readV2 = (cursor: Cursor): readonly ContentsEntry[] => {
  const entries: ContentsEntry[] = [];
  for (let left = cursor.length(); left > 0; left--) {
    entries.push(readDigests(cursor));
    for (let signatures = cursor.length(); signatures > 0; signatures--) {
      bytes(cursor);
      skipAliasVersion(cursor);
    }
  }
  return entries;
};

const readDigests = (cursor: Cursor): ContentsEntry => ({
  transactionAt: cursor.digest(),
  effectsAt: cursor.digest(),
});

const skipAliasVersion = optional(u64);
