// @module-tag thorough
/** A divided backfill by processes: what is shown of it, with its jobs in Postgres and in Redis. */
import { describe, expect, test } from "vitest";
import { runCommand } from "../commands/run-command.ts";
import { startApi } from "../graphql/api.ts";
import { freePort, redisServerPath, startRedis } from "../lanes/redis-server.ts";
import { rowsOfLog } from "../log/contents.ts";
import { freshDatabase } from "../postgres.ts";
import { eventually } from "../service/process.ts";
import { backfillCommands } from "./commands.ts";
import { divideLedger } from "./divided-ledger.ts";

const redisPath = await redisServerPath();
if (redisPath === undefined) console.warn("no redis-server on this machine: its test is skipped");

const CHECKPOINTS = 300;
const BROKEN = 105n;

/** Blocks are cut as batches were. */
const CUT = ["log_blocks", "log_block_chain"];

const STATUS = `{ indexerStatus { pipeline backfill {
  at last ratePerSecond secondsLeft workers waitingRanges readRanges failedRanges failure } } }`;

describe.each([
  { queue: "Postgres", path: "" },
  { queue: "Redis", path: redisPath },
])("a divided backfill whose jobs $queue carries", ({ path }) => {
  test.skipIf(path === undefined)(
    "shows rate, time left, workers and the failed range everywhere, and makes the log of one reader",
    async () => {
      await using ledger = await divideLedger(CHECKPOINTS);
      await using alone = await freshDatabase();
      await ledger.readLog(alone);
      await using divided = await freshDatabase();
      await using redis = path ? await startRedis(path) : undefined;
      const queue: Record<string, string> = redis === undefined ? {} : { REDIS_URL: redis.url };
      await using commands = await backfillCommands(ledger, divided, queue);
      await using api = await startApi({ database: divided });
      const { object } = ledger.store.state;
      ledger.store.state.object = (at) => (at === BROKEN ? Buffer.from("broken") : object(at));
      const port = await freePort();
      const joining = commands.join(10, { METRICS_PORT: `${port}` });
      const worker = commands.work();
      const failed = {
        ...{ at: `${(BROKEN / 10n) * 10n - 1n}`, last: `${ledger.last}`, failedRanges: 1 },
        ...{ waitingRanges: 1, readRanges: (CHECKPOINTS - 110) / 10 },
      };

      const shown = await eventually("the failed range", async () => {
        const { data } = await api.query(STATUS);
        const statuses: readonly { backfill: typeof failed | null }[] = Object(data).indexerStatus;
        const [seen = null] = statuses.map(({ backfill }) => backfill);
        const isThere = seen?.failedRanges === 1 && seen.readRanges === failed.readRanges;
        return isThere ? { done: statuses } : { seen: [seen, commands.said()] };
      });
      for (const { backfill } of shown) {
        expect(backfill).toMatchObject({
          ...failed,
          workers: expect.any(Number),
          ratePerSecond: expect.any(Number),
          secondsLeft: expect.any(Number),
          failure: expect.stringMatching(/^checkpoint 100: /),
        });
      }
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(metrics).toMatch(/^holderbook_backfill_ranges\{state="failed"\} 1$/m);
      expect(metrics).toMatch(/^holderbook_backfill_workers \d+$/m);
      expect(metrics).toMatch(/^holderbook_backfill_checkpoints_per_second [\d.]*[1-9]/m);
      expect(metrics).toMatch(/^holderbook_backfill_left_seconds [1-9]\d*$/m);
      const { stdout } = await runCommand(["status"], commands.env);
      expect(stdout).toMatch(/^Backfill: at 99 of 299, \d+ per second, time left \S+/m);
      expect(stdout).toMatch(/^Backfill workers: \d+ in the last minute$/m);
      expect(stdout).toMatch(/^Failed ranges: 1; checkpoint 100: \S+/m);

      ledger.store.state.object = object;
      expect(await joining.ended, commands.said()).toBe(0);
      worker.child.kill("SIGTERM");
      expect(await worker.ended).toBe(0);
      const rows = Object.entries(await rowsOfLog(divided));
      const others = Object.entries(await rowsOfLog(alone));
      expect(rows.filter(([table]) => !CUT.includes(table))).toEqual(
        others.filter(([table]) => !CUT.includes(table)),
      );
      const after = await runCommand(["status", "--json"], commands.env);
      expect(after.stdout).not.toContain("backfill");
    },
    180_000,
  );
});
