import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Command } from "commander";
import { type SignedHeaders, signRequest } from "../client/index.mjs";
import { parseStrictJson } from "../ta/strict-json.ts";
import { wholeNumberArgument } from "./arguments.ts";
import { UsageError } from "./usage.ts";

/** `holderbook ta`: for callers of the transfer agent API, and for who runs it. */
export const taCommand = () =>
  new Command("ta")
    .addCommand(signCommand())
    .addCommand(requestsCommand())
    .addCommand(requestCommand());

const requestsCommand = () =>
  new Command("requests")
    .description("requests, newest first, and what they wait for: JSON, one a line; no investors")
    .option("--asset <name>", "only those for this asset")
    .option("--open", "only those that are not final, oldest first")
    .option("--limit <n>", "at most so many", wholeNumberArgument(1, 10_000), 100)
    .action(async (options: { asset?: string; open?: boolean; limit: number }) =>
      (await import("./ta-requests.ts")).listRequests(options),
    );

const requestCommand = () =>
  new Command("request")
    .description("one request with its history, as JSON; nothing personal")
    .argument("<id>", "its requestId")
    .action(async (id: string) => (await import("./ta-requests.ts")).showRequest(id));

type SignOptions = { readonly key: string; readonly get?: string };

const signCommand = () =>
  new Command("sign")
    .description("sign a request: prints its headers, one a line, as `curl -H @-` reads them")
    .argument("[body]", "file of the JSON body to be posted; - for standard input")
    .requiredOption("--key <file>", "what `keys create --kind ta` printed, or the secret key alone")
    .option("--get <path>", "sign a GET instead: its path with query, such as /api/v1/callbacks")
    .addHelpText(
      "after",
      `
Examples:
  holderbook ta sign --key key.json body.json |
    curl -H @- --data-binary @body.json http://localhost:4000/api/v1/investor/whitelist
  holderbook ta sign --key key.json --get /api/v1/callbacks |
    curl -H @- http://localhost:4000/api/v1/callbacks`,
    )
    .action(async (body: string | undefined, { key, get }: SignOptions) => {
      if ((body === undefined) === (get === undefined)) {
        throw new UsageError("give the file of a body, or --get <path>");
      }
      const secretKey = secretKeyIn(await readFile(key, "utf8"));
      if (get !== undefined) {
        print(signRequest({ secretKey, method: "GET", path: get }).headers);
      } else {
        const bytes =
          body === "-" ? Buffer.from(await text(process.stdin)) : await readFile(body ?? "");
        print(signRequest({ secretKey, body: parseStrictJson(bytes) }).headers);
      }
    });

/** Of the pair as it was printed, or the key itself. */
const secretKeyIn = (content: string): string => {
  const found = /"secretKey"\s*:\s*"([^"]+)"/.exec(content);
  return found?.[1] ?? content.trim();
};

const print = (headers: SignedHeaders) => {
  for (const [name, value] of Object.entries(headers)) process.stdout.write(`${name}: ${value}\n`);
};
