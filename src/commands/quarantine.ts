import { Argument, Command, Option } from "commander";
import { acting } from "../audit/sequence/acts.ts";
import type { LogFault } from "../log/chain.ts";
import { checkStretch } from "../log/check-chain.ts";
import { factSource } from "../log/log.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import type { Pipeline } from "../pipelines/pipeline.ts";
import { lockWatermark } from "../pipelines/release.ts";
import { heldCoins, releaseHeld, waitingFacts } from "../pipelines/release-held.ts";
import type { HeldCoin } from "../projections/held-coins.ts";
import { COMPLETENESS } from "../projections/incomplete-coins.ts";
import { noteResolution, noteRetry, readQuarantines } from "../projections/quarantines.ts";
import { canonicalType } from "../values/move-type.ts";
import { byOption, moveArgument, reasonArgument } from "./arguments.ts";
import { type OpenDatabase, openDatabase } from "./open-database.ts";
import { jsonOption, printJson, printLines, printMessages } from "./output.ts";
import { type EvmName, isEvmName, namedEvm, resolveEvm, retryEvm } from "./quarantine-evm.ts";
import { type Listed, lineOf, linesOf, notRetried, placeInWords } from "./quarantine-lines.ts";
import { UsageError } from "./usage.ts";

/** `holderbook quarantine`: tokens with a fact that cannot be applied, and incomplete ones. */
export const quarantineCommand = () =>
  new Command("quarantine")
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(retryCommand())
    .addCommand(resolveCommand());

const coinArgument = () =>
  new Argument("<coin>", "coin type of the token; of an EVM token CHAIN:ADDRESS").argParser(
    (text) => (isEvmName(text.toLowerCase()) ? text.toLowerCase() : coinType(text)),
  );

const coinType = moveArgument(canonicalType);

const pipelineOption = () =>
  new Option("--pipeline <name>", "only in this one (default: all that hold it)").choices(
    ledgerPipelines.map(({ name }) => name),
  );

const listCommand = () =>
  new Command("list")
    .description("list the tokens in quarantine, and the incomplete ones")
    .option("--all", "also those that were released")
    .addOption(jsonOption())
    .action(async ({ all = false, json = false }: { all?: boolean; json?: boolean }) => {
      await using opened = await openDatabase({ readOnly: true });
      const listed = await listedOf(opened, { ended: all });
      if (json) return printJson(listed);
      printLines(listed.map(lineOf));
      if (listed.length === 0) printMessages("no token is in quarantine");
    });

const showCommand = () =>
  new Command("show")
    .description("show all quarantines of a token, those that ended included")
    .addArgument(coinArgument())
    .addOption(jsonOption())
    .action(async (coinType: string, { json = false }: { json?: boolean }) => {
      await using opened = await openDatabase({ readOnly: true });
      const listed = await listedOf(opened, { coinType, ended: true });
      if (json) return printJson(listed);
      printLines(listed.flatMap(linesOf));
      if (listed.length === 0) printMessages(`${coinType} never was in quarantine`);
    });

type Retried = { readonly pipeline?: string };

const retryCommand = () =>
  new Command("retry")
    .description("apply a token's facts again, and release it if all can be applied")
    .addArgument(coinArgument())
    .addOption(pipelineOption())
    .addHelpText("after", RETRY_CODES)
    .action(async (coinType: string, { pipeline }: Retried) => {
      await using opened = await openDatabase();
      if (isEvmName(coinType)) {
        if (!(await retryEvm(opened, onlyName(coinType, pipeline)))) process.exitCode = 1;
        return;
      }
      for (const holding of await holdingOf(opened, coinType, pipeline)) {
        await noteIn(opened, holding);
        if ((await appliedAgain(opened, holding)) !== null) process.exitCode = 1;
      }
      const incomplete = await incompleteNow(opened, coinType);
      if (incomplete !== undefined) printMessages(notRetried(incomplete));
    });

const RETRY_CODES = `
Exit codes: 0 the token is released, 1 a fact still cannot be applied, 2 wrong usage.`;

type Resolved = Retried & { readonly by: string; readonly because: string };

const resolveCommand = () =>
  new Command("resolve")
    .description(
      "leave out the fact that holds a token, for ever, and apply those after it: for a fact that no version can apply",
    )
    .addArgument(coinArgument())
    .addOption(pipelineOption())
    .addOption(byOption("who decides so; stands in audit packs").makeOptionMandatory())
    .addOption(
      new Option("--because <text>", "why the fact may be left out; stands in audit packs")
        .argParser(reasonArgument)
        .makeOptionMandatory(),
    )
    .addHelpText("after", RETRY_CODES)
    .action(async (coinType: string, { pipeline, ...why }: Resolved) => {
      await using opened = await openDatabase();
      if (isEvmName(coinType)) {
        if (!(await resolveEvm(opened, onlyName(coinType, pipeline), why))) process.exitCode = 1;
        return;
      }
      for (const holding of await holdingOf(opened, coinType, pipeline)) {
        // This version may apply it, which makes it no fact to leave out.
        const held = await appliedAgain(opened, holding);
        if (held === null) continue;
        await leaveOut(opened, { ...holding, held }, why);
        if ((await appliedAgain(opened, holding)) !== null) process.exitCode = 1;
      }
    });

/** @throws UsageError when a pipeline is named, too */
const onlyName = (name: EvmName, pipeline: string | undefined): EvmName => {
  if (pipeline === undefined) return name;
  throw new UsageError("--pipeline is for coins: an EVM token has one, in each of its projects");
};

/** A pipeline that holds the token. */
type Holding = {
  readonly pipeline: Pipeline;
  readonly coinType: string;
  readonly held: HeldCoin;
};

