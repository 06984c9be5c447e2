/** How one deployment key follows another: an entry of the sequence says so, signed with the one before. */
import type { Database } from "../database/connect.ts";
import { insertKey, openDeploymentKey } from "./deployment-key.ts";
import { appendEntry, type SequenceEntry } from "./sequence.ts";

/**
 * Makes a new key that signs from here on, and names it in the sequence: body `{ keyId, publicKey }`. A process that
 * opened the key before can append nothing any more, until it is started again.
 * @param masterKey the one that seals the key before
 * @throws SealedError (stop) when that was sealed with another one, SequenceLostError (stop),
 *   SequenceKeyError (stop) when another key followed meanwhile; then there is no new key
 */
export const changeDeploymentKey = async (
  database: Pick<Database, "transaction">,
  masterKey: Uint8Array,
): Promise<SequenceEntry> => {
  const before = await openDeploymentKey(database, masterKey);
  return database.transaction(async ({ sql }) => {
    const { key_id: keyId, public_key: publicKey } = await insertKey(sql, masterKey);
    return appendEntry(sql, before, "key", { keyId, publicKey });
  });
};
