/**
 * Integrity checks of stored data, signed with the deployment's key where it can be opened, and
 * retention.
 */

import type { Proof } from "../audit/complete/prove.ts";
import { SequenceKeyError } from "../audit/sequence/sequence.ts";
import { completenessCheck } from "../audit/watch/completeness-check.ts";
import { dailyRoots } from "../audit/watch/daily-roots.ts";
import { logCheck } from "../audit/watch/log-check.ts";
import { rowsCheck } from "../audit/watch/rows-check.ts";
import { sumsCheck } from "../audit/watch/sums-check.ts";
import { watchOver } from "../audit/watch/watch.ts";
import { acceptedBytecode } from "../ledger/contract/bytecode.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import type { Config } from "../settings/config.ts";
import { ConfigError } from "../settings/config-error.ts";
import { type ConfiguredKey, configuredKey } from "./configured-keys.ts";
import { openLedgerIndex, openWitness } from "./ledger-index.ts";
import { type Ledger, verificationOf } from "./ledger-source.ts";
import type { Process } from "./process.ts";
import type { ProcessNotes } from "./process-notes.ts";
import { retention } from "./retention.ts";
import type { Storage } from "./storage.ts";

/** What a proof of completeness asks; the ledger's own source stays open. */
const openProof = async (
  config: Config,
  { source, committee }: Pick<Ledger, "source" | "committee">,
  logger: Logger,
) => {
  const index = config.indexSource === undefined ? null : await openLedgerIndex(config, logger);
  const witness = (await openWitness(config, logger)) ?? null;
  return {
    ...{ source, index, witness },
    verification: verificationOf(config, committee),
    accepted: acceptedBytecode(config.contractBytecode),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([index?.close(), witness?.close()]);
    },
  };
};

const logProof = (logger: Logger, { through, coins }: Proof): void => {
  const checkpoint = `${through.sequence}`;
  for (const { coinType, verdict, gaps, unknownCode, notShown } of coins) {
    const [wrong] = [...gaps, ...unknownCode];
    if (wrong !== undefined) {
      const { objectId, version, what } = wrong;
      const serving =
        gaps.length > 0 ? "served as in quarantine" : "served, but not as proven complete";
      const details = { coinType, checkpoint, objectId, version: `${version}`, what };
      logger.error(details, `this token is incomplete, and ${serving}`);
    } else if (verdict === "complete") {
      logger.info({ coinType, checkpoint }, "no transaction of this token is missing");
    } else {
      logger.warn({ coinType, checkpoint, notShown }, "completeness could not be shown");
    }
  }
};

/** The key, or the reason why this process cannot sign. */
const openedKey = async (keeping: ConfiguredKey, storage: Pick<Storage, "write">) => {
  try {
    return { key: await keeping.open(storage) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { why: error };
  }
};

/**
 * Starts the checks; disposal stops them and waits for what is under way.
 * @param settings.giveUp called when entries of the sequence are lost: end the process
 */
export const startWatch = async (
  settings: Pick<Process, "config" | "logger" | "telemetry"> & {
    readonly storage: Pick<Storage, "write">;
    readonly ledger: Pick<Ledger, "source" | "committee">;
    readonly notes: Pick<ProcessNotes, "watchSigning">;
    readonly giveUp: (error: Error) => void;
  },
): Promise<AsyncDisposable> => {
  const { config, logger, telemetry, storage, ledger, notes, giveUp } = settings;
  const { figures } = telemetry;
  const rarely = createRareLines();
  const ending = new AbortController();
  const keeping = configuredKey(config);
  const { key, why: err } = await openedKey(keeping, storage);
  if (err !== undefined) logger.warn({ err }, "heads of the log are not signed");
  let stopped = err && { reason: err.message, sinceMs: Date.now() };
  notes.watchSigning(() => stopped ?? keeping.signer?.trouble());
  const onFault = (coinType: string, err: Error) =>
    logger.error({ err, coinType }, "no daily root of this token was signed");
  const pruning = retention({ config, logger, figures });
  const watching = watchOver(
    {
      database: storage.write,
      key,
      checks: [
        logCheck(),
        sumsCheck(),
        ...(config.reconcileSeconds === 0 ? [] : [rowsCheck(config.reconcileSeconds)]),
        ...(key === undefined ? [] : [dailyRoots({ key, onFault })]),
        ...(pruning === undefined ? [] : [pruning]),
        completenessCheck({
          key,
          open: () => openProof(config, ledger, logger),
          onProved: (proof) => logProof(logger, proof),
          signal: ending.signal,
        }),
      ],
      // Changing the database does not change the log line.
      onSigned: ({ checkpoint, hash, signature, keyId }) =>
        logger.info(
          { checkpoint: `${checkpoint}`, hash, signature, keyId },
          "signed the log's head",
        ),
      onTrouble: (err) => {
        // A successor key exists: this process signs nothing until restarted.
        if (err instanceof SequenceKeyError) {
          stopped ??= { reason: err.message, sinceMs: Date.now() };
        }
        rarely(err.message, (repeats) =>
          logger.warn({ err, ...repeats }, "cannot check, sign or remove stored data"),
        );
      },
    },
    ending.signal,
  ).catch(giveUp);
  return {
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await watching;
    },
  };
};
