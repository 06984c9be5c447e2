import { Command, Option } from "commander";
import { ownDigests, readIndexedMeta } from "../audit/reconcile/own-digests.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { checkpointArgument } from "./arguments.ts";
import { openDatabase } from "./open-database.ts";
import { printJson, printLines } from "./output.ts";

type Options = { readonly pipeline?: string; readonly at?: bigint; readonly json?: boolean };

export const pipelineOption = () =>
  new Option("--pipeline <name>", "only this pipeline").choices(
    ledgerPipelines.map(({ name }) => name),
  );

/** `holderbook digest`: digests to compare with another deployment. */
export const digestCommand = () =>
  new Command("digest")
    .addOption(pipelineOption())
    .option(
      "--at <checkpoint>",
      "at the end of this checkpoint; default: the newest that all pipelines have committed",
      checkpointArgument,
    )
    .option("--json", "print one JSON document instead of text")
    .action(async ({ pipeline, at, json }: Options) => {
      await using storage = await openDatabase({ readOnly: true, spread: true });
      const on = storage.readers.for(storage.signal);
      const checkpoint = at ?? (await readIndexedMeta(on)).last;
      const chosen = ledgerPipelines.filter(({ name }) => name === (pipeline ?? name));
      const digests = await ownDigests(on, chosen, checkpoint);
      if (json) printJson({ checkpoint, digests });
      else {
        const lines = digests.map(({ pipeline: name, digest }) => `${digest}  ${name}`);
        printLines([`checkpoint ${checkpoint}`, ...lines]);
      }
    });
