/** EVM in this process: a reader per chain, and the pipeline that makes records of logs. */

import { type Database, databaseRetries } from "../database/connect.ts";
import { acquireWriterLock } from "../database/writer-lock.ts";
import type { FollowSettings, followChain } from "../evm/chain/follow.ts";
import type { Address } from "../evm/contract/fact.ts";
import { type EvmNetwork, networksOf } from "../evm/contract/network.ts";
import { noteChain } from "../evm/log/chain-notes.ts";
import type { EndpointRequest } from "../evm/rpc/endpoint.ts";
import { endpointHealth, endpointWarnings } from "../evm/rpc/endpoint-health.ts";
import type { Fleet, openFleet } from "../evm/rpc/fleet.ts";
import type { Trouble } from "../http/health/progress.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import type { Assets, EvmToken } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import type { Figures } from "../telemetry/figures.ts";
import type { TransferEventsStatus } from "../transfers/run.ts";
import { transferScopes } from "../transfers/scopes.ts";
import { type Backoff, pause } from "../waiting/backoff.ts";
import { type Deadline, withinDeadline } from "../waiting/deadline.ts";
import { followingAbort } from "../waiting/following-abort.ts";
import { errorOf } from "../waiting/remedy.ts";
import { retrying } from "../waiting/retrying.ts";
import { type ChainReading, type EvmReading, recordsKey } from "./health/snapshot.ts";

/** Disposal stops reading and waits for what is under way. */
export type EvmService = AsyncDisposable & {
  readonly networks: readonly EvmNetwork[];
  /** By chain id; only chains in trouble. */
  readonly troubles: ReadonlyMap<number, Trouble>;
  readonly rpcs: ReadonlyMap<number, Fleet>;
  /** Doubts about tokens, by chain id, then address. */
  readonly doubts: ReadonlyMap<number, ReadonlyMap<Address, readonly string[]>>;
  /** This process's records by project and chain. */
  readonly statuses: ReadonlyMap<string, TransferEventsStatus>;
};

type EvmSettings = {
  readonly config: Pick<Config, "evmPollMs">;
  readonly logger: Logger;
  readonly figures?: Figures | undefined;
  readonly database: Database;
  readonly assets: Assets;
  readonly signal: AbortSignal;
  /** Shorter retries, for tests. */
  readonly rpc?: Parameters<typeof openFleet>[2];
  readonly check?: FollowSettings["check"];
};

/**
 * Starts reading every configured chain; does nothing without EVM tokens. The projects' callback
 * addresses must be registered.
 * @throws NetworkSettingsError (stop) for an unusable assets file
 */
export const startEvm = async (settings: EvmSettings): Promise<EvmService> => {
  const { config, logger, figures, database, assets } = settings;
  const disposed = new AbortController();
  const signal = AbortSignal.any([settings.signal, disposed.signal]);
  const tokens = assets.projects.flatMap((project) =>
    project.tokens.filter((token) => token.ledger === "evm"),
  );
  const networks = networksOf(tokens);
  const scopes = transferScopes(assets);

  const troubles = new Map<number, Trouble>();
  const statuses = new Map<string, TransferEventsStatus>();
  const doubts = new Map<number, Map<Address, readonly string[]>>();
  const rpcs = new Map<number, Fleet>();
  const known = { networks, troubles, rpcs, doubts, statuses };
  if (tokens.length === 0) return { ...known, [Symbol.asyncDispose]: async () => undefined };
  // Large modules, loaded only for a configured chain.
  const { followChain } = await import("../evm/chain/follow.ts");
  const { openFleet } = await import("../evm/rpc/fleet.ts");
  const { runTransferEvents } = await import("../transfers/run.ts");
  const readers = networks.map((network) => {
    const { chainId, name, rpc: urls } = network;
    const rpc = openFleet(chainId, urls, {
      ...settings.rpc,
      onRequest: figures && countRequest(figures, chainId),
      onSetAside: endpointWarnings(logger, { chainId, network: name }),
      // A long wait is trouble, even if nothing has failed for good.
      onNoneUsable: (error) =>
        troubles.set(chainId, { gaveUp: false, reason: errorOf(error).message }),
    });
    rpcs.set(chainId, rpc);
    const own = new Map<Address, readonly string[]>();
    doubts.set(chainId, own);
    const { evmPollMs: pollMs } = config;
    const reading = { ...settings, network, rpc, troubles, doubts: own, pollMs };
    return readChain(reading, followChain, signal);
  });
  const pipeline =
    scopes.length === 0
      ? undefined
      : runTransferEvents({
          database,
          scopes,
          logger,
          signal,
          onStatus: (status) => statuses.set(recordsKey(status.project, status.chainId), status),
        });
  const ended = Promise.all([...readers, pipeline]);
  return {
    ...known,
    [Symbol.asyncDispose]: async () => {
      disposed.abort();
      await ended;
    },
  };
};

const countRequest =
  (figures: Figures, chainId: number) =>
  ({ endpoint, calls, seconds, failure }: EndpointRequest): void => {
    const of = { chain: `${chainId}`, endpoint };
    figures.observe("holderbook_evm_rpc_request_seconds", of, seconds);
    figures.count("holderbook_evm_rpc_calls_total", of, calls);
    if (failure !== undefined) {
      figures.count("holderbook_evm_rpc_errors_total", { ...of, reason: failure });
    }
  };

/**
 * The part of `/health` that is not in the database.
 * @param nowMs milliseconds since the Unix epoch
 */
