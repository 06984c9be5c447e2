import { readFile, stat } from "node:fs/promises";
import { Command, Option } from "commander";
import { type CompletenessCertificate, certificateFaults } from "../../client/completeness.ts";
import { isFormed, isPlain } from "../../client/forms.ts";
import type { Db } from "../database/connect.ts";
import { assertFree } from "../evidence/exports/new-folder.ts";
import type { PackHead } from "../evidence/pack/form.ts";
import { writePack } from "../evidence/pack/write.ts";
import { type AsOf, checkpointOf, markOf } from "../graphql/past.ts";
import { committeeFrom } from "../ledger/reading/trust.ts";
import { factSource } from "../log/log.ts";
import { askingFor, createAsking } from "../projections/asking.ts";
import type { TableOf } from "../projections/cap-table-json.ts";
import { guardedReads } from "../projections/guarded-reads.ts";
import { inQuarantine } from "../projections/held-coins.ts";
import { ALL } from "../projections/needed.ts";
import { readWatermarks } from "../projections/read-watermarks.ts";
import { token } from "../projections/tokens.ts";
import { configuredKey } from "../service/configured-keys.ts";
import { retryForOption } from "./arguments.ts";
import { assertOutside, papersCommand, SAMPLE } from "./audit-pack-papers.ts";
import { inWords, verifyCommand, whole } from "./audit-pack-verify.ts";
import { coinOption, dateArgument, tableAt } from "./cap-table-at.ts";
import { openDatabase } from "./open-database.ts";
import { printLines } from "./output.ts";
import { assertReaches, openNamedSource, retried } from "./sources.ts";
import { UsageError } from "./usage.ts";

type Options = {
  readonly coin?: string;
  readonly from?: AsOf;
  readonly to?: AsOf;
  readonly out?: string;
  readonly opening: PackHead["opening"];
  readonly holderNames?: string;
  readonly certificate?: string;
  /** False disables them. */
  readonly papers?: string | false;
  readonly retryFor: number;
};

/** `holderbook audit-pack`: a register at two moments with its proofs, for an auditor. */
export const auditPackCommand = () =>
  new Command("audit-pack")
    // Checked later, because the sub-command has no such options.
    .addOption(coinOption().makeOptionMandatory(false))
    .option(
      "--from <moment>",
      "the first register: checkpoint, date, or date and time",
      dateArgument,
    )
    .option("--to <moment>", "the last register, in the same form", dateArgument)
    .option("--out <folder>", "folder to write; must be absent or empty")
    .addOption(
      new Option(
        "--opening <how>",
        "basis of the first register: every fact of the token so far, proofs by the checkpoints that its parts date from, or its signature alone",
      )
        .choices(["whole", "proven", "signed"])
        .default("whole"),
    )
    .option(
      "--holder-names <file>",
      "the issuer's file of holders' names; only its hash becomes part of the pack",
    )
    .option(
      "--certificate <file>",
      "output of `prove complete --json` through the checkpoint of --to; the pack then also has later checkpoints that found its objects unchanged",
    )
    .option(
      "--papers <folder>",
      "folder for the working papers; default: the pack's name followed by -papers",
    )
    .option("--no-papers", "write no working papers")
    .addOption(retryForOption())
    .addHelpText("after", "\nA date without a time ends at 24:00 UTC.")
    .action(async (options: Options) => {
      const { coin, from, to, out } = options;
      if (coin === undefined || from === undefined || to === undefined || out === undefined) {
        throw new UsageError("a pack needs --coin, --from, --to and --out");
      }
      const { papers = `${out.replace(/[/\\]+$/, "")}-papers` } = options;
      await assertFree(out);
      if (papers !== false) {
        assertOutside(out, papers);
        await assertFree(papers);
      }
      const { outcome, withoutDigests } = await make({ ...options, coin, from, to, out });
      const [held, ...rest] = inWords(outcome);
      printLines([`${out}: ${held}`, ...rest, ...withoutDigests]);
      if (papers === false) return;
      // From the pack alone, so that every reader gets the same papers.
      const { writePapers } = await import("../evidence/papers/write.ts");
      await writePapers(out, papers, { sample: SAMPLE, confirm: [], given: [] });
      printLines([`${papers}: working papers`]);
    })
    .addCommand(verifyCommand())
    .addCommand(papersCommand());

