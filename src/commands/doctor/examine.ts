/**
 * Runs all checks. Changes nothing, and works beside a running service. Checks of the database wait
 * for its answer; the others run meanwhile. Each has a deadline, so all take at most half a minute.
 */
import { databaseRemedy } from "../../database/connect.ts";
import { createLogger } from "../../logging/logger.ts";
import type { Service } from "../../service/settings-checks.ts";
import type { Assets } from "../../settings/assets.ts";
import type { Config } from "../../settings/config.ts";
import { lookAtClock } from "./clock.ts";
import { findDatabase, lookAtDatabase, type Opened } from "./database.ts";
import { lookAtDisk } from "./disk.ts";
import { lookAtEvm } from "./evm.ts";
import { CHECKS, type Check, type Finding, look } from "./finding.ts";
import { lookAtIndexing } from "./indexing.ts";
import { lookAtKeys } from "./keys.ts";
import { lookAtMigrations } from "./migrations.ts";
import { lookAtPort } from "./port.ts";
import { lookAtProgram } from "./program.ts";
import { lookAtRedis } from "./redis.ts";
import { lookAtSettings } from "./settings.ts";
import { type Asked, askSources, compareWithLog } from "./source.ts";
import { type IndexedMeta, readIndexedMeta } from "./standing.ts";
import { lookAtTransferAgent } from "./transfer-agent.ts";

const DATABASE = "check that the server runs and accepts us, and DATABASE_URL or DATA_DIR";
const SOURCE = "see whether LEDGER_SOURCE is right, and whether this machine may reach it";

/**
 * Returns findings in the order of the checks.
 * @param service the process that is to run here
 * @param only these checks; default all
 */
export const examine = async (
  service: Service,
  only: readonly Check[] = CHECKS,
): Promise<readonly Finding[]> => {
  const { config, assets, findings: settings } = await lookAtSettings(service);
  const found = [...lookAtProgram(), ...settings];
  if (config !== undefined) {
    const wanted = (check: Check) => only.includes(check);
    const looks = await Promise.all([
      ...besideDatabase(config, assets, wanted),
      withDatabase(config, assets, wanted),
    ]);
    found.push(...looks.flat());
  }
  // Failures that all others depend on are always shown: silence would look like health.
  const isShown = ({ check, state }: Finding) =>
    only.includes(check) || (state === "fail" && (check === "settings" || check === "database"));
  return CHECKS.flatMap((check) =>
    found.filter((finding) => finding.check === check && isShown(finding)),
  );
};

type Wanted = (check: Check) => boolean;

const besideDatabase = (config: Config, assets: Assets | undefined, wanted: Wanted) => {
  const when = (check: Check, remedy: string, work: Parameters<typeof look>[2]) =>
    wanted(check) ? [look(check, remedy, work)] : [];
  return [
    ...when("disk", "see DATA_DIR", () => lookAtDisk(config)),
    ...when("evm", "correct the tokens of ASSETS_FILE", (signal) => lookAtEvm(assets, signal)),
    ...when("redis", "see whether Redis runs, and REDIS_URL", () => lookAtRedis(config)),
    ...when("transfer-agent", "correct ASSETS_FILE", () => lookAtTransferAgent(config, assets)),
    ...when("port", "see what holds the port", (signal) => lookAtPort(config, signal)),
  ];
};

/** Checks the database and its content, and what is compared with that: source and clock. */
const withDatabase = async (
  config: Config,
  assets: Assets | undefined,
  wanted: Wanted,
): Promise<readonly Finding[]> => {
  let asked: Asked | undefined;
  const source =
    wanted("source") || wanted("clock")
      ? look("source", SOURCE, async (signal) => {
          const logger = createLogger({ level: "silent", remedyOf: databaseRemedy });
          asked = await askSources(config, logger, signal);
          return asked.findings;
        })
      : [];
  let opened: Opened = { database: undefined, findings: [] };
  const found = [
    ...(await look("database", DATABASE, async () => {
      opened = await findDatabase(config);
      return opened.database ? lookAtDatabase(opened.database, config) : opened.findings;
    })),
  ];
  const { database } = opened;
  const answers = database !== undefined && found.some(({ state }) => state === "ok");
  let meta: IndexedMeta | undefined;
  if (answers) {
    found.push(
      ...(await look("database", DATABASE, async () => {
        meta = await readIndexedMeta(database);
        return [];
      })),
      ...(await look("migrations", DATABASE, () => lookAtMigrations(database))),
    );
  }
  if (answers && meta?.current) {
    const known = meta;
    if (wanted("indexing")) {
      found.push(...(await look("indexing", DATABASE, () => lookAtIndexing(database, known))));
    }
    if (wanted("keys")) {
      found.push(...(await look("keys", DATABASE, () => lookAtKeys(database, config, assets))));
    }
  }
  found.push(...(await source));
  if (asked !== undefined) found.push(...compareWithLog(asked, meta?.log));
  found.push(...lookAtClock(meta?.clockAheadMs, asked?.newest));
  // Open connections would keep the process alive; do not wait for one that hangs.
  void database?.close().catch(() => undefined);
  return found;
};
