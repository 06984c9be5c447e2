import { Command, InvalidArgumentError, Option } from "commander";
import { amountText } from "../audit/amount-text.ts";
import type { TableOf } from "../audit/cap-table-json.ts";
import { openDeploymentKey } from "../audit/deployment-key.ts";
import { writePack } from "../audit/pack.ts";
import { readAgain } from "../audit/pack-again.ts";
import type { Outcome } from "../audit/pack-check.ts";
import { openPack } from "../audit/pack-files.ts";
import type { Manifest, PackHead } from "../audit/pack-form.ts";
import { verifyPack } from "../audit/pack-verify.ts";
import type { Db } from "../database/connect.ts";
import { type Asked, checkpointOf, markOf } from "../graphql/past.ts";
import type { RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../ledger/decode/decode.ts";
import { patientSource } from "../ledger/reading/patient-source.ts";
import { committeeFrom, readTrusted, type TrustedCheckpoint } from "../ledger/reading/trust.ts";
import type { CheckpointSource } from "../ledger/sources/source.ts";
import { factSource } from "../log/log.ts";
import { guardedReads } from "../projections/guarded-reads.ts";
import { ALL } from "../projections/needed.ts";
import { token } from "../projections/tokens.ts";
import { callbackMasterKey } from "../service/callback-master-key.ts";
import { openStorage } from "../service/storage.ts";
import { keyArgument, retryForOption } from "./arguments.ts";
import { coinOption, dateArgument, tableAt, tableReads } from "./cap-table-at.ts";
import { patience } from "./named-source.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

type Options = {
  readonly coin?: string;
  readonly from?: Asked;
  readonly to?: Asked;
  readonly out?: string;
  readonly opening: PackHead["opening"];
  readonly holderNames?: string;
  readonly retryFor: number;
};

/** `holderbook audit-pack`: a register at two moments with what proves it, for an auditor to keep. */
export const auditPackCommand = () =>
  new Command("audit-pack")
    // Mandatory for this command alone: its sub-command has none of them.
    .addOption(coinOption().makeOptionMandatory(false))
    .option(
      "--from <moment>",
      "checkpoint, date, or date and time of the first register",
      dateArgument,
    )
    .option("--to <moment>", "the same of the last register", dateArgument)
    .option("--out <folder>", "the folder to write, absent or empty")
    .addOption(
      new Option(
        "--opening <how>",
        "how the first register stands: proven by the checkpoints that it came from, or as signed",
      )
        .choices(["proven", "signed"])
        .default("proven"),
    )
    .option(
      "--holder-names <file>",
      "the issuer's file of holders' names: its hash becomes part of the pack",
    )
    .addOption(retryForOption())
    .addHelpText("after", "\nA date without a time ends at 24:00 UTC.")
    .action(async (options: Options) => {
      const { coin, from, to, out } = options;
      if (coin === undefined || from === undefined || to === undefined || out === undefined) {
        throw new UsageError("a pack takes --coin, --from, --to and --out");
      }
      const outcome = await make({ ...options, coin, from, to, out });
      process.stdout.write(`${out}: ${inWords(outcome).join("\n")}\n`);
    })
    .addCommand(verifyCommand());

const make = async ({
  coin,
  from,
  to,
  out,
  opening,
  holderNames,
  retryFor,
}: Options & { coin: string; from: Asked; to: Asked; out: string }): Promise<Outcome> => {
  const { config, logger, signal } = await openRuntime();
  await using storage = await openStorage(config, logger, { tables: "current" });
  const database = storage.write;
  const masterKey = await callbackMasterKey(config, { existing: true });
  const key = await openDeploymentKey(database, masterKey);
  const last = await tableAt(tableReads(database.db), coin, to);
  const first = await firstTable(database.db, last, from);
  if (first.mark.sequence >= last.mark.sequence) {
    throw new UsageError(
      `--from is checkpoint ${first.mark.sequence}, and --to ${last.mark.sequence}: there is nothing between`,
    );
  }
  const { packages } = await factSource(database).highWater();
  const { openLedgerSource } = await import("../service/ledger-source.ts");
  const verify = { ...config.verify, level: "signatures" as const };
  const { source: asked, demo } = await openLedgerSource({ ...config, verify }, logger);
  const source = patientSource(asked, { ...patience(retryFor, logger), check: whole });
  await using _closing = { [Symbol.asyncDispose]: () => source.close() };
  // Where several are listed: they have to be of one chain.
  await source.chainId(signal);
  await assertReaches(source, last.mark.sequence, signal);
  const file = config.verify.committeeFile;
  const committee = file === undefined ? demo?.source.committee : await committeeFrom(file);
  const request = { first, last, packages, source, committee, opening, holderNames, folder: out };
  return await writePack(database, key, request, signal);
};

/** A register from before the token was seen has no rows. */
const firstTable = async (
  db: Db,
  { coinType, decimals }: TableOf,
  from: Asked,
): Promise<TableOf> => {
  const checkpoint = await checkpointOf(guardedReads(db, ALL), from);
  const seen = await token(db, { coinType, at: checkpoint });
  const mark = await markOf(db, checkpoint);
  return { coinType, decimals, mark, totalSupply: seen?.totalSupply ?? null };
};

type VerifyOptions = {
  readonly committeeFrom?: string;
  readonly trust?: TrustedCheckpoint;
  readonly key?: string;
  readonly source?: string;
  readonly retryFor: number;
};

/** Reads nothing but the folder, and the committee where one is given: no settings, no database. */
const verifyCommand = () =>
  new Command("verify")
    .description("check a pack: no database, no settings and no network are needed")
    .argument("<folder>", "the pack")
    .option(
      "--committee-from <file>",
      "the committee that it must begin with: a committee file (.json), or a checkpoint file that ends an epoch",
    )
    .option(
      "--trust <checkpoint>",
      "the checkpoint that must name that committee: its digest, or NUMBER:DIGEST",
      (text: string) => {
        const trusted = readTrusted(text);
        if (trusted !== null) return trusted;
        throw new InvalidArgumentError("It must be a digest in base58.");
      },
    )
    .option(
      "--key <base64>",
      "the deployment's public key, as you know it from elsewhere",
      keyArgument,
    )
    .option(
      "--source <url>",
      "read all checkpoints between the two again, from anywhere: then none can have been left out",
    )
    .addOption(retryForOption())
    .action(async (folder: string, options: VerifyOptions) => {
      const { committeeFrom: path, trust, key, source, retryFor } = options;
      const committee = path === undefined ? undefined : await committeeFrom(path);
      const known = { committee, trusted: trust, publicKey: key };
      const { manifest, outcome } = await verifyPack(folder, known);
      const lines = [
        `the pack holds: ${manifest.coinType}, checkpoints ${manifest.first.checkpoint} to ${manifest.last.checkpoint}`,
        ...inWords(outcome),
        ...compared(manifest, known),
        source === undefined
          ? "not read again: the checkpoints between, of which the pack has those that concern the token; --source does that"
          : `${await readFrom(source, folder, manifest, retryFor)} checkpoints were read again: the pack leaves none of them out that concerns the token`,
      ];
      process.stdout.write(`${lines.join("\n")}\n`);
    });

const readFrom = async (
  setting: string,
  folder: string,
  manifest: Manifest,
  forMs: number,
): Promise<bigint> => {
  const { openSource } = await import("../ledger/sources/open-source.ts");
  const { signal } = new AbortController();
  const onTrouble = ({ message }: Error, pauseMs: number) =>
    process.stderr.write(`${message}; asking again in ${pauseMs} ms\n`);
  const source = patientSource(openSource(setting), { forMs, check: whole, onTrouble });
  try {
    await assertReaches(source, manifest.last.checkpoint, signal);
    return await readAgain(await openPack(folder), manifest, source, signal);
  } finally {
    await source.close();
  }
};

/** Refuses bytes that are not what they say. */
const whole = (raw: RawCheckpoint): void => void decodeCheckpoint(raw, () => false);

/** A source would wait for what it does not have yet. */
const assertReaches = async (source: CheckpointSource, last: bigint, signal: AbortSignal) => {
  const newest = await source.latest(signal);
  if (newest !== null && newest >= last) return;
  throw new UsageError(
    `${source.description} has no checkpoint ${last}; its newest is ${newest ?? "not there"}`,
  );
};

const rowsIn = ({ head: { holderCount, issued, decimals } }: Outcome["first"]): string =>
  `${holderCount} rows of ${amountText(issued, decimals)}`;

const inWords = (outcome: Outcome): readonly string[] => [
  `${outcome.signatures} signatures of validators, ${outcome.facts} facts in ${outcome.transactions} transactions, ${outcome.movements} movements`,
  `the first register has ${rowsIn(outcome.first)}, the last ${rowsIn(outcome.last)}, root ${outcome.last.head.root}`,
  `${outcome.standingProven} of the ${outcome.standing} objects, memberships and roles of the first register are proven by checkpoints`,
];

/** What was compared with something from elsewhere, and what was not. */
const compared = (
  { trust, publicKey, packages }: Manifest,
  known: { committee?: unknown; trusted?: unknown; publicKey?: unknown },
): readonly string[] => [
  known.committee === undefined && known.trusted === undefined
    ? `not compared: the validators that all signatures follow from, those of epoch ${trust.epoch}${trust.digest === null ? "" : `, as checkpoint ${trust.checkpoint} of digest ${trust.digest} names them`}. Give them with --committee-from, or that digest with --trust`
    : `the signatures follow from the validators given, those of epoch ${trust.epoch}`,
  known.publicKey === undefined
    ? `signed with ${publicKey}, the key in the pack itself: that shows only that nothing was changed since. Give the key that you know with --key`
    : "it is signed with the key given",
  `compare the addresses of the contract with those you know: ${packages.join(", ")}`,
];