/** @throws UsageError when none does */
const holdingOf = async (
  opened: OpenDatabase,
  coinType: string,
  only: string | undefined,
): Promise<readonly Holding[]> => {
  const holding: Holding[] = [];
  for (const pipeline of ledgerPipelines) {
    const held = (await heldCoins(opened.write, pipeline)).get(coinType);
    const isMeant = only === undefined || only === pipeline.name;
    if (held !== undefined && isMeant) holding.push({ pipeline, coinType, held });
  }
  if (holding.length > 0) return holding;
  const incomplete = await incompleteNow(opened, coinType);
  if (incomplete !== undefined) throw new UsageError(notRetried(incomplete));
  const where = only === undefined ? "" : ` of ${only}`;
  throw new UsageError(`${coinType} is not in quarantine${where}: see \`quarantine list\``);
};

const incompleteNow = async ({ write }: OpenDatabase, coinType: string) =>
  (await readQuarantines(write.db, { coinType })).find(({ pipeline }) => pipeline === COMPLETENESS);

const noteIn = ({ write }: OpenDatabase, { pipeline, coinType, held }: Holding): Promise<void> =>
  acting(write, async ({ sql }) => {
    await noteRetry(sql, pipeline.name, coinType, held);
    const details = { pipeline: pipeline.name };
    return [undefined, { command: "quarantine retry", details, on: { coinType } }];
  });

/** Applies the token's facts again; returns why it is held on, else null. */
const appliedAgain = async (
  { write, signal, config }: OpenDatabase,
  { pipeline, coinType }: Holding,
): Promise<HeldCoin | null> => {
  let heldOn: HeldCoin | null = null;
  await releaseHeld({
    ...{ database: write, log: factSource(write), pipeline, coinType, signal },
    maxFacts: config.batchFacts,
    maxBytes: config.batchBytes,
    onTried: (_, found) => {
      heldOn = found;
    },
  });
  printLines([`${pipeline.name}: ${outcomeOf(heldOn)}`]);
  return heldOn;
};

const outcomeOf = (held: HeldCoin | null): string =>
  held === null ? "released" : `still held from checkpoint ${held.from} on: ${held.reason}`;

/**
 * The database refused several facts of a checkpoint together, which is the rows' fault. Nothing was changed. Stop: make
 * the rows again with `rebuild` or `replay --swap`.
 */
export class NoFactToLeaveOutError extends Error {
  override readonly name = "NoFactToLeaveOutError";
  readonly remedy = "stop";

  constructor({ pipeline, held }: Holding) {
    super(
      `${pipeline.name}: no single fact of checkpoint ${held.from} is to blame (${held.reason}): make the rows again with \`replay --swap\` or \`rebuild\``,
    );
  }
}

/**
 * The log's row does not fit its hash chain, so that the ledger may have another fact. Nothing was changed. Stop: mend
 * the log with `verify --log --mend`, and give `quarantine retry`.
 */
export class DamagedFactError extends Error {
  override readonly name = "DamagedFactError";
  readonly remedy = "stop";

  constructor({ checkpoint, what }: LogFault) {
    super(
      `the log is damaged at checkpoint ${checkpoint} (${what}): mend it with \`verify --log --mend\`, and give \`quarantine retry\`, before a fact is left out for ever`,
    );
  }
}

/** @throws NoFactToLeaveOutError (stop), DamagedFactError (stop) */
const leaveOut = async (
  { write }: OpenDatabase,
  holding: Holding,
  { by, because }: Pick<Resolved, "by" | "because">,
): Promise<void> => {
  const { pipeline, coinType, held } = holding;
  const { fact } = held;
  if (fact === null) throw new NoFactToLeaveOutError(holding);
  const { fault } = await checkStretch(write.sql, fact.checkpoint - 1n);
  if (fault?.checkpoint === fact.checkpoint) throw new DamagedFactError(fault);
  await acting(write, async (tx) => {
    await lockWatermark(tx, pipeline);
    const now = (await heldCoins(tx, pipeline)).get(coinType)?.fact;
    if (!now || placeInWords(now) !== placeInWords(fact)) {
      throw new UsageError(
        `${pipeline.name}: another fact holds ${coinType} now, or none does: see \`quarantine list\``,
      );
    }
    await noteResolution(tx.sql, pipeline.name, coinType, fact, { by, because });
    const { checkpoint, transaction, kind, index, type, txDigest } = fact;
    const place = { checkpoint: `${checkpoint}`, transaction: `${transaction}`, index: `${index}` };
    const details = {
      pipeline: pipeline.name,
      ...place,
      kind,
      type,
      digest: txDigest,
      by,
      because,
    };
    return [undefined, { command: "quarantine resolve", details, on: { coinType } }];
  });
  printLines([`${pipeline.name}: left out for ever: ${placeInWords(fact)}`]);
};

const listedOf = async (
  opened: OpenDatabase,
  which: { readonly coinType?: string; readonly ended: boolean },
): Promise<readonly Listed[]> => {
  const { read } = opened;
  const all = await readQuarantines(read.db, which);
  const evm = all.filter(({ coinType }) => isEvmName(coinType));
  const listed: Listed[] = [];
  for (const one of all.filter((each) => !evm.includes(each))) {
    const pipeline = ledgerPipelines.find(({ name }) => name === one.pipeline);
    const held = pipeline && (await heldCoins(read, pipeline)).get(one.coinType);
    const isOver = one.released !== null || pipeline === undefined || held === undefined;
    const waiting = isOver ? null : `${await waitingFacts(read, pipeline, one.coinType, held)}`;
    listed.push({ ...one, waiting });
  }
  return evm.length === 0 ? listed : [...listed, ...(await namedEvm(opened, evm))];
};
