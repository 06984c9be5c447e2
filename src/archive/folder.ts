/** Files of an archive's folder: written completely or not at all. */
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Remedy } from "../waiting/remedy.ts";

/**
 * The archive's folder cannot be written: a full disk, or missing rights. What its manifest lists is
 * whole. Stop: make room or give the rights, and run the command again; it goes on there.
 */
export class ArchiveWriteError extends Error {
  override readonly name = "ArchiveWriteError";
  readonly remedy: Remedy = "stop";

  constructor(path: string, cause: unknown) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    const what = cause instanceof Error ? cause.message : String(cause);
    const isFull = code === "ENOSPC" || code === "EDQUOT";
    super(
      `${path}: ${isFull ? "the disk is full" : `it cannot be written: ${what}`}; the archive is whole as far as its manifest goes: ${isFull ? "make room" : "correct this"} and give the command again, which goes on from there`,
      { cause },
    );
  }
}

/** @throws ArchiveWriteError (stop) */
export const makeFolder = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true }).catch((cause: unknown) => {
    throw new ArchiveWriteError(folder, cause);
  });
};

/**
 * Writes a file completely or not at all, also when the machine stops.
 * @throws ArchiveWriteError (stop)
 */
export const writeDurably = async (path: string, content: string | Uint8Array): Promise<void> => {
  const part = `${path}.part`;
  try {
    {
      await using file = await open(part, "w");
      await file.writeFile(content);
      await file.sync();
    }
    await rename(part, path);
  } catch (cause) {
    // On a full disk the next files need its room.
    await rm(part, { force: true }).catch(() => undefined);
    throw new ArchiveWriteError(path, cause);
  }
};

const OURS = /^(?:(?:log|raw)-\d{20}\.binpb\.zst(?:\.part)?|manifest\.json\.part)$/;

/** Removes what a killed export left and the manifest does not list. */
export const removeUnlisted = async (
  folder: string,
  files: readonly { readonly name: string }[],
): Promise<void> => {
  const listed = new Set(files.map(({ name }) => name));
  for (const name of await readdir(folder)) {
    if (OURS.test(name) && !listed.has(name)) await rm(join(folder, name), { force: true });
  }
};
