/** The folder of an export: keeps finished files, and lists each new one when it is complete. */
import { join } from "node:path";
import type { Column } from "./columns.ts";
import {
  asJson,
  type FinishedFile,
  isWhole,
  type LeftOut,
  type ParquetExport,
  writeExport,
} from "./manifest.ts";
import { type GroupLimits, writeTable } from "./table-file.ts";

export type ParquetLimits = {
  readonly group: GroupLimits;
  /** After these many facts a part ends with its batch. */
  readonly factsPerPart: number;
};

type FolderOptions = {
  /** Id of the deployment's key, if it has one. */
  readonly deployment: string | undefined;
  readonly limits: ParquetLimits;
  readonly signal: AbortSignal;
  readonly onProgress: (file: string, rows: number) => void;
};

type NewFile<Row> = {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: AsyncIterable<readonly Row[]>;
  readonly sizeOf?: (row: Row) => number;
  /** Of this file besides the export's, known after its last row; without the prefix. */
  readonly metadata: () => Readonly<Record<string, string>>;
  readonly held?: readonly LeftOut[];
  readonly through?: () => bigint;
};

export type ExportFolder = {
  /** With the finished files. */
  readonly wanted: ParquetExport;
  readonly limits: ParquetLimits;
  /** Does nothing if the file is finished. */
  write<Row>(file: NewFile<Row>): Promise<void>;
  /** Marks the export as complete. */
  complete(): Promise<ParquetExport>;
};

/** Written by an earlier run, and unchanged since; of the facts' parts only those without a gap before. */
const wholeFiles = async (folder: string, files: readonly FinishedFile[]) => {
  const whole: FinishedFile[] = [];
  let isGapless = true;
  for (const file of files) {
    const isPart = file.through !== undefined;
    const isKept = (isGapless || !isPart) && (await isWhole(folder, file));
    if (isKept) whole.push(file);
    else if (isPart) isGapless = false;
  }
  return whole;
};

export const openFolder = async (
  folder: string,
  begun: ParquetExport,
  { deployment, limits, signal, onProgress }: FolderOptions,
): Promise<ExportFolder> => {
  let wanted = { ...begun, files: await wholeFiles(folder, begun.files) };
  const list = async (changed: Partial<ParquetExport>) => {
    wanted = { ...wanted, ...changed };
    await writeExport(folder, wanted);
    return wanted;
  };
  // So that the next run knows the folder.
  await list({ isComplete: false });
  const { format, chainId, last, logHash } = wanted;
  const shared = {
    format,
    ...(chainId !== null && { chain_id: chainId }),
    ...(deployment !== undefined && { deployment }),
    log_checkpoint: `${last}`,
    log_hash: logHash,
  };
  return {
    limits,
    get wanted() {
      return wanted;
    },
    write: async ({ name, columns, rows, sizeOf, metadata, held = [], through }) => {
      if (wanted.files.some((file) => file.name === name)) return;
      signal.throwIfAborted();
      const made = await writeTable(join(folder, name), {
        ...{ columns, rows, limits: limits.group },
        ...(sizeOf && { sizeOf }),
        metadata: () =>
          Object.fromEntries(
            Object.entries({ ...shared, ...metadata(), left_out: asJson(held) }).map(
              ([key, value]) => [`holderbook.${key}`, value],
            ),
          ),
        onRows: (written) => {
          onProgress(name, written);
          signal.throwIfAborted();
        },
      });
      const file = { name, ...made, ...(through && { through: through() }), held: [...held] };
      await list({ files: [...wanted.files, file] });
    },
    complete: () => list({ isComplete: true }),
  };
};
