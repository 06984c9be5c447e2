/** Progress of catching up: a redrawn line on a terminal, log lines elsewhere. */
import type { ReaderState } from "../ledger/reading/progress.ts";
import { type Logger, logFormat } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import { type BulkProgress, bulkLines } from "../values/bulk-progress.ts";
import { duration } from "../values/seconds.ts";

export type CatchUp = {
  /** `opening` and `standby` read nothing: there is no progress to show. */
  readonly state: ReaderState;
  readonly next: bigint;
  /** Newest checkpoint of the ledger; null while unknown. */
  readonly tip: bigint | null;
  readonly checkpointsPerSecond: number;
  readonly factsPerSecond: number;
  /** Checkpoints between the two. */
  readonly lag: bigint | null;
  /** Time to the tip at this rate; null when unknown or there. */
  readonly etaSeconds: number | null;
} & Partial<BulkProgress>;

/** Catching up starts at this many checkpoints behind the tip. */
const BEHIND = 20n;

const LOG_EVERY_MS = 5_000;

export const DRAW_EVERY_MS = 200;

/** The terminal, if its log lines are readable: redrawing would garble lines of JSON. */
export const progressTerminal = (
  config: Pick<Config, "logFormat">,
): NodeJS.WriteStream | undefined =>
  process.stderr.isTTY && logFormat(config.logFormat) === "pretty" ? process.stderr : undefined;

const CLEAR = "\r\u001b[2K";

/** A line that is drawn again and again; nothing off a terminal. */
export const redrawnLine = (terminal: NodeJS.WriteStream | undefined) => {
  let drawn = false;
  return {
    draw: (text: string) => {
      terminal?.write(`${CLEAR}${text.slice(0, Math.max(20, (terminal.columns ?? 80) - 1))}`);
      drawn = true;
    },
    clear: () => {
      if (drawn) terminal?.write(CLEAR);
      drawn = false;
    },
  };
};

/** Shows reports at a limited rate. */
export const progressLine = (logger: Logger, terminal: NodeJS.WriteStream | undefined) => {
  let shownAt = 0;
  let behind = false;
  let standby = false;
  const { draw, clear } = redrawnLine(terminal);
  return {
    report: (now: CatchUp) => {
      if (now.state === "standby" && !standby) {
        clear();
        logger.info("another process reads this ledger; standing by to take over");
      }
      standby = now.state === "standby";
      if (standby || now.state === "opening") return;
      const catchingUp = now.lag !== null && now.lag > BEHIND;
      if (!catchingUp) {
        clear();
        if (behind) logger.info({ checkpoint: reachedBy(now) }, "caught up with the ledger");
        behind = false;
        return;
      }
      const pause = terminal ? DRAW_EVERY_MS : LOG_EVERY_MS;
      if (behind && Date.now() - shownAt < pause) return;
      behind = true;
      shownAt = Date.now();
      const { guided = null, backfill = null } = now;
      if (terminal) {
        const bulk = bulkLines({ guided, backfill }).map((line) => line.join(": "));
        draw(bulk.length > 0 ? bulk.join(" · ") : lineOf(now));
      } else if (guided !== null) logger.info(guided, "reading guided");
      else if (backfill !== null) logger.info(backfill, "appending what workers read");
      else {
        logger.info(
          {
            checkpoint: reachedBy(now),
            tip: String(now.tip),
            checkpointsPerSecond: Math.round(now.checkpointsPerSecond),
            factsPerSecond: Math.round(now.factsPerSecond),
            lag: String(now.lag),
            etaSeconds: now.etaSeconds === null ? null : Math.round(now.etaSeconds),
          },
          "catching up",
        );
      }
    },
    clear,
  };
};

/** Last read checkpoint, decimal; null before the first. */
const reachedBy = ({ next }: CatchUp): string | null => (next === 0n ? null : String(next - 1n));

const lineOf = (now: CatchUp) => {
  const { tip, checkpointsPerSecond, factsPerSecond, lag, etaSeconds } = now;
  return [
    `checkpoint ${reachedBy(now) ?? "none"} of ${tip ?? "?"}`,
    `${Math.round(checkpointsPerSecond).toLocaleString("en")}/s`,
    `${Math.round(factsPerSecond).toLocaleString("en")} facts/s`,
    `lag ${lag?.toLocaleString("en") ?? "?"}`,
    `ETA ${etaSeconds === null ? "unknown" : duration(etaSeconds)}`,
  ].join(" · ");
};
