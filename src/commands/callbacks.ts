import { Command } from "commander";
import { listDeliveries, redeliver } from "../callbacks/deliveries.ts";
import { type CallbackEndpoint, enableEndpoint, findEndpoint } from "../callbacks/endpoints.ts";
import type { Database } from "../database/connect.ts";
import { openStorage } from "../service/storage.ts";
import { callbackEndpoint } from "../service/transfer-scopes.ts";
import { taEndpoint } from "../ta/asset.ts";
import { wholeNumberArgument } from "./arguments.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

/** `holderbook callbacks`: what was sent to a project's or an asset's address, and sending it again. */
export const callbacksCommand = () =>
  new Command("callbacks")
    .description(
      "callbacks of projects and of the transfer agent's assets: list, redeliver, enable",
    )
    .addCommand(listCommand())
    .addCommand(redeliverCommand())
    .addCommand(enableCommand());

/** Whose callbacks: one of the two. */
type Whose = { readonly project?: string; readonly asset?: string };

const of = (command: Command): Command =>
  command
    .option("--project <name>", "transfer events of this project")
    .option("--asset <name>", "results of the transfer agent's requests for this asset");

type ListOptions = Whose & {
  readonly since?: string;
  readonly after?: string;
  readonly limit: number;
};

const listCommand = () =>
  of(new Command("list"))
    .description(
      "deliveries with their attempts, oldest first: JSON, one a line; on standard error, whether the address is disabled or withdrawn",
    )
    .option("--since <time>", "only those enqueued from then on, ISO 8601")
    .option("--after <id>", "only those after this one, for the next page")
    .option("--limit <n>", "at most so many", wholeNumberArgument(1, 1_000), 100)
    .action(async ({ since, after, limit, ...whose }: ListOptions) => {
      const from = since === undefined ? undefined : new Date(since);
      if (Number.isNaN(from?.getTime())) {
        throw new UsageError(`--since ${since} is not a time, such as 2026-01-31T00:00:00Z`);
      }
      await withAddress(whose, async (database, address) => {
        const page = { endpoints: [address.key], since: from, after, limit };
        for (const { endpoint: _, ...delivery } of await listDeliveries(database, page)) {
          process.stdout.write(`${JSON.stringify(delivery)}\n`);
        }
        const closed = closedBecause(address);
        if (closed !== undefined) process.stderr.write(`${address.url} ${closed}\n`);
      });
    });

const redeliverCommand = () =>
  of(new Command("redeliver"))
    .description("send one again, under the same webhook-id; enables the address")
    .argument("<id>", "as `callbacks list` shows it")
    .action((id: string, whose: Whose) =>
      withAddress(whose, async (database, address) => {
        requireNamed(address);
        const outcome = await redeliver(database, { endpoints: [address.key], id });
        if (outcome === "unknown") throw new UsageError(`${nameOf(whose)} has no callback ${id}`);
        process.stderr.write(
          outcome === "pending"
            ? `${id} was not delivered yet; it is tried at once\n`
            : `${id} is sent again\n`,
        );
      }),
    );

type EnableOptions = Whose & { readonly resend?: boolean };

const enableCommand = () =>
  of(new Command("enable"))
    .description("send to an address again that was disabled, as by an answer of 410")
    .option("--resend", "first what was not sent meanwhile, in its order")
    .action(({ resend = false, ...whose }: EnableOptions) =>
      withAddress(whose, async (database, address) => {
        requireNamed(address);
        await enableEndpoint(database, address.key, { resend });
        process.stderr.write(`callbacks of ${nameOf(whose)} are sent again\n`);
      }),
    );

const nameOf = ({ project, asset }: Whose): string =>
  project === undefined ? `asset ${asset}` : `project ${project}`;

/** Why nothing is sent there; undefined when it is. */
const closedBecause = (address: CallbackEndpoint): string | undefined => {
  const { withdrawnAt, withdrawnReason, disabledAt, disabledReason } = address;
  if (withdrawnAt !== null) {
    return `is withdrawn since ${withdrawnAt.toISOString()}: ${withdrawnReason}; what waits is kept`;
  }
  if (disabledAt === null) return undefined;
  return `is disabled since ${disabledAt.toISOString()}: ${disabledReason}`;
};

/** @throws UsageError at a withdrawn address: only the configuration brings it back */
const requireNamed = (address: CallbackEndpoint): void => {
  if (address.withdrawnAt === null) return;
  throw new UsageError(
    `${address.url} ${closedBecause(address)}; name it in ASSETS_FILE again, and it is sent in its order`,
  );
};

/** @throws UsageError when there never was such a callback address */
const withAddress = async (
  whose: Whose,
  act: (database: Database, address: CallbackEndpoint) => Promise<void>,
): Promise<void> => {
  const { project, asset } = whose;
  if ((project === undefined) === (asset === undefined)) {
    throw new UsageError("give --project <name> or --asset <name>");
  }
  const { config, logger } = openRuntime();
  await using storage = await openStorage(config, logger);
  const key = project === undefined ? taEndpoint(asset ?? "") : callbackEndpoint(project);
  const address = await findEndpoint(storage.write, key);
  if (address === undefined) throw new UsageError(`${nameOf(whose)} has no callback address here`);
  await act(storage.write, address);
};
