import { Command, Option } from "commander";
import { isAllDemo } from "../service/demo.ts";
import { keptStartKey, makeDemoLink } from "../service/kept-keys.ts";
import { ratioArgument, urlArgument, wholeNumberArgument } from "./arguments.ts";
import { printLines, printMessages } from "./output.ts";
import { redrawnLine } from "./progress-line.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

type WriteOptions = {
  readonly dir: string;
  readonly checkpoints: number;
  readonly seed: string;
  readonly format: "chk" | "binpb";
  readonly investors: number;
  readonly noise: number;
};

/** `holderbook demo`: a simulated issuer's ledger as files, and links to a running demo's page. */
export const demoCommand = async () => {
  const { DEFAULT_INVESTORS, DEFAULT_NOISE, FIRST_INVESTORS, writeDemoLedger } = await import(
    "../../demo/write.ts"
  );
  const write = new Command("write")
    .description(
      "write checkpoints and a ledger.json that names their packages; the same seed gives the same bytes",
    )
    .requiredOption("--dir <folder>", "folder to write; created if missing")
    .requiredOption(
      "--checkpoints <number>",
      "number of checkpoints",
      wholeNumberArgument(1, 10_000_000),
    )
    .requiredOption("--seed <text>", "any text")
    .addOption(
      new Option(
        "--format <format>",
        "chk: BCS; binpb: zstd-compressed protobuf, as object stores keep it",
      )
        .choices(["chk", "binpb"])
        .default("chk"),
    )
    .option(
      "--investors <number>",
      "final number of investors",
      wholeNumberArgument(FIRST_INVESTORS, 1_000_000),
      DEFAULT_INVESTORS,
    )
    .option(
      "--noise <ratio>",
      "share of unrelated transactions, 0 to 1",
      ratioArgument(1),
      DEFAULT_NOISE,
    )
    .action(async (options: WriteOptions) => {
      const { draw, clear } = redrawnLine(process.stderr.isTTY ? process.stderr : undefined);
      await writeDemoLedger({
        ...options,
        onProgress: (written) => draw(`${written} of ${options.checkpoints} checkpoints`),
      });
      clear();
      printMessages(`wrote ${options.checkpoints} checkpoints and ledger.json to ${options.dir}`);
    });
  const link = new Command("link")
    .description("print a new link that opens the page of a running demo signed in; it works once")
    .option(
      "--url <url>",
      "URL of the service; default: this machine, at PORT",
      urlArgument("http://localhost:4000"),
    )
    .action(printDemoLink);
  return new Command("demo").addCommand(write).addCommand(link);
};

/** Prints another link to a running demo's page. */
const printDemoLink = async ({ url }: { readonly url?: URL }): Promise<void> => {
  const { config } = await openRuntime();
  if (!isAllDemo(config)) {
    throw new UsageError(
      "only the demo ledger has such links; elsewhere, sign in to the page with a key",
    );
  }
  if ((await keptStartKey(config)) === undefined) {
    throw new UsageError("the demo has not started yet: run `npm start` first");
  }
  const { port } = config;
  if (url === undefined && port === 0) {
    throw new UsageError("PORT is 0: say where the service listens, with --url http://localhost:…");
  }
  const link = await makeDemoLink(config, url?.origin ?? `http://localhost:${port}`);
  printMessages("this link signs in once; earlier links are no longer valid");
  printLines([link]);
};
