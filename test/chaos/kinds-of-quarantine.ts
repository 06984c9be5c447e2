/** Rows of one token that Postgres refuses for a while: the token is held, and an operator releases it. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sharedTokenObjectsPipeline } from "../../src/pipelines/shared-token-objects.ts";
import { readWatermarks } from "../../src/projections/read-watermarks.ts";
import { until } from "../lanes/until.ts";
import { securityTokens } from "../log/contents.ts";
import { acceptChanges, refuseChangesOf } from "../projections/damage.ts";
import { runProgram } from "../service/process.ts";
import type { FaultKind } from "./fault.ts";
import { oneOf } from "./lasting.ts";

/** A process may be starting, and tries held tokens then. */
const WITHIN_MS = 60_000;
/** Every token moves within some checkpoints. */
const HELD_WITHIN_MS = 60_000;
/** Checkpoints that the reader may gain before the rows are refused. */
const AHEAD = 10n;
/** Checkpoints that the others go on for meanwhile. */
const BESIDE = 10n;

const heldToken: FaultKind = {
  name: "a token in quarantine, and a retry",
  withinMs: WITHIN_MS,
  strike: async (world, random) => {
    const { database, ledger, marks, health, settings, postgres } = world;
    // Requests of the transfer agent wait for the register of theirs.
    const others = (await securityTokens(database)).filter((coin) => coin !== ledger.coinType);
    const coin = oneOf(random, others[0] ?? "", ...others.slice(1));
    await refuseChangesOf(database, coin, ledger.newest() + AHEAD);
    const held = async () => {
      const { pipelines } = await readWatermarks(database.db, [sharedTokenObjectsPipeline]);
      return pipelines.flatMap(({ quarantined }) => quarantined.map(({ coinType }) => coinType));
    };
    await until("a token in quarantine", held, (coins) => coins.includes(coin), HELD_WITHIN_MS);
    const goal = marks.lowest() + BESIDE;
    await until(
      "all other tokens beyond, and health that names the held one and is ok",
      () => ({ left: `${goal - marks.lowest()}`, seen: health.start.last() }),
      ({ left, seen: { status, text } }) =>
        BigInt(left) <= 0n && status === "ok" && text.includes(coin),
      HELD_WITHIN_MS,
    );
    return {
      what: coin,
      end: async () => {
        await acceptChanges(database);
        const { code, stdout, stderr } = await runProgram(["quarantine", "retry", coin], {
          ...settings,
          DATABASE_URL: postgres.url,
          DATA_DIR: join(tmpdir(), "holderbook-quarantine"),
        });
        if (code !== 0) throw new Error(`the retry ended with ${code}: ${stdout}${stderr}`);
      },
    };
  },
};

export const quarantineKinds: readonly FaultKind[] = [heldToken];
