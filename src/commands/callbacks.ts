import { Command, Option } from "commander";
import { recordingOn } from "../audit/sequence/acts.ts";
import {
  listDeliveries,
  PrunedDeliveryError,
  redeliver,
  STATUSES,
  UnknownDeliveryError,
} from "../callbacks/deliveries.ts";
import { type CallbackEndpoint, enableEndpoint, endpointsUnder } from "../callbacks/endpoints.ts";
import { CALLBACK_REMOVED } from "../callbacks/pruning.ts";
import {
  type CallbackPublicKeys,
  IMMEDIATELY,
  openSigningKeys,
  replaceSigningKeys,
} from "../callbacks/signing-keys.ts";
import type { Database } from "../database/connect.ts";
import { configuredMasterKey } from "../service/configured-keys.ts";
import { taEndpoint } from "../ta/requests/asset.ts";
import { resultEndpoint } from "../ta/requests/callback-address.ts";
import { callbackEndpoint } from "../transfers/callbacks.ts";
import { wholeNumberArgument } from "./arguments.ts";
import { openDatabase } from "./open-database.ts";
import { jsonOption, printJson, printList, printMessages } from "./output.ts";
import { UsageError } from "./usage.ts";

/** `holderbook callbacks`: lists and redelivers callbacks, and rotates the keys that sign them. */
export const callbacksCommand = () =>
  new Command("callbacks")
    .addCommand(listCommand())
    .addCommand(redeliverCommand())
    .addCommand(enableCommand())
    .addCommand(rotateCommand());

/** Exactly one of the two. */
type Whose = { readonly project?: string; readonly asset?: string };

const of = (command: Command): Command =>
  command
    .option("--project <name>", "transfer events of this project")
    .option("--asset <name>", "results of the transfer agent's requests for this asset");

type ListOptions = Whose & {
  readonly since?: string;
  readonly after?: string;
  readonly status?: (typeof STATUSES)[number];
  readonly limit: number;
  readonly json?: boolean;
};

const listCommand = () =>
  of(new Command("list"))
    .description(
      "list deliveries with their attempts, oldest first: JSON, one per line; standard error names disabled and withdrawn addresses, and the next page",
    )
    .option("--since <time>", "only those enqueued since then, ISO 8601")
    .option("--after <id>", "only those after this id, for the next page")
    .addOption(
      new Option(
        "--status <status>",
        "only those in this state; pending ones may be withdrawn",
      ).choices(STATUSES),
    )
    .option("--limit <n>", "maximum number", wholeNumberArgument(1, 1_000), 100)
    .addOption(jsonOption())
    .action(async ({ since, after, status, limit, json = false, ...whose }: ListOptions) => {
      const from = since === undefined ? undefined : new Date(since);
      if (Number.isNaN(from?.getTime())) {
        throw new UsageError(`--since ${since} is not a time, such as 2026-01-31T00:00:00Z`);
      }
      await withAddresses(whose, async (database, addresses) => {
        const endpoints = addresses.map(({ key }) => key);
        // One more than shown, to know whether there are more.
        const page = { endpoints, since: from, after, status, limit: limit + 1 };
        const found = await listed(database, page);
        const shown = found.slice(0, limit).map(({ endpoint: _, ...delivery }) => delivery);
        printList(shown, json);
        if (found.length > limit) printMessages(`more: --after ${shown.at(-1)?.id}`);
        reportClosed(addresses);
      });
    });

/** @throws UsageError when `after` belongs to none of these addresses */
const listed = async (database: Database, page: Parameters<typeof listDeliveries>[1]) => {
  try {
    return await listDeliveries(database, page);
  } catch (error) {
    const isKnown = error instanceof UnknownDeliveryError || error instanceof PrunedDeliveryError;
    if (isKnown) throw new UsageError(`--after: ${error.message}`);
    throw error;
  }
};

const redeliverCommand = () =>
  of(new Command("redeliver"))
    .description("send a callback again, under the same webhook-id, and enable its address")
    .argument("<id>", "its id, from `callbacks list`")
    .action((id: string, whose: Whose) =>
      withAddresses(whose, async (database, addresses) => {
        const endpoints = addresses.map(({ key }) => key);
        const to = whose.asset === undefined ? undefined : resultEndpoint;
        const outcome = await redeliver(database, { endpoints, id, ...(to && { to }) });
        if (outcome === "removed") throw new UsageError(`${id}: ${CALLBACK_REMOVED}`);
        if (outcome === "unknown") throw new UsageError(`${nameOf(whose)} has no callback ${id}`);
        printMessages(`${id} ${REDELIVERED[outcome]}`);
      }),
    );

