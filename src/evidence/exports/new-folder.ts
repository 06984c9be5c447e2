/** Writes a folder completely or not at all. */
import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Remedy } from "../../waiting/remedy.ts";

/** The folder exists and is not empty; nothing was written. Name another one, or empty it. */
export class FolderInUseError extends Error {
  override readonly name = "FolderInUseError";
  readonly remedy: Remedy = "stop";
}

/** The folder above is missing; nothing was written. Create it, or name another one. */
export class ParentFolderMissingError extends Error {
  override readonly name = "ParentFolderMissingError";
  readonly remedy: Remedy = "stop";
}

/** @returns whether the folder exists, empty @throws FolderInUseError | ParentFolderMissingError */
export const assertFree = async (path: string): Promise<boolean> => {
  const found = await readdir(resolve(path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (found !== null && found.length > 0) {
    throw new FolderInUseError(`${path} is not empty: name another folder, or empty it`);
  }
  const parent = dirname(resolve(path));
  if (found === null && !(await stat(parent).catch(() => null))?.isDirectory()) {
    throw new ParentFolderMissingError(
      `${path} cannot be written: there is no folder ${parent}; create it, or name another one`,
    );
  }
  return found !== null;
};

/**
 * Writes a folder beside its destination and moves it there when complete.
 * @param path absent, or an empty folder
 * @param write receives the folder to write into
 * @throws FolderInUseError
 * ParentFolderMissingError
 */
export const writeNewFolder = async <Written>(
  path: string,
  write: (folder: string) => Promise<Written>,
): Promise<Written> => {
  const place = resolve(path);
  const isThere = await assertFree(path);
  const making = join(dirname(place), `.${basename(place)}-${randomUUID()}`);
  await mkdir(making);
  try {
    const written = await write(making);
    if (isThere) await rmdir(place);
    await rename(making, place);
    return written;
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    throw error;
  }
};
