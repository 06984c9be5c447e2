/** Temporary folders in which archives are built before they are sent. */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "holderbook-ocf-";

/** The caller removes it. */
export const makeArchiveFolder = (): Promise<string> => mkdtemp(join(tmpdir(), PREFIX));

export const removeArchiveFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true });

/** Removes leftovers of killed processes: no folder in use is that old. */
export const removeArchivesOlderThan = async (ms: number): Promise<void> => {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(PREFIX));
  for (const name of names) {
    const folder = join(tmpdir(), name);
    // Another process may have removed it.
    const made = await stat(folder).catch(() => undefined);
    if (made !== undefined && made.mtimeMs < Date.now() - ms) await removeArchiveFolder(folder);
  }
};