const REDELIVERED = {
  accepted: "is sent again",
  pending: "was not delivered yet; it is being sent now",
  waiting: "will be sent once its address is configured again, or resumed",
} as const;

type EnableOptions = Whose & { readonly resend?: boolean };

const enableCommand = () =>
  of(new Command("enable"))
    .description("enable an address that was disabled, for example by an answer of 410")
    .option("--resend", "first send the callbacks given up meanwhile, in order")
    .action(({ resend = false, ...whose }: EnableOptions) =>
      withAddresses(whose, async (database, addresses) => {
        for (const { key } of addresses) await enableEndpoint(database, key, { resend });
        printMessages(`callbacks of ${nameOf(whose)} are sent again`);
        reportClosed(addresses.filter(({ withdrawnAt }) => withdrawnAt !== null));
      }),
    );

const nameOf = ({ project, asset }: Whose): string =>
  project === undefined ? `asset ${asset}` : `project ${project}`;

/** Reports disabled and withdrawn addresses, since when and why. */
const reportClosed = (addresses: readonly CallbackEndpoint[]): void => {
  for (const { url, withdrawnAt, withdrawnReason, disabledAt, disabledReason } of addresses) {
    const closed =
      withdrawnAt !== null
        ? `withdrawn since ${withdrawnAt}: ${withdrawnReason}; pending callbacks are kept`
        : disabledAt !== null
          ? `disabled since ${disabledAt}: ${disabledReason}`
          : undefined;
    if (closed !== undefined) printMessages(`${url} is ${closed}`);
  }
};

/** @throws UsageError when there never was such a callback address */
const withAddresses = async (
  whose: Whose,
  act: (database: Database, addresses: readonly CallbackEndpoint[]) => Promise<void>,
): Promise<void> => {
  const { project, asset } = whose;
  if ((project === undefined) === (asset === undefined)) {
    throw new UsageError("give --project <name> or --asset <name>");
  }
  await using storage = await openDatabase();
  const key = project === undefined ? taEndpoint(asset ?? "") : callbackEndpoint(project);
  const addresses = await endpointsUnder(storage.write, key);
  if (addresses.length === 0) {
    throw new UsageError(`${nameOf(whose)} has no callback address here`);
  }
  await act(storage.write, addresses);
};

type RotateOptions = { readonly now?: boolean; readonly lostMasterKey?: boolean };

/** `holderbook callbacks rotate`: a new signing key; running processes follow automatically. */
export const rotateCommand = () =>
  new Command("rotate")
    .description(
      "renew the key that signs callbacks: the new one is announced for two days, then signs, for one more day beside the old one; prints the new list of callback_pk",
    )
    .option(
      "--now",
      "the key is compromised: sign with a new one immediately, and stop listing the old one",
    )
    .option("--lost-master-key", "with --now: the master key that sealed the old ones is lost")
    .action(async ({ now = false, lostMasterKey = false }: RotateOptions) => {
      if (lostMasterKey && !now) throw new UsageError("--lost-master-key needs --now");
      await using storage = await openDatabase();
      const masterKey = await configuredMasterKey(storage.config, { existing: !lostMasterKey });
      const details = { now, lostMasterKey };
      const on = recordingOn(storage.write, {
        command: "callbacks rotate",
        details,
        on: "deployment",
      });
      if (lostMasterKey) await replaceSigningKeys(on, masterKey);
      const keys = await openSigningKeys(storage.write, masterKey);
      const shown = lostMasterKey
        ? await keys.publicKeys()
        : await keys.rotate(now ? IMMEDIATELY : {}, on);
      printMessages(scheduleOf(shown));
      if (lostMasterKey) printMessages(SEALED_AGAIN);
      printJson(shown);
    });

const SEALED_AGAIN =
  "it is sealed with the master key of this command (CALLBACK_MASTER_KEY, or callback-master-key in DATA_DIR): give it to every process and restart them";

/** The schedule, and the operator's part in it, if any. */
const scheduleOf = ({ keys: [fresh, old] }: CallbackPublicKeys): string =>
  old === undefined
    ? `key ${fresh?.keyId} is the only one that signs now; ask receivers to read callback_pk again`
    : `key ${fresh?.keyId} is announced and signs from ${fresh?.notBefore} on; ${old.keyId} also signs until ${old.notAfter}`;
