/** Tells what was dropped, and checks it. */
import type { Files } from "./dropped.ts";
import { checkPack, type Progress } from "./pack.ts";
import { type Report, UncheckableError } from "./report.ts";
import { checkStatement } from "./statement.ts";
import { unzipped } from "./unzip.ts";

/** A statement has a row of one holder; whatever is longer is none. */
const LONGEST_STATEMENT = 16 * 1024 * 1024;

/** @throws UncheckableError saying what this page checks instead */
export const checkFiles = async (files: Files, told: Progress): Promise<Report> => {
  if (files.has("manifest.json")) return checkPack(files, told);
  const [only, ...others] = [...files.entries()];
  if (only === undefined) throw new UncheckableError("There is no file in it.");
  if (others.length > 0) {
    throw new UncheckableError(
      "These files are no audit pack: there is no manifest.json. Drop the pack's whole folder, or one statement.",
    );
  }
  const [name, file] = only;
  if (await isZip(file)) return checkPack(await unzipped(file), told);
  if (file.size > LONGEST_STATEMENT) {
    throw new UncheckableError(`${name} is too large for a statement.`);
  }
  const text = textOf(await file.arrayBuffer());
  if (!text.includes('"holderbook-statement"')) {
    throw new UncheckableError(
      `${name} is neither a statement nor an audit pack. A statement is the JSON file that a holder was given; of a pack drop the whole folder, or a zip of it.`,
    );
  }
  return checkStatement(text);
};

/** Every byte counts: none may be left out or replaced, as a mark of the byte order would be. */
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