const make = async ({
  coin,
  from,
  to,
  out,
  opening,
  holderNames,
  certificate: certificateFile,
  retryFor,
}: Options & { coin: string; from: AsOf; to: AsOf; out: string }) => {
  if (certificateFile !== undefined && opening !== "whole") {
    throw new UsageError("--certificate needs --opening whole");
  }
  await using storage = await openDatabase();
  const { config, logger, signal, write: database } = storage;
  const key = await configuredKey(config, { existing: true }).open(storage);
  const { table: last } = await tableAt(database.db, coin, to, createAsking(database));
  const first = await askingFor(createAsking(database), () => firstTable(database.db, last, from));
  if (first.mark.sequence >= last.mark.sequence) {
    throw new UsageError(
      `--from (checkpoint ${first.mark.sequence}) must be before --to (checkpoint ${last.mark.sequence})`,
    );
  }
  const certificate =
    certificateFile === undefined
      ? undefined
      : await certificateFrom(certificateFile, last.coinType, last.mark.sequence);
  const { packages } = await factSource(database).highWater();
  const verify = { ...config.verify, level: "signatures" as const };
  const { source: asked, demo } = await openNamedSource({ ...config, verify }, undefined, logger);
  const source = retried(asked, logger, { forMs: retryFor, check: whole });
  await using _closing = { [Symbol.asyncDispose]: () => source.close() };
  // Several listed sources have to be of one chain.
  await source.chainId(signal);
  await assertReaches(source, last.mark.sequence, signal);
  const file = config.verify.committeeFile;
  const committee = file === undefined ? demo?.source.committee : await committeeFrom(file);
  const basis = { packages, source, committee, opening, holderNames, certificate };
  const request = { first, last, ...basis, folder: out };
  const outcome = await writePack(database, key, request, signal);
  return { outcome, withoutDigests: await withoutDigestsIn(database.db, last) };
};

const LONGEST_CERTIFICATES = 2 ** 26;

/**
 * The certificate of a token in the output of `prove complete --json`, or in a file of its own. Any
 * spacing will do: the pack has the canonical form.
 */
const certificateFrom = async (
  path: string,
  coinType: string,
  last: bigint,
): Promise<CompletenessCertificate> => {
  const refuse = (why: string) => new UsageError(`--certificate: ${path} ${why}`);
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size === 0 || size > LONGEST_CERTIFICATES) throw refuse(`has ${size} bytes`);
  let json: unknown;
  try {
    json = JSON.parse(await readFile(path, "utf8"));
  } catch {
    throw refuse("is not JSON");
  }
  const all = isPlain(json) && Array.isArray(json.certificates) ? json.certificates : [json];
  const found: CompletenessCertificate[] = [];
  for (const one of all) {
    const faults = certificateFaults(one);
    if (!isFormed<CompletenessCertificate>(one, faults)) {
      throw refuse(`is no certificate of completeness: ${faults[0]}`);
    }
    found.push(one);
  }
  const named = ({ coinType: of, through }: CompletenessCertificate) =>
    `${of} through checkpoint ${through.checkpoint}`;
  const own = found.find(
    (one) => one.coinType === coinType && one.through.checkpoint === `${last}`,
  );
  if (own !== undefined) return own;
  throw refuse(
    `has no certificate of ${coinType} through checkpoint ${last}, the last one of the pack, but ${found.map(named).join(", ") || "none"}: run \`holderbook prove complete --coin ${coinType} --through ${last} --json\``,
  );
};

/** Pipelines whose digests the pack lacks, because they hold another token. */
const withoutDigestsIn = async (db: Db, { mark }: TableOf): Promise<readonly string[]> =>
  (await readWatermarks(db, ALL)).pipelines.flatMap(({ pipeline, quarantined }) =>
    quarantined
      .filter(({ from }) => from <= mark.sequence)
      .map((held) => `without a digest of ${pipeline}: ${inQuarantine(held)}`),
  );

/** Before the token was first seen the register is empty. */
const firstTable = async (
  db: Db,
  { coinType, decimals }: TableOf,
  from: AsOf,
): Promise<TableOf> => {
  const on = guardedReads(db, ALL).ofCoin(coinType);
  const checkpoint = await checkpointOf(on, from);
  const seen = await token(on.at(checkpoint), { coinType, at: checkpoint });
  const mark = await markOf(db, checkpoint);
  return { coinType, decimals, mark, totalSupply: seen?.totalSupply ?? null };
};
