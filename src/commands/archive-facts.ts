/** `holderbook archive detach` and `archive attach`: old facts leave the database, and come back. */
import { Command } from "commander";
import { attachFacts } from "../archive/attach-facts.ts";
import { detachFacts } from "../archive/detach-facts.ts";
import { lockExports } from "../archive/export-lock.ts";
import { blockersInWords } from "../database/brief-locks.ts";
import { jsonOption, progress } from "./archive-output.ts";
import { checkpointArgument } from "./arguments.ts";
import { openDatabase } from "./open-database.ts";
import { printJson, printLines } from "./output.ts";

type Options = { readonly dir: string; readonly json?: boolean };

export const detachCommand = () =>
  new Command("detach")
    .description(
      "take old facts out of the database, which an archive has; docs/how-to/archive-facts.md",
    )
    .requiredOption("--dir <folder>", "folder of the archive, as archive export wrote it")
    .requiredOption(
      "--before <checkpoint>",
      "first checkpoint whose facts stay: where a partition ends, a multiple of ten million",
      checkpointArgument,
    )
    .addOption(jsonOption())
    .action(async ({ dir, before, json }: Options & { readonly before: bigint }) => {
      await using opened = await openDatabase({ by: "owner" });
      const { write, signal, logger } = opened;
      await using _lock = await lockExports(write, signal);
      await using session = await write.session();
      const { onProgress, line } = progress(opened, "reading back");
      const { partitions, facts } = await detachFacts({
        ...{ on: session, folder: dir, before, signal, onProgress },
        onBlocked: (blockers) => logger.warn(blockersInWords(blockers)),
      });
      line.clear();
      if (json) return printJson({ folder: dir, before, facts, partitions: partitions.length });
      printLines([
        `${facts} facts of ${partitions.length} partitions are in ${dir} alone now; those from checkpoint ${before} on are here`,
        "keep the folder: `holderbook archive attach` brings them back from it",
      ]);
    });

export const attachCommand = () =>
  new Command("attach")
    .description("bring archived facts back into the database")
    .requiredOption("--dir <folder>", "folder of the archive")
    .addOption(jsonOption())
    .action(async ({ dir, json }: Options) => {
      await using opened = await openDatabase({ by: "owner" });
      const { write, signal } = opened;
      await using _lock = await lockExports(write, signal);
      await using session = await write.session();
      const { onProgress, line } = progress(opened, "attaching");
      const attached = await attachFacts({ on: session, folder: dir, signal, onProgress });
      line.clear();
      const parts = attached.map(({ first, before, facts }) => ({
        first,
        last: before - 1n,
        facts,
      }));
      if (json) return printJson({ folder: dir, partitions: parts });
      printLines(
        parts.map(
          ({ first, last, facts }) => `checkpoints ${first} to ${last}: ${facts} facts are back`,
        ),
      );
    });
