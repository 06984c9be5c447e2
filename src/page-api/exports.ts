/**
 * `GET /exports/cap-table` and `GET /exports/statement`: files of the register. Rows are read while
 * they are sent, so memory does not grow with the register; few exports run concurrently.
 */
import { createReadStream } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { z } from "zod";
import type { DeploymentKey } from "../audit/sequence/deployment-key.ts";
import { SignerAwayError } from "../audit/sequence/outside-signer.ts";
import { RootConflictError, RootsOfDayError } from "../audit/sequence/published-roots.ts";
import { SequenceBusyError, SequenceLostError } from "../audit/sequence/sequence.ts";
import { RowsReplacedError, SupplyMismatchError } from "../audit/sequence/table-roots.ts";
import type { Database } from "../database/connect.ts";
import type { Readers } from "../database/readers.ts";
import { printPdf } from "../evidence/document/print-pdf.ts";
import {
  capTableFile,
  DecimalsUnknownError,
  fileNameOf,
  notFor,
  READERS,
} from "../evidence/exports/cap-table-file.ts";
import {
  capTablePaper,
  PdfTooLongError,
  type Printed,
  statementPaper,
} from "../evidence/exports/cap-table-pdf.ts";
import { type Zipped, zipped } from "../evidence/exports/zip.ts";
import { OcfError } from "../evidence/ocf/forms.ts";
import { LOT_POLICIES, lotsNotFor } from "../evidence/ocf/lots.ts";
import { writeOcf } from "../evidence/ocf/ocf.ts";
import { ChainUnknownError, makeStatement, NoRowError } from "../evidence/statement/statement.ts";
import { type Admission, createAdmission, type Slot } from "../http/edge/admission.ts";
import { HttpError } from "../http/http-error.ts";
import type { Key } from "../http/keys.ts";
import {
  type Download,
  file,
  JSON_TYPE,
  type Route,
  type RouteInput,
  route,
  type Visit,
  type Who,
} from "../http/route.ts";
import { type LabelKeys, rowLabels } from "../labels/read.ts";
import type { FindSummaries } from "../projections/asking.ts";
import { readCapTable, type TableOf } from "../projections/cap-table-json.ts";
import type { CapRow, CapTables, Whose } from "../projections/cap-tables.ts";
import { QuarantinedError } from "../projections/held-coins.ts";
import { NotYetIndexedError } from "../projections/past.ts";
import type { SuiToken } from "../settings/assets.ts";
import { canonicalAddress } from "../values/move-type.ts";
import { canonicalBy, requestedTable, tableParameters } from "./requested-table.ts";

const capTableQuery = z.strictObject({
  ...tableParameters,
  format: z
    .enum(["csv", "csv-zip", "json", "ocf", "pdf"], "must be csv, csv-zip, json, ocf or pdf")
    .default("csv")
    .meta({
      description:
        "csv-zip: the CSV and a JSON file that describes it (checkpoint, digest, root, issued). ocf: Open Cap Format 1.2.0, as one zip. pdf: pages to print, for registers of at most 2,000 rows and 10,000 wallets; 409 for longer ones.",
    }),
  lots: z.enum(LOT_POLICIES, "must be fifo or pro-rata").optional().meta({
    description:
      "For ocf: which securities are used when tokens leave a wallet, the oldest first (`fifo`, the default) or all in proportion (`pro-rata`). The manifest names the policy.",
  }),
  for: z.enum(READERS, "must be people or programs").optional().meta({
    description:
      "people (the default): CSV with amounts in tokens (`62655.616500`). programs: CSV with amounts in the smallest unit (`62655616500`, in columns such as `balance_in_units`), below lines with `#` that describe the table. csv-zip and pdf are only for people, json and ocf are only for programs.",
  }),
  labels: z.enum(["true", "false"], "must be true or false").optional().meta({
    description:
      "For CSV: a last column `label`, for keys that see labels. Default: true for people where the key does, false for programs.",
  }),
});

const statementQuery = z.strictObject({
  ...tableParameters,
  owner: z
    .string()
    .max(80, "is too long")
    .transform(canonicalBy(canonicalAddress))
    .optional()
    .meta({ description: "The row of this wallet, or of the holder it belongs to." }),
  holderId: z
    .string()
    .regex(/^\d{1,20}$/, "must be a holder's number")
    .transform(BigInt)
    .optional()
    .meta({ description: "The row of this holder." }),
  format: z.enum(["json", "pdf"], "must be json or pdf").default("json").meta({
    description:
      "json: the signed statement, which is what is verified. pdf: the same on a page, with a QR code of its root.",
  }),
  version: z.enum(["1", "2"], "must be 1 or 2").default("1").meta({
    description:
      "2: the root covers the whole row and the decimals, and is an entry of the sequence. Default: 1, for programs that do not know version 2.",
  }),
});

