import { Command } from "commander";
import { listDeliveries, redeliver } from "../callbacks/deliveries.ts";
import { enableEndpoint, findEndpoint } from "../callbacks/endpoints.ts";
import type { Database } from "../database/connect.ts";
import { openStorage } from "../service/storage.ts";
import { callbackEndpoint } from "../service/transfer-scopes.ts";
import { wholeNumberArgument } from "./arguments.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

/** `holderbook callbacks`: what was sent to a project's address, and sending it again. */
export const callbacksCommand = () =>
  new Command("callbacks")
    .description("callbacks of projects: list, redeliver, enable")
    .addCommand(listCommand())
    .addCommand(redeliverCommand())
    .addCommand(enableCommand());

type ListOptions = {
  readonly project: string;
  readonly since?: string;
  readonly after?: string;
  readonly limit: number;
};

const listCommand = () =>
  new Command("list")
    .description("deliveries with their attempts, oldest first: JSON, one a line")
    .requiredOption("--project <name>", "the project")
    .option("--since <time>", "only those enqueued from then on, ISO 8601")
    .option("--after <id>", "only those after this one, for the next page")
    .option("--limit <n>", "at most so many", wholeNumberArgument(1, 1_000), 100)
    .action(async ({ project, since, after, limit }: ListOptions) => {
      const from = since === undefined ? undefined : new Date(since);
      if (Number.isNaN(from?.getTime())) {
        throw new UsageError(`--since ${since} is not a time, such as 2026-01-31T00:00:00Z`);
      }
      await withAddress(project, async (database, endpoint) => {
        const page = { endpoints: [endpoint], since: from, after, limit };
        for (const { endpoint: _, ...delivery } of await listDeliveries(database, page)) {
          process.stdout.write(`${JSON.stringify(delivery)}\n`);
        }
      });
    });

const redeliverCommand = () =>
  new Command("redeliver")
    .description("send one again, under the same webhook-id; enables the address")
    .argument("<id>", "as `callbacks list` shows it")
    .requiredOption("--project <name>", "the project")
    .action((id: string, { project }: { readonly project: string }) =>
      withAddress(project, async (database, endpoint) => {
        const outcome = await redeliver(database, { endpoints: [endpoint], id });
        if (outcome === "unknown") throw new UsageError(`project ${project} has no callback ${id}`);
        process.stderr.write(
          outcome === "pending"
            ? `${id} was not delivered yet; it is tried at once\n`
            : `${id} is sent again\n`,
        );
      }),
    );

type EnableOptions = { readonly project: string; readonly resend?: boolean };

const enableCommand = () =>
  new Command("enable")
    .description("send to an address again that was disabled, as by an answer of 410")
    .requiredOption("--project <name>", "the project")
    .option("--resend", "first what was not sent meanwhile, in its order")
    .action(({ project, resend = false }: EnableOptions) =>
      withAddress(project, async (database, endpoint) => {
        await enableEndpoint(database, endpoint, { resend });
        process.stderr.write(`callbacks of ${project} are sent again\n`);
      }),
    );

/** @throws UsageError when the project never had a callback address */
const withAddress = async (
  project: string,
  act: (database: Database, endpoint: string) => Promise<void>,
): Promise<void> => {
  const { config, logger } = openRuntime();
  await using storage = await openStorage(config, logger);
  const endpoint = callbackEndpoint(project);
  if ((await findEndpoint(storage.write, endpoint)) === undefined) {
    throw new UsageError(`project ${project} has no callback address here`);
  }
  await act(storage.write, endpoint);
};
