/** A committee as the file that COMMITTEE_FILE names. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Committee } from "../../src/ledger/proof/committee.ts";

/** @returns the file's path */
export const writeCommittee = async (
  folder: string,
  { epoch, members }: Committee,
): Promise<string> => {
  const path = join(folder, "committee.json");
  const written = members.map(({ publicKey, stake }) => ({
    publicKey: Buffer.from(publicKey).toString("base64"),
    stake: `${stake}`,
  }));
  await writeFile(path, JSON.stringify({ epoch: `${epoch}`, members: written }));
  return path;
};
