import { lockExports } from "../archive/export-lock.ts";
import { exportParquet, type ParquetOptions } from "../archive/parquet/export-parquet.ts";
import type { ParquetExport } from "../archive/parquet/manifest.ts";
import { openDatabase } from "./open-database.ts";
import { printJson, printLines } from "./output.ts";
import { progressTerminal, redrawnLine } from "./progress-line.ts";

type Asked = Pick<ParquetOptions, "folder" | "from" | "to" | "at"> & { readonly json: boolean };

/** `holderbook archive export --format parquet`. */
export const exportAsParquet = async ({ json, ...asked }: Asked): Promise<void> => {
  await using opened = await openDatabase({ readOnly: true });
  const { config, write, signal } = opened;
  await using _lock = await lockExports(write, signal);
  const line = redrawnLine(progressTerminal(config));
  const onProgress = (file: string, rows: number) => line.draw(`${file}: ${rows} rows`);
  const made = await exportParquet(write, { ...asked, signal, onProgress });
  line.clear();
  if (json) printJson({ folder: asked.folder, ...made });
  else printLines(inWords(asked.folder, made));
};

const inWords = (folder: string, { first, last, at, files }: ParquetExport): readonly string[] => {
  const held = new Map(
    files.flatMap((file) => file.held).map((one) => [`${one.coinType} ${one.pipeline}`, one]),
  );
  return [
    `${folder}: checkpoints ${first} to ${last}, the register at ${at}`,
    ...files.map(({ name, rows, bytes }) => `${name}: ${rows} rows, ${bytes} bytes`),
    ...[...held.values()].map(
      ({ coinType, pipeline, from, reason }) =>
        `left out but for its facts: ${coinType}, held by ${pipeline} from checkpoint ${from} on: ${reason}`,
    ),
  ];
};
