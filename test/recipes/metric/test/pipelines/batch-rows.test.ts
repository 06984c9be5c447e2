import { expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { openLog } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { runPipelines } from "../../src/pipelines/runner.ts";
import { exposition } from "../../src/telemetry/exposition.ts";
import { noTelemetry } from "../../src/telemetry/telemetry.ts";
import { freshDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";
import { silent } from "./test-pipelines.ts";

test("/metrics shows the rows per batch of each pipeline", async () => {
  await using database = await freshDatabase();
  const ledger = createDemoLedger({ seed: 3 });
  const { packages } = ledger;
  const { append } = await follow(database, ledger);
  await append(
    Array.from({ length: 20 }, () => {
      const { sequence, raw } = ledger.next();
      return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
    }),
  );
  const telemetry = noTelemetry();
  await runPipelines({
    database,
    log: await openLog(database, { chainId: null, packages, firstCheckpoint: 0n }),
    pipelines: ledgerPipelines,
    bounds: { maxFacts: 1_000, maxBytes: 1_000_000 },
    last: 19n,
    signal: new AbortController().signal,
    logger: silent,
    telemetry,
  });
  const shown = exposition(telemetry.figures.look());
  for (const { name } of ledgerPipelines) {
    expect(shown).toMatch(
      new RegExp(`^holderbook_pipeline_batch_rows_count\\{pipeline="${name}"\\} \\d+$`, "m"),
    );
  }
});