export type ExportSettings = {
  /** Opens sealed labels. */
  readonly labelKeys: LabelKeys;
  readonly reader: Who<Key>;
  /** Read-only, with a statement timeout. */
  readonly readers: Readers;
  /** Cached registers, shared by the whole process. */
  readonly capTables: CapTables;
  /** Finds checkpoints between those that were read. */
  readonly findSummaries: FindSummaries;
  /** For the roots of statements, which are published. */
  readonly write: Pick<Database, "sql" | "transaction" | "statement">;
  /** Opens the key that signs statements. */
  readonly deploymentKey: () => Promise<DeploymentKey>;
  /** New roots that a key may publish per UTC day. */
  readonly rootsPerDay: number;
  /** A token's issuer by the assets file. */
  readonly issuerOf: (coinType: string) => SuiToken["issuer"];
  /** Bounds archives and PDFs that are being made. */
  readonly archives?: Admission | undefined;
  /** Called when entries of the sequence are lost: this process must not sign any more. */
  readonly giveUp: (error: Error) => void;
};

/**
 * Concurrent downloads, counted apart from other requests: each lasts as long as its reader takes.
 */
const MAX_DOWNLOADS = { perKey: 2, perProcess: 4, waitingPerKey: 4, waiting: 16, waitMs: 5_000 };

/** Concurrent OCF builds; each holds the register in memory. */
const MAX_ARCHIVES = { perKey: 1, perProcess: 1, waitingPerKey: 2, waiting: 4, waitMs: 5_000 };

/** Longest download. */
const MAX_MS = 10 * 60 * 1_000;

const PDF_TYPE = "application/pdf";

/** Folders in which archives are built before they are sent. */
const ARCHIVE_PREFIX = "holderbook-ocf-";

const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true });

/** Removes leftovers of killed processes: no folder in use is that old. Never rejects. */
export const removeOldArchives = async (log: Pick<Visit["log"], "warn">): Promise<void> => {
  try {
    const names = (await readdir(tmpdir())).filter((name) => name.startsWith(ARCHIVE_PREFIX));
    for (const name of names) {
      const folder = join(tmpdir(), name);
      // Another process may have removed it.
      const made = await stat(folder).catch(() => undefined);
      if (made !== undefined && made.mtimeMs < Date.now() - 2 * MAX_MS) await removeFolder(folder);
    }
  } catch (err) {
    log.warn({ err }, "cannot remove the files that earlier downloads left behind");
  }
};

type Exporting = {
  readonly key: string;
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
  /** Schedules work for when the answer was read or the caller is gone. */
  readonly atEnd: (work: () => Promise<void>) => void;
};

