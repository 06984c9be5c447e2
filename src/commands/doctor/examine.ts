/**
 * Runs all checks. Changes nothing, and works beside a running service. Checks of the database wait
 * for its answer; the others run meanwhile. Each has a deadline, so all take at most half a minute.
 */
import { databaseRemedy } from "../../database/connect.ts";
import { createLogger } from "../../logging/logger.ts";
import type { Service } from "../../service/settings-checks.ts";
import type { Assets } from "../../settings/assets.ts";
import type { Config } from "../../settings/config.ts";
import { checkClock } from "./clock.ts";
import { checkDatabase, findDatabase, type Opened } from "./database.ts";
import { checkDisk } from "./disk.ts";
import { checkEvm } from "./evm.ts";
import { CHECKS, type Check, linesOf, type ReportLine, runCheck, type Work } from "./finding.ts";
import { checkGuided } from "./guided.ts";
import { checkIndexing } from "./indexing.ts";
import { checkKeys } from "./keys.ts";
import { type LogState, readLogState } from "./log-state.ts";
import { checkMigrations } from "./migrations.ts";
import { checkPort } from "./port.ts";
import { checkProgram } from "./program.ts";
import { checkRedis } from "./redis.ts";
import { checkReplicas } from "./replicas.ts";
import { checkSettings } from "./settings.ts";
import { compareWithLog, findLedger, type LedgerFound } from "./source.ts";
import { checkTransferAgent } from "./transfer-agent.ts";

const DATABASE = "check that the server runs and accepts connections, and DATABASE_URL or DATA_DIR";
const SOURCE = "check LEDGER_SOURCE, and that this machine can reach it";

/**
 * Returns findings in the order of the checks.
 * @param service the process that is to run here
 * @param only these checks; default all
 */
export const examine = async (
  service: Service,
  only: readonly Check[] = CHECKS,
): Promise<readonly ReportLine[]> => {
  const { config, assets, findings } = await checkSettings(service);
  const found = [...linesOf("program", checkProgram()), ...linesOf("settings", findings)];
  if (config !== undefined) {
    const isWanted = (check: Check) => only.includes(check);
    const others = await Promise.all([
      ...besideDatabase(config, assets, isWanted),
      withDatabase(config, assets, isWanted),
    ]);
    found.push(...others.flat());
  }
  // Failures that all others depend on are always shown: silence would look like health.
  const isShown = ({ check, state }: ReportLine) =>
    only.includes(check) || (state === "fail" && (check === "settings" || check === "database"));
  return CHECKS.flatMap((check) => found.filter((line) => line.check === check && isShown(line)));
};

const silent = () => createLogger({ level: "silent", remedyOf: databaseRemedy });

type IsWanted = (check: Check) => boolean;

const besideDatabase = (config: Config, assets: Assets | undefined, isWanted: IsWanted) => {
  const when = (check: Check, remedy: string, work: Work) =>
    isWanted(check) ? [runCheck(check, remedy, work)] : [];
  return [
    ...when("disk", "see DATA_DIR", () => checkDisk(config)),
    ...when("evm", "correct the tokens of ASSETS_FILE", (signal) => checkEvm(assets, signal)),
    ...when("guided", SOURCE, (signal) => checkGuided(config, silent(), signal)),
    ...when("redis", "check that Redis runs, and REDIS_URL", () => checkRedis(config)),
    ...when("transfer-agent", "correct ASSETS_FILE", () => checkTransferAgent(config, assets)),
    ...when("port", "see which program holds the port", (signal) => checkPort(config, signal)),
  ];
};

/** Checks the database and its content, and what is compared with that: source and clock. */
const withDatabase = async (
  config: Config,
  assets: Assets | undefined,
  isWanted: IsWanted,
): Promise<readonly ReportLine[]> => {
  let ledger: LedgerFound | undefined;
  const source =
    isWanted("source") || isWanted("clock")
      ? runCheck("source", SOURCE, async (signal) => {
          ledger = await findLedger(config, silent(), signal);
          return ledger.findings;
        })
      : [];
  let opened: Opened = { database: undefined, findings: [] };
  const found = [
    ...(await runCheck("database", DATABASE, async () => {
      opened = await findDatabase(config);
      return opened.database ? checkDatabase(opened.database, config) : opened.findings;
    })),
  ];
  const { database } = opened;
  let log: LogState | undefined;
  if (database !== undefined && found.some(({ state }) => state === "ok")) {
    const check = async (name: Check, work: Work) => {
      found.push(...(await runCheck(name, DATABASE, work)));
    };
    await check("database", async () => {
      log = await readLogState(database);
      return [];
    });
    await check("database", () => checkReplicas(database, config));
    await check("migrations", () => checkMigrations(database));
    if (log?.current) {
      const state = log;
      if (isWanted("indexing")) await check("indexing", () => checkIndexing(database, state));
      if (isWanted("keys")) await check("keys", () => checkKeys(database, config, assets));
    }
  }
  found.push(...(await source));
  if (ledger !== undefined) found.push(...linesOf("source", compareWithLog(ledger, log?.log)));
  found.push(...linesOf("clock", checkClock(log?.clockAheadMs, ledger?.newest)));
  // Open connections would keep the process alive; do not wait for one that hangs.
  void database?.close().catch(() => undefined);
  return found;
};
