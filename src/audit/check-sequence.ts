/** Whether the sequence is one: numbers without gaps, each entry with the hash of the one before, all signed. */
import { publicKeyOf, strictBase64, verifyBytes } from "../../client/ed25519.mjs";
import type { Sql } from "../database/connect.ts";
import type { LogFault } from "../log/chain.ts";
import { signedBytes } from "./deployment-key.ts";
import { entriesAfter, entryHash, type SequenceEntry, signedEntry } from "./sequence.ts";

/** Entries that are read at once. */
const PAGE = 1_000;

/** The first entry that does not fit; null when all do. */
export const sequenceFault = async (sql: Sql, signal: AbortSignal): Promise<LogFault | null> => {
  const keys = await sql<{ keyId: string; publicKey: string }[]>`
    select key_id as "keyId", public_key as "publicKey" from deployment_keys`;
  const keyOf = new Map(keys.map(({ keyId, publicKey }) => [keyId, publicKeyOf(publicKey)]));
  const [head] = await sql<{ next: bigint; hash: string }[]>`
    select next, hash from log_sequence_head`;
  let next = 0n;
  let hash = "0".repeat(64);
  for (;;) {
    signal.throwIfAborted();
    const entries = await entriesAfter({ sql }, next - 1n, PAGE);
    for (const entry of entries) {
      const what = wrongIn(entry, next, hash, keyOf);
      if (what !== null) return fault(`entry ${next} ${what}`);
      hash = entryHash(entry);
      next += 1n;
    }
    if (entries.length < PAGE) break;
  }
  if ((head?.next ?? 0n) === next && (head === undefined || head.hash === hash)) return null;
  return fault(`its end was deleted, or log_sequence_head altered: that is before ${head?.next}`);
};

/** Of no checkpoint. */
const fault = (what: string): LogFault => ({ checkpoint: 0n, what: `log_sequence: ${what}` });

const wrongIn = (
  entry: SequenceEntry,
  next: bigint,
  previous: string,
  keyOf: ReadonlyMap<string, ReturnType<typeof publicKeyOf>>,
): string | null => {
  if (entry.number !== `${next}`) return `is missing: the next one is ${entry.number}`;
  if (entry.previous !== previous) return "does not name the hash of the one before";
  const key = keyOf.get(entry.keyId);
  const signature = strictBase64(entry.signature);
  const isSigned =
    key !== undefined &&
    signature !== undefined &&
    verifyBytes(signedBytes(signedEntry(entry)), signature, key);
  return isSigned ? null : `is not signed by key ${entry.keyId}: it was altered`;
};