export const exportRoutes = (settings: ExportSettings): readonly Route[] => {
  const { readers, capTables, findSummaries } = settings;
  const downloads = createAdmission(MAX_DOWNLOADS);
  const { archives = createAdmission(MAX_ARCHIVES) } = settings;
  /** Archives and PDFs are made one at a time. */
  const inTurn = async <Made>(
    { key, signal }: Exporting,
    make: () => Promise<Made>,
  ): Promise<Made> => {
    const slot = await archives.enter(key, 1, signal);
    try {
      return await make();
    } finally {
      slot.left();
    }
  };
  /** Pages as a file of their own, removed once it was read. */
  const printedOf = async (
    { title, header, paper }: Printed,
    { mark }: TableOf,
    { signal, atEnd }: Exporting,
  ): Promise<Pick<Download, "contentType" | "body">> => {
    const folder = await mkdtemp(join(tmpdir(), ARCHIVE_PREFIX));
    atEnd(() => removeFolder(folder));
    const path = join(folder, "printed.pdf");
    const furniture = { title, header, madeMs: mark.timestampMs };
    await printPdf({ path, papers: [paper], furniture }, signal);
    return { contentType: PDF_TYPE, body: createReadStream(path, { signal }) };
  };
  // Downloads hold their slot longer than `bounds` would.
  const who = { ...settings.reader, bounds: undefined };

  /** Makes a download once admitted. */
  const download = async (
    { caller: { id: key }, signal: hungUp, visit }: RouteInput<Key, unknown, undefined>,
    make: (exporting: Exporting) => Promise<Download>,
  ): Promise<Download> => {
    const slot = await downloads.enter(key, 1, hungUp);
    const ends = untilEnd(visit, slot);
    const signal = AbortSignal.any([hungUp, AbortSignal.timeout(MAX_MS)]);
    try {
      return await make({ key, signal, atEnd: ends.add });
    } catch (error) {
      if (error instanceof SequenceLostError) settings.giveUp(error);
      // Frees the slot: the route may run it again.
      ends.over();
      throw asRefusal(error);
    } finally {
      ends.begun();
    }
  };

  return [
    route({
      method: "GET",
      path: "/exports/cap-table",
      who,
      operationId: "exportCapTable",
      summary: "A cap table as a file",
      query: capTableQuery,
      answer: file("The file.", "text/csv", "application/json", "application/zip", PDF_TYPE),
      refusals: [404, 409],
      handle: (input) =>
        download(input, async (exporting) => {
          const { signal, atEnd } = exporting;
          const { format, for: reader, lots, labels, ...moment } = input.query;
          const isLabelled = showsLabels(input.caller, { format, reader, labels });
          if (format === "pdf" && reader === "programs") {
            throw new HttpError(400, "for: the format pdf is for people alone");
          }
          if (format === "pdf" && lots !== undefined) {
            throw new HttpError(400, "lots: only the format ocf has lots");
          }
          const why = format === "pdf" ? null : notFor(format, reader);
          if (why !== null) throw new HttpError(400, `for: ${why}`);
          const whyNot = format === "pdf" ? null : lotsNotFor(format, lots);
          if (whyNot !== null) throw new HttpError(400, `lots: ${whyNot}`);
          const on = readers.for(signal);
          const { table, reads } = await requestedTable(on, moment, findSummaries, signal);
          const { head, rows } = await readCapTable(reads, table, capTables);
          const name = fileNameOf(table);
          if (format === "pdf") {
            const file = await inTurn(exporting, async () =>
              printedOf(await capTablePaper(table, head, rows), table, exporting),
            );
            return { name: `${name}.pdf`, ...file };
          }
          if (format === "ocf") {
            const parent = await mkdtemp(join(tmpdir(), ARCHIVE_PREFIX));
            atEnd(() => removeFolder(parent));
            const folder = join(parent, "ocf");
            const issuer = settings.issuerOf(head.coinType);
            const request = {
              ...head,
              rows,
              issuer,
              folder,
              signal,
              lots: lots ?? "fifo",
            } as const;
            await inTurn(exporting, () => writeOcf(on, request));
            const names = (await readdir(folder)).toSorted();
            const content = zipped(filesIn(folder, names), Number(table.mark.timestampMs));
            const policy = lots === "pro-rata" ? "-pro-rata" : "";
            return {
              name: `${name}${policy}.ocf.zip`,
              contentType: "application/zip",
              body: Readable.from(content, { signal }),
            };
          }
          const of = { head, rows: inTurns(rows) };
          const labelsOf = isLabelled
            ? (page: readonly CapRow[]) => rowLabels(on, settings.labelKeys, head.coinType, page)
            : undefined;
          const made = capTableFile(table, of, format, reader, labelsOf);
          const { type: contentType, ending, pieces } = made;
          const body = Readable.from(dataOf(pieces), { signal });
          return { name: `${name}${ending}`, contentType, body };
        }),
    }),
    route({
      method: "GET",
      path: "/exports/statement",
      who,
      operationId: "exportStatement",
      summary: "A holder's statement, signed",
      description:
        "Its root is published at `/roots`, for ever. A key publishes at most `ROOTS_PER_DAY` new ones in a UTC day; then 429, and `Retry-After` is the day's end.",
      query: statementQuery,
      answer: file("The statement.", "application/json", PDF_TYPE),
      refusals: [404, 409],
      handle: (input) =>
        download(input, async (exporting) => {
          const { owner, holderId, version, format, ...moment } = input.query;
          const whose = whoseOf(owner, holderId);
          const { signal } = exporting;
          const on = readers.for(signal);
          const { table, reads: db } = await requestedTable(on, moment, findSummaries, signal);
          const key = await settings.deploymentKey();
          const register = { db, write: settings.write };
          const make = () =>
            makeStatement(register, key, table, whose, {
              tables: capTables,
              quota: { askedBy: exporting.key, perDay: settings.rootsPerDay },
              version: version === "1" ? 1 : 2,
            });
          const who = "owner" in whose ? `wallet-${whose.owner}` : `holder-${whose.holderId}`;
          if (format === "pdf") {
            // Before its root is published, which is for ever.
            if (table.decimals === null) throw new DecimalsUnknownError(table.coinType);
            const file = await inTurn(exporting, async () =>
              printedOf(statementPaper(await make(), table.symbol), table, exporting),
            );
            return { name: `statement-${nameOf(table)}-${who}.pdf`, ...file };
          }
          const statement = await make();
          return {
            name: `statement-${nameOf(table)}-${who}.json`,
            contentType: JSON_TYPE,
            body: `${JSON.stringify(statement, null, 2)}\n`,
          };
        }),
    }),
  ];
};

