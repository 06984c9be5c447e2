import { Command } from "commander";
import type { RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../ledger/decode/decode.ts";
import { canonicalJson, checkDigests } from "../ledger/reading/inspect.ts";
import { readCheckpointFile } from "../ledger/sources/chk-file.ts";
import { printJson, printJsonText } from "./output.ts";
import { openRuntime, type Runtime } from "./runtime.ts";
import { assertNotBeyond } from "./sources.ts";
import { UsageError } from "./usage.ts";

/** `holderbook inspect`: one checkpoint's content, as JSON on standard output. */
export const inspectCommand = () =>
  new Command("inspect")
    .argument("<file-or-sequence>", "a .chk or .binpb.zst file, or a checkpoint number")
    .option("--check", "recompute every digest instead, and report the mismatches")
    .action(async (what: string, { check }: { readonly check?: boolean }) => {
      const raw = /^\d+$/.test(what)
        ? await fetchOne(await openRuntime(), BigInt(what))
        : await readCheckpointFile(what);
      if (check) {
        const report = checkDigests(raw);
        printJson(report);
        if (report.wrong.length > 0) process.exitCode = 1;
      } else {
        printJsonText(canonicalJson(decodeCheckpoint(raw)));
      }
    });

const fetchOne = async (
  { config, logger, signal }: Runtime,
  sequence: bigint,
): Promise<RawCheckpoint> => {
  // Loaded here: a file needs no source.
  const { openLedgerSource } = await import("../service/ledger-source.ts");
  const { source } = await openLedgerSource(config, logger);
  try {
    await assertNotBeyond(source, sequence, signal);
    for await (const raw of source.checkpoints({ first: sequence, last: sequence }, signal))
      return raw;
    throw new UsageError(`${source.description} has no checkpoint ${sequence}`);
  } finally {
    await source.close();
  }
};
