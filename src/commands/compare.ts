import { readFile } from "node:fs/promises";
import { Command, InvalidArgumentError, Option } from "commander";
import { type Comparison, compareDeployments } from "../audit/compare.ts";
import { otherDeployment } from "../audit/other-deployment.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { LAYOUT } from "../pipelines/pipeline.ts";
import { openStorage } from "../service/storage.ts";
import { VERSION } from "../version.ts";
import { checkpointArgument } from "./arguments.ts";
import { pipelineOption } from "./digest.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

type Options = {
  readonly key?: string;
  readonly keyFile?: string;
  readonly pipeline?: string;
  readonly through?: bigint;
  readonly json?: boolean;
};

/** `holderbook compare`: from which checkpoint on another deployment differs. Exit code 1 when it does. */
export const compareCommand = () =>
  new Command("compare")
    .argument("<url>", "where the other deployment serves GraphQL", urlArgument)
    .addOption(
      new Option(
        "--key <key>",
        "a key of kind graphql there; others on this machine may see it: better --key-file or the environment",
      ).env("HOLDERBOOK_COMPARE_KEY"),
    )
    .option("--key-file <file>", "read the key from a file")
    .addOption(pipelineOption())
    .option(
      "--through <checkpoint>",
      "compare up to here; up to the newest that both have unless given",
      checkpointArgument,
    )
    .option("--json", "one JSON document instead of text")
    .action(async (url: URL, { key, keyFile, pipeline, through, json }: Options) => {
      const secret = keyFile === undefined ? key : (await readFile(keyFile, "utf8")).trim();
      if (secret === undefined || secret === "") {
        throw new UsageError(
          "give a key of the other deployment: --key-file or HOLDERBOOK_COMPARE_KEY",
        );
      }
      const { config, logger, signal } = await openRuntime();
      await using storage = await openStorage(config, logger, {
        tables: "current",
        readOnly: true,
      });
      const compared = await compareDeployments(
        storage.read.db,
        otherDeployment(url, secret, signal),
        {
          pipelines: ledgerPipelines.filter(({ name }) => name === (pipeline ?? name)),
          through,
          version: VERSION,
          layout: LAYOUT,
        },
      );
      process.stdout.write(`${json ? asJson(compared) : inWords(compared)}\n`);
      if (compared.differences.length > 0) process.exitCode = 1;
    });

const urlArgument = (text: string): URL => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError("It must be an address, such as https://register.example.com");
  }
  return url;
};

const inWords = ({ through, differences, notes }: Comparison): string =>
  differences.length === 0
    ? `identical through checkpoint ${through}`
    : [
        ...differences.map(
          ({ pipeline, checkpoint, here, there }) =>
            `${pipeline} differs from checkpoint ${checkpoint} on: ${here} here, ${there} there`,
        ),
        `compared through checkpoint ${through}`,
        ...notes,
      ].join("\n");

const asJson = ({ through, differences, notes }: Comparison): string =>
  JSON.stringify({
    identical: differences.length === 0,
    through: `${through}`,
    differences: differences.map((each) => ({ ...each, checkpoint: `${each.checkpoint}` })),
    notes,
  });
