/** Dropped or chosen files, those of a folder or a zip with their paths in it. They never leave the browser. */
import { part } from "../../../data/part.ts";
import { UncheckableError } from "./report.ts";

/** By path, such as `first/cap-table.json`. */
export type Files = ReadonlyMap<string, Blob>;

/** More files are not a pack, and would fill the memory. */
const MAX_FILES = 200_000;

/** The files of a drop. Must be called before any await: the browser then forgets the drop. */
export const filesOfDrop = (dropped: DataTransfer): Promise<Files> => {
  const entries = [...dropped.items].flatMap((item) => {
    const entry = item.webkitGetAsEntry();
    return entry === null ? [] : [entry];
  });
  const plain = [...dropped.files];
  return entries.length === 0 ? Promise.resolve(filesOfList(plain)) : filesBelow(entries);
};

/** The files of a file chooser. */
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
    if (files.size > MAX_FILES) throw new UncheckableError("Too many files for an audit pack.");
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

/** Makes paths relative to the folder of the manifest, and drops files that operating systems add. */
export const withoutFolder = (files: Files): Files => {
  const shown = [...files].filter(
    ([path]) => !/(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$/.test(path),
  );
  const manifest = shown.find(([path]) => /(?:^|\/)manifest\.json$/.test(path))?.[0];
  const prefix = manifest?.slice(0, -"manifest.json".length) ?? "";
  return new Map(
    // A file beside the folder must not replace one in it.
    shown.map(([path, file]) => [
      path.startsWith(prefix) ? path.slice(prefix.length) : `../${path}`,
      file,
    ]),
  );
};

/** Unpacked bytes that a browser holds easily; a larger pack is dropped as its folder. */
const MAX_UNPACKED_BYTES = 1024 * 1024 * 1024;

const fflate = part(() => import("fflate"));

/** The files of a zip. In this thread: the content security policy has no workers. @throws UncheckableError */
export const unzipped = async (zip: Blob): Promise<Files> => {
  const { unzipSync } = await fflate.load();
  let total = 0;
  let count = 0;
  try {
    const files = unzipSync(new Uint8Array(await zip.arrayBuffer()), {
      filter: ({ name, originalSize }) => {
        total += originalSize;
        if (total > MAX_UNPACKED_BYTES) {
          throw new UncheckableError(
            "The zip is too large for a browser. Drop the unpacked folder.",
          );
        }
        const isTaken = !name.endsWith("/") && !name.startsWith("__MACOSX/");
        if (isTaken) count += 1;
        return isTaken;
      },
    });
    if (Object.keys(files).length !== count) {
      throw new UncheckableError(
        "The zip contains a file twice: another program may unpack the other one.",
      );
    }
    return withoutFolder(
      new Map(
        Object.entries(files).map(([name, bytes]) => [name, new Blob([new Uint8Array(bytes)])]),
      ),
    );
  } catch (error) {
    if (error instanceof UncheckableError) throw error;
    throw new UncheckableError("The zip is damaged and cannot be unpacked.");
  }
};
