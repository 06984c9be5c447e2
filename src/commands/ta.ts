import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Command } from "commander";
import { type SignedHeaders, signRequest } from "../../client/index.ts";
import { parseStrictJson } from "../settings/strict-json.ts";
import { wholeNumberArgument } from "./arguments.ts";
import { jsonOption, printLines } from "./output.ts";
import { UsageError } from "./usage.ts";

/** `holderbook ta`: for callers and operators of the transfer agent API. */
export const taCommand = () =>
  new Command("ta")
    .addCommand(signCommand())
    .addCommand(requestsCommand())
    .addCommand(requestCommand());

const requestsCommand = () =>
  new Command("requests")
    .description(
      "list requests, newest first, and what each waits for: JSON, one per line, without investors",
    )
    .option("--asset <name>", "only those for this asset")
    .option("--wallet <address>", "only those for this wallet, which is not printed")
    .option("--investor <id>", "only those of this investor, who is not printed")
    .option("--open", "only those that are not final, oldest first")
    .option("--limit <n>", "maximum number", wholeNumberArgument(1, 10_000), 100)
    .addOption(jsonOption())
    .action(async (options: ListOptions) =>
      (await import("./ta-requests.ts")).listRequests(options),
    );

type ListOptions = {
  readonly asset?: string;
  readonly wallet?: string;
  readonly investor?: string;
  readonly open?: boolean;
  readonly limit: number;
  readonly json?: boolean;
};

const requestCommand = () =>
  new Command("request")
    .description("show a request with its history, as JSON, without personal data")
    .argument("<id>", "requestId of the request")
    .action(async (id: string) => (await import("./ta-requests.ts")).showRequest(id));

type SignOptions = {
  readonly key: string;
  readonly get?: string;
  readonly post?: string;
  readonly idempotencyKey?: string;
};

const signCommand = () =>
  new Command("sign")
    .description("sign a request: prints its headers, one per line, for `curl -H @-`")
    .argument("[body]", "file with the JSON body to post; - for standard input")
    .requiredOption("--key <file>", "output of `keys create --kind ta`, or the secret key alone")
    .option(
      "--post <path>",
      "path to post to, such as /api/v1/investor/kyc: binds the signature to path, time and Idempotency-Key, valid for 300 s. Without it only the body is signed, and the signature never expires",
    )
    .option("--idempotency-key <key>", "Idempotency-Key to sign and send (with --post)")
    .option("--get <path>", "sign a GET of this path and query instead, such as /api/v1/callbacks")
    .addHelpText(
      "after",
      `
Examples:
  holderbook ta sign --key key.json --post /api/v1/investor/whitelist body.json |
    curl -H @- --data-binary @body.json http://localhost:4000/api/v1/investor/whitelist
  holderbook ta sign --key key.json --get /api/v1/callbacks |
    curl -H @- http://localhost:4000/api/v1/callbacks`,
    )
    .action(async (body: string | undefined, options: SignOptions) => {
      const { key, get, post, idempotencyKey } = options;
      if ((body === undefined) === (get === undefined)) {
        throw new UsageError("give the file of the body to post, or --get <path>");
      }
      if (get !== undefined && post !== undefined) {
        throw new UsageError("give --post <path> with a body, or --get <path> without one");
      }
      if (idempotencyKey !== undefined && post === undefined) {
        throw new UsageError("--idempotency-key needs --post <path>, which signs it");
      }
      for (const path of [get, post]) {
        if (path?.startsWith("/") !== false) continue;
        throw new UsageError(
          `${path} is not a path; paths begin with /, such as /api/v1/callbacks`,
        );
      }
      const secretKey = secretKeyIn(await readFile(key, "utf8"));
      if (get !== undefined) {
        return print(signRequest({ secretKey, method: "GET", path: get }).headers);
      }
      const bytes =
        body === "-" ? Buffer.from(await text(process.stdin)) : await readFile(body ?? "");
      const value = parseStrictJson(bytes);
      const signed =
        post === undefined
          ? signRequest({ secretKey, body: value })
          : signRequest({ secretKey, body: value, path: post, idempotencyKey });
      print(signed.headers);
    });

/** From the printed pair, or the key itself. */
const secretKeyIn = (content: string): string => {
  const found = /"secretKey"\s*:\s*"([^"]+)"/.exec(content);
  return found?.[1] ?? content.trim();
};

const print = (headers: SignedHeaders) => {
  printLines(Object.entries(headers).map(([name, value]) => `${name}: ${value}`));
};
