/** Recognises a file as a statement or an audit pack, and checks it. */
import { type Files, unzipped } from "./dropped.ts";
import { checkPack, type Progress } from "./pack.ts";
import { type Report, UncheckableError } from "./report.ts";
import { checkStatement } from "./statement.ts";

/** A statement is the row of one holder; a longer file is none. */
const MAX_STATEMENT_BYTES = 16 * 1024 * 1024;

/** @throws UncheckableError for other files */
export const checkFiles = async (files: Files, onProgress: Progress): Promise<Report> => {
  if (files.has("manifest.json")) return checkPack(files, onProgress);
  const [only, ...others] = [...files.entries()];
  if (only === undefined) throw new UncheckableError("No file was dropped.");
  if (others.length > 0) {
    throw new UncheckableError(
      "These files are not an audit pack: manifest.json is missing. Drop the whole folder of the pack, or one statement.",
    );
  }
  const [name, file] = only;
  if (await isZip(file)) return checkPack(await unzipped(file), onProgress);
  if (file.size > MAX_STATEMENT_BYTES) {
    throw new UncheckableError(`${name} is too large for a statement.`);
  }
  const text = textOf(await file.arrayBuffer());
  if (!text.includes('"holderbook-statement"')) {
    throw new UncheckableError(
      `${name} is neither a statement nor an audit pack. A statement is the JSON file that a holder was given; drop a pack as its whole folder or a zip of it.`,
    );
  }
  return checkStatement(text);
};

/** Exactly the bytes of the file: a byte order mark is not dropped, invalid UTF-8 not replaced. */
const textOf = (bytes: ArrayBuffer): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UncheckableError("The file is not UTF-8.");
  }
};

const isZip = async (file: Blob): Promise<boolean> => {
  const [p, k, three, four] = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  return p === 0x50 && k === 0x4b && three === 3 && four === 4;
};
