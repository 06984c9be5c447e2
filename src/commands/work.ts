import { availableParallelism } from "node:os";
import { Command } from "commander";
import { watchProcess } from "../telemetry/process-figures.ts";
import { wholeNumberArgument } from "./arguments.ts";
import { shownFigures } from "./shown-figures.ts";

/** `holderbook work`: helps another process with what it divides into jobs. */
export const workCommand = () =>
  new Command("work").addCommand(
    new Command("backfill")
      .description("read ranges of checkpoints for `holderbook backfill --from`, until ended")
      .option(
        "--threads <count>",
        "threads that read at the same time; by default one per core",
        wholeNumberArgument(1, 64),
      )
      .addHelpText(
        "after",
        "\nRuns on any machine with the same LEDGER_SOURCE, DATABASE_URL and REDIS_URL, in any number. It appends\n" +
          "nothing itself, and may be killed at any time. See docs/how-to/scale.md.",
      )
      .action(async ({ threads = availableParallelism() }: { readonly threads?: number }) => {
        const { workBackfill } = await import("../service/backfill.ts");
        const { openRuntime } = await import("./runtime.ts");
        const runtime = await openRuntime("indexing");
        const { config, logger, telemetry } = runtime;
        await using _shown = await shownFigures(config, telemetry, logger);
        using _watched = watchProcess(telemetry.figures, { process: "indexing" });
        await workBackfill(runtime, threads);
      }),
  );
