/** The interfaces of this process on one port. */
import type { Assets } from "../assets.ts";
import { publicKeyList } from "../callbacks/signing-keys.ts";
import type { Config } from "../config.ts";
import { migrationsPending } from "../database/migrate.ts";
import { graphqlPart } from "../graphql/part.ts";
import { detailsOf, watchHealth } from "../http/health.ts";
import { createMetrics } from "../http/metrics.ts";
import type { Part } from "../http/part.ts";
import { databaseProgress, type LocalProgress } from "../http/progress.ts";
import { createRateLimit } from "../http/rate-limit.ts";
import { createServer } from "../http/server.ts";
import type { Logger } from "../logger.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { createRareLines } from "../rare-lines.ts";
import { restPart } from "../rest/part.ts";
import { projectsOf } from "../rest/projects.ts";
import { VERSION } from "../version.ts";
import type { EvmService } from "./evm.ts";
import { evmGauges } from "./evm-gauges.ts";
import { evmDetails } from "./evm-health.ts";
import type { Storage } from "./storage.ts";
import { taDetails, taMetrics } from "./ta-health.ts";
import { taRequests } from "./ta-requests.ts";

/** Attempts a minute without a good key from one address; a person mistypes, a guesser does not stop. */
const ATTEMPTS_PER_MINUTE = 60;

export type Serving = AsyncDisposable & {
  /** Where it listens, `http://host:port`. */
  readonly url: string;
};

export type ServingSettings = {
  readonly config: Config;
  readonly logger: Logger;
  readonly storage: Storage;
  readonly assets: Assets;
  /** Only this interface; absent: all of them. */
  readonly only?: Part["name"] | undefined;
  /** Addresses of the security-token package, original first. */
  readonly packages: readonly string[];
  /** What this process knows of the ledger, when it reads it. */
  readonly local?: (() => LocalProgress) | undefined;
  /** What this process knows of EVM chains, when it reads them. */
  readonly evm?: EvmService | undefined;
};

/** Listens on the configured port and answers until disposed of; requests under way are finished. */
export const startServing = async (settings: ServingSettings): Promise<Serving> => {
  const { config, logger, storage, packages, assets, only, local, evm } = settings;
  const projects = projectsOf(assets);
  const rarely = createRareLines();
  const health = watchHealth({
    progress: databaseProgress(storage.read.db, ledgerPipelines, local),
    details: detailsOf(
      evmDetails({ db: storage.read.db, projects, local: evm }),
      taDetails({ db: storage.read.db, assets }),
    ),
    version: VERSION,
    onError: (err) =>
      rarely(`${err}`, (repeats) =>
        logger.warn({ err, ...repeats }, "cannot tell how far the pipelines are"),
      ),
  });
  const limits = () => ({
    limit: createRateLimit({
      policy: "default",
      quota: config.rateLimitPerMinute,
      windowSeconds: 60,
    }),
    attempts: createRateLimit({
      policy: "attempts",
      quota: ATTEMPTS_PER_MINUTE,
      windowSeconds: 60,
      counted: "failed attempts",
    }),
  });
  const { db } = storage.read;
  // Its keys are the business of processes that serve it.
  const ta =
    only === undefined || only === "ta"
      ? await taRequests({ config, storage, assets, limits: limits() })
      : undefined;
  const parts = [
    graphqlPart({
      sources: { db, packages, pipelines: ledgerPipelines, now: Date.now },
      limits: limits(),
    }),
    restPart({
      db,
      projects,
      version: VERSION,
      others: only === undefined && ta !== undefined ? [ta.description] : [],
      callbackKeys: ta === undefined ? publicKeyList(db) : undefined,
      limits: limits(),
    }),
    ...(ta === undefined ? [] : [ta.part]),
  ].filter(({ name }) => only === undefined || name === only);
  const metrics = createMetrics(health);
  evmGauges(metrics.registry, health);
  taMetrics(metrics.registry, { health, db });
  const server = await createServer({
    parts,
    logger,
    version: VERSION,
    health,
    metrics,
    unready: async () => {
      const pending = await migrationsPending(storage.read);
      return pending === 0 ? null : `${pending} database migrations are not applied`;
    },
    trustProxy: config.trustProxy,
  });
  const close = async () => {
    await server.close();
    await health[Symbol.asyncDispose]();
  };
  try {
    const url = await server.listen({ port: config.port, host: config.host });
    return { url, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
};
