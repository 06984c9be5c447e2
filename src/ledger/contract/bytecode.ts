/**
 * Hashes of packages' code: SHA-256 of the BCS of the modules by name and of the linkage to other
 * packages, without the package's own id and version. Equal hashes execute equally.
 *
 * A profile holds for code; these are the hashes of the code that it is known to hold for.
 */
import { createHash } from "node:crypto";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { Cursor } from "../decode/cursor.ts";
import { decodeWith } from "../decode/decode.ts";
import { codeOf, readObject } from "../decode/object.ts";
import { refusing } from "../decode/verify.ts";

/** Versions 1 and 2 of the demo ledger's contract. */
const KNOWN: readonly string[] = [
  "aa304bb7be549430b43200a7d5760c25cdb8743c255e471b9513bac1da203b31",
  "a94e0343b16d5e8dfd1dbead00888817fb29eb48797bb4b701248fbb79af5a56",
];

/** By hash: who says that the profile holds for the code. */
export type AcceptedBytecode = ReadonlyMap<string, "profile" | "setting">;

/** @param further hashes of the setting */
export const acceptedBytecode = (further: readonly string[] = []): AcceptedBytecode =>
  new Map([
    ...further.map((hash) => [hash, "setting"] as const),
    ...KNOWN.map((hash) => [hash, "profile"] as const),
  ]);

const checked = refusing(true);

/**
 * Hashes of the packages that a checkpoint publishes, in hex, by address. Checks every digest.
 * @throws CheckpointDecodeError (retry)
 */
export const bytecodeIn = (raw: RawCheckpoint): ReadonlyMap<string, string> => {
  const hashes = new Map<string, string>();
  decodeWith(raw, {
    inputs: true,
    claim: (cursor, claim) => {
      checked.claim(cursor, claim);
      if (claim.of !== "Object") return;
      const own = new Cursor(cursor.bytes, raw.sequence);
      own.at = claim.start;
      const span = readObject(own);
      if (span.kind !== "package") return;
      hashes.set(
        own.address(span.idAt),
        createHash("sha256").update(codeOf(own, span)).digest("hex"),
      );
    },
  });
  return hashes;
};
