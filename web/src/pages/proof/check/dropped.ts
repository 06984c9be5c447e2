/** Files that were dropped or chosen, a folder's with their paths below it. Nothing here leaves the browser. */
import { UncheckableError } from "./report.ts";

/** By path, such as `first/cap-table.json`. */
export type Files = ReadonlyMap<string, Blob>;

/** A pack has two files for a checkpoint at most; more than this is no pack, and would fill the memory. */
const MOST_FILES = 200_000;

/** Of a drop. To be called before anything is awaited: the browser forgets what was dropped. */
export const filesOfDrop = (dropped: DataTransfer): Promise<Files> => {
  const entries = [...dropped.items].flatMap((item) => {
    const entry = item.webkitGetAsEntry();
    return entry === null ? [] : [entry];
  });
  const plain = [...dropped.files];
  return entries.length === 0 ? Promise.resolve(filesOfList(plain)) : filesBelow(entries);
};

/** Of a file chooser, for files or for a folder. */
export const filesOfList = (list: Iterable<File>): Files =>
  withoutFolder(
    new Map([...list].map((file) => [file.webkitRelativePath || file.name, file] as const)),
  );

const filesBelow = async (entries: readonly FileSystemEntry[]): Promise<Files> => {
  const files = new Map<string, Blob>();
  const left = [...entries];
  for (let entry = left.pop(); entry !== undefined; entry = left.pop()) {
    if (entry instanceof FileSystemFileEntry) {
      files.set(entry.fullPath.replace(/^\//, ""), await fileOf(entry));
    } else if (entry instanceof FileSystemDirectoryEntry) {
      left.push(...(await childrenOf(entry)));
    }
    if (files.size > MOST_FILES) throw new UncheckableError("These are too many files for a pack.");
  }
  return withoutFolder(files);
};

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

/** Browsers hand out a folder's entries in parts. */
const childrenOf = async (
  folder: FileSystemDirectoryEntry,
): Promise<readonly FileSystemEntry[]> => {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (part.length === 0) return all;
    all.push(...part);
  }
};

/** The folder itself is no part of the paths in it; what systems add to folders is no file of it. */
export const withoutFolder = (files: Files): Files => {
  const shown = [...files].filter(
    ([path]) => !/(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$/.test(path),
  );
  const manifest = shown.find(([path]) => /(?:^|\/)manifest\.json$/.test(path))?.[0];
  const prefix = manifest?.slice(0, -"manifest.json".length) ?? "";
  return new Map(
    // What is beside the folder must not take the place of a file in it.
    shown.map(([path, file]) => [
      path.startsWith(prefix) ? path.slice(prefix.length) : `../${path}`,
      file,
    ]),
  );
};
