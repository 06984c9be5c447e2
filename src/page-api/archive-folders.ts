/** Where archives are put together before they are sent: folders of their own in the system's folder for temporary files. */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "holderbook-ocf-";

/** A new one, for its maker to remove. */
export const makeArchiveFolder = (): Promise<string> => mkdtemp(join(tmpdir(), PREFIX));

export const removeArchiveFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true });

/** Removes those that processes left which were killed: none in use is that old, whichever process uses it. */
export const removeArchivesOlderThan = async (ms: number): Promise<void> => {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(PREFIX));
  for (const name of names) {
    const folder = join(tmpdir(), name);
    // Another process may remove it meanwhile.
    const made = await stat(folder).catch(() => undefined);
    if (made !== undefined && made.mtimeMs < Date.now() - ms) await removeArchiveFolder(folder);
  }
};