/** Whether a file has labels. @throws HttpError for a key that does not see them, or a file that has none */
const showsLabels = ({ seesLabels }: Key, { format, reader, labels }: Asking): boolean => {
  const isCsv = format === "csv" || format === "csv-zip";
  if (labels === undefined) return seesLabels && isCsv && reader !== "programs";
  if (!isCsv) throw new HttpError(400, "labels: only CSV has them");
  if (labels === "false") return false;
  if (seesLabels) return true;
  throw new HttpError(403, "labels: this key does not see labels (`keys create --labels`)");
};

type Asking = {
  readonly format: string;
  readonly reader: string | undefined;
  readonly labels: "true" | "false" | undefined;
};

/** Holds a slot, and work for the end, until the answer was read or the caller is gone. */
const untilEnd = ({ response, log }: Visit, slot: Slot) => {
  const works: (() => Promise<void>)[] = [];
  let isBegun = false;
  let isOver = false;
  // While the file is built, keep the slot and its resources.
  const end = () => {
    if (!isBegun || !isOver) return;
    slot.left();
    for (const work of works.splice(0)) {
      work().catch((err: unknown) => log.warn({ err }, "a download left files behind"));
    }
  };
  const over = () => {
    isOver = true;
    end();
  };
  if (response.closed || response.destroyed) isOver = true;
  else response.once("close", over);
  return {
    over,
    add: (work: () => Promise<void>) => void works.push(work),
    begun: () => {
      isBegun = true;
      end();
    },
  };
};

/** Rows converted before the event loop gets a turn: some milliseconds. */
const ROWS_PER_TURN = 500;

async function* inTurns<Row>(pages: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  for await (const page of pages) {
    for (let at = 0; at < page.length; at += ROWS_PER_TURN) {
      yield page.slice(at, at + ROWS_PER_TURN);
      await turn();
    }
  }
}

async function* dataOf<Data>(pieces: AsyncIterable<{ readonly data: Data }>): AsyncGenerator<Data> {
  for await (const { data } of pieces) yield data;
}

/** Opens each file when its turn comes. */
function* filesIn(folder: string, names: readonly string[]): Generator<Zipped> {
  for (const name of names) yield { name, content: createReadStream(join(folder, name)) };
}

/** `DEMO_A-1234`: names of types only have letters, digits and `_`. */
const nameOf = ({ coinType, mark }: TableOf): string =>
  `${/(\w+)(?:<.*)?$/.exec(coinType)?.[1] ?? "token"}-${mark.sequence}`;

const whoseOf = (owner: string | undefined, holderId: bigint | undefined): Whose => {
  if (owner !== undefined && holderId === undefined) return { owner };
  if (holderId !== undefined && owner === undefined) return { holderId };
  throw new HttpError(400, "give either owner or holderId");
};

const asRefusal = (error: unknown): unknown => {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return new HttpError(503, "this takes too long for a download: use the command instead", {
      "retry-after": "60",
    });
  }
  if (error instanceof NoRowError) return new HttpError(404, error.message);
  if (
    error instanceof ChainUnknownError ||
    error instanceof DecimalsUnknownError ||
    error instanceof OcfError ||
    error instanceof PdfTooLongError ||
    error instanceof NotYetIndexedError ||
    error instanceof QuarantinedError
  ) {
    return new HttpError(409, error.message);
  }
  if (error instanceof SignerAwayError) {
    return new HttpError(503, "the signer of statements does not answer: try again later", {
      "retry-after": "10",
    });
  }
  if (error instanceof SequenceBusyError || error instanceof RowsReplacedError) {
    return new HttpError(503, error.message, { "retry-after": "10" });
  }
  if (error instanceof RootsOfDayError) {
    return new HttpError(429, error.message, { "retry-after": `${error.retryAfterSeconds}` });
  }
  // The register is wrong: show that to the caller.
  if (
    error instanceof SupplyMismatchError ||
    error instanceof RootConflictError ||
    error instanceof SequenceLostError
  ) {
    return new HttpError(500, error.message);
  }
  return error;
};