export const evmReading = (evm: EvmService, nowMs: number): EvmReading => ({
  chains: new Map(
    [...evm.rpcs].map(([chainId, rpc]) => {
      const [trouble, doubts] = [evm.troubles.get(chainId), evm.doubts.get(chainId)];
      return [chainId, chainReading({ rpc, trouble, doubts: doubts ?? new Map() }, nowMs)];
    }),
  ),
  records: new Map(
    [...evm.statuses].flatMap(([key, { reason, state }]) =>
      reason === null ? [] : [[key, { gaveUp: state === "stopped", reason }]],
    ),
  ),
});

const chainReading = (
  { rpc, ...known }: Omit<ChainReading, "endpoints"> & { readonly rpc: Fleet },
  nowMs: number,
): ChainReading => ({
  ...known,
  endpoints: rpc.status().map((each) => endpointHealth(each, nowMs)),
});

type Reading = Pick<EvmSettings, "database" | "logger" | "check"> & {
  readonly network: EvmNetwork;
  readonly rpc: Fleet;
  readonly troubles: Map<number, Trouble>;
  readonly doubts: Map<Address, readonly string[]>;
  readonly pollMs: number;
};

const BACKOFF: Backoff = { firstMs: 500, maxMs: 10_000 };

/** Reads one chain under its lock; never rejects, so that other chains continue. */
const readChain = async (
  reading: Reading,
  follow: typeof followChain,
  signal: AbortSignal,
): Promise<void> => {
  const { network, rpc, database, logger, troubles, pollMs } = reading;
  const { chainId, name } = network;
  const where = { chainId, network: name };
  const rarely = createRareLines();
  const notes = openChainNotes(database, chainId, () =>
    chainReading({ rpc, trouble: troubles.get(chainId), doubts: reading.doubts }, Date.now()),
  );
  const attempt = async (progressed: () => void): Promise<void> => {
    // `follow` returns when the lock is lost: acquire it again.
    while (!signal.aborted) {
      await using lock = await acquireWriterLock(database, `evm chain ${chainId}`, {
        signal,
        onStandby: () => logger.info(where, "another process reads this chain; standing by"),
      });
      progressed();
      logger.info({ ...where, tokens: network.tokens.length }, "reading an EVM chain");
      const held = AbortSignal.any([signal, lock.session.lost]);
      await using _notes = notes.keep(held);
      await follow(
        {
          database,
          network,
          rpc,
          // A chain without transactions may have no new block for hours.
          reader: { pollMs, onQuiet: () => troubles.delete(chainId) },
          onBatch: ({ rollback }) => {
            troubles.delete(chainId);
            if (rollback?.belowFinal) {
              logger.warn(
                { ...where, toBlock: `${rollback.toBlock}`, finality: network.finality },
                "the chain replaced blocks that were final by its setting: callbacks may have been sent for them; raise finality",
              );
            }
          },
          onError: (err, pauseMs) => {
            troubles.set(chainId, { gaveUp: false, reason: err.message });
            rarely(`read ${err.message}`, (repeats) =>
              logger.warn({ ...where, err, pauseMs, ...repeats }, "cannot read; trying again"),
            );
          },
          onUndescribed: (err, pauseMs) =>
            rarely(`name ${err.message}`, (repeats) =>
              logger.warn(
                { ...where, err, pauseMs, ...repeats },
                "cannot ask a token for its name; trying again",
              ),
            ),
          check: { ...reading.check, onChecked: (...checked) => keepDoubts(reading, ...checked) },
        },
        held,
      );
    }
  };
  // The database failed before `follow` began, which handles later failures itself.
  const onTrouble = (error: Error) => {
    troubles.set(chainId, { gaveUp: false, reason: error.message });
  };
  try {
    await retrying(attempt, { backoff: BACKOFF, ...databaseRetries, onTrouble }, signal);
  } catch (error) {
    troubles.set(chainId, { gaveUp: true, reason: errorOf(error).message });
    logger.error({ ...where, err: error }, "reading an EVM chain stopped");
    await notes.last();
  }
};

/** Keeps a token's doubts for the health report, and logs new ones. */
const keepDoubts = (
  { network: { chainId, name }, logger, doubts }: Reading,
  { address }: EvmToken,
  found: readonly string[],
) => {
  const known = doubts.has(address);
  if (found.length === 0) doubts.delete(address);
  else doubts.set(address, found);
  if (found.length > 0 && !known) {
    logger.warn(
      { chainId, network: name, doubts: found },
      "a token's log does not match its contract",
    );
  }
};

type ChainNotes = {
  /** Writes a note every few seconds until disposed or aborted. Never rejects. */
  keep(signal: AbortSignal): AsyncDisposable;
  /** Writes a last note. Never rejects. */
  last(): Promise<void>;
};

const NOTE_EVERY_MS = 5_000;

/** Bounds the end of the process while the database is gone. */
const LAST_NOTE: Deadline = { ms: 2_000 };

const openChainNotes = (
  database: Pick<Database, "sql">,
  chainId: number,
  reading: () => ChainReading,
): ChainNotes => {
  const note = async () => {
    const { trouble, endpoints, doubts } = reading();
    await noteChain(database, { chainId, trouble, endpoints, doubts });
  };
  // Its users report an unavailable database; the next note comes soon.
  const ended = (noted: Promise<void>) => withinDeadline(noted, LAST_NOTE).catch(() => undefined);
  return {
    keep: (signal) => {
      const own = followingAbort(signal);
      const keeping = async () => {
        while (!own.signal.aborted) {
          await note().catch(() => undefined);
          await pause(NOTE_EVERY_MS, own.signal);
        }
      };
      const kept = keeping();
      return {
        [Symbol.asyncDispose]: async () => {
          own[Symbol.dispose]();
          await ended(kept);
        },
      };
    },
    last: () => ended(note()),
  };
};
