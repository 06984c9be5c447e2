/** What an archive has to be to take the place of facts in the database. */
import type { Sql } from "../database/connect.ts";
import { chainEnd } from "../log/chain.ts";
import type { Remedy } from "../waiting/remedy.ts";
import {
  ArchiveDamagedError,
  type Manifest,
  manifestPath,
  nextOf,
  readManifest,
} from "./manifest.ts";

/** Facts cannot be archived or attached now. Nothing was changed. Stop: the message says what to do before. */
export class ArchiveRefusedError extends Error {
  override readonly name = "ArchiveRefusedError";
  readonly remedy: Remedy = "stop";
}

/** @throws ArchiveDamagedError (stop) */
export const manifestIn = async (folder: string) => {
  const found = await readManifest(folder);
  if (found !== null) return found;
  throw new ArchiveDamagedError(manifestPath(folder), "there is none", {
    advice: "name the folder that archive export wrote",
  });
};

/** Whether an archive has these checkpoints. @param before the first one after them */
export const hasIn = (manifest: Manifest, first: bigint, before: bigint): boolean =>
  manifest.first <= first && nextOf(manifest) >= before;

/**
 * Ends of the chain of facts before each border, by the links of an archive that is read.
 * @param from first checkpoint that is read
 */
export const endsAt = (manifest: Manifest, from: bigint, borders: readonly bigint[]) => {
  const { after = manifest.before } = manifest.files.findLast(({ last }) => last < from) ?? {};
  const ends = new Map(borders.map((border) => [border, after.facts]));
  return {
    ends,
    onLink: (checkpoint: bigint, hash: string) => {
      for (const border of borders) if (checkpoint < border) ends.set(border, hash);
    },
  };
};

/** @throws ArchiveRefusedError (stop) when the facts of the archive are not those that the log's chain commits to */
export const assertChained = async (
  sql: Sql,
  folder: string,
  ends: ReadonlyMap<bigint, string>,
): Promise<void> => {
  for (const [border, hash] of ends) {
    const own = (await chainEnd(sql, border - 1n)).hash;
    if (Buffer.from(own).toString("hex") === hash) continue;
    throw new ArchiveRefusedError(
      `${folder}: its facts lead to the hash ${hash} before checkpoint ${border}, but the log's chain to another: it is the archive of another log, or one of the two was altered (verify --log)`,
    );
  }
};
