import { Command, Option } from "commander";
import { acting, type NewAct, scopeOfMade } from "../audit/sequence/acts.ts";
import { CallbackAddressError, checkCallbackUrl } from "../callbacks/outbound-policy.ts";
import {
  createKey,
  KEY_KINDS,
  type KeyKind,
  type ListedKey,
  listKeys,
  revokeKey,
} from "../http/keys.ts";
import { configuredAssets } from "../service/assets.ts";
import { withDemoCallbacks } from "../service/demo-callbacks.ts";
import type { Storage } from "../service/storage.ts";
import type { Config } from "../settings/config.ts";
import { shownUrl } from "../settings/shown-url.ts";
import { changeCallbackUrl, handOver, registerKey } from "../ta/requests/caller-keys.ts";
import { revokeDeploymentKeyCommand, rotateCommand } from "./deployment-keys.ts";
import { checkAsset, scopeOf, scopeOfAsset } from "./known-asset.ts";
import { openDatabase } from "./open-database.ts";
import { jsonOption, printJson, printLines, printList, printMessages } from "./output.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

/** `holderbook keys`: callers' keys, and the deployment's signing key. */
export const keysCommand = () =>
  new Command("keys")
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(callbackUrlCommand())
    .addCommand(revokeCommand())
    .addCommand(rotateCommand())
    .addCommand(revokeDeploymentKeyCommand());

type CreateOptions = {
  readonly kind: KeyKind;
  readonly project?: string;
  readonly asset?: string;
  readonly publicKey?: string;
  readonly callbackUrl?: string;
  readonly label?: string;
  readonly requireBound?: true;
  readonly labels?: true;
};

const createCommand = () =>
  new Command("create")
    .description("create a key; it is the last line on standard output and is never shown again")
    .addOption(
      new Option("--kind <kind>", "interface that the key opens")
        .choices(KEY_KINDS)
        .makeOptionMandatory(),
    )
    .option("--project <name>", "project whose transfer events it reads (kind project)")
    .option("--asset <name>", "asset whose requests it signs (kind ta)")
    .option("--public-key <base64>", "Ed25519 public key to register; default: a new pair")
    .option(
      "--callback-url <url>",
      "address for results of its requests, instead of the asset's (kind ta)",
    )
    .option(
      "--require-bound",
      "accept only bound signatures, which cover path, time, Idempotency-Key and body (kind ta)",
    )
    .option("--labels", "show the labels of holders and wallets (kinds graphql and operator)")
    .option("--label <text>", "purpose, shown by `keys list`")
    .action(async (options: CreateOptions) => {
      const { kind, project, asset, publicKey, callbackUrl, label, requireBound = false } = options;
      const { labels: seesLabels = false } = options;
      if (seesLabels && kind !== "graphql" && kind !== "operator") {
        throw new UsageError("--labels is for --kind graphql and --kind operator only");
      }
      if (kind === "ta") {
        if (asset === undefined) throw new UsageError("--kind ta needs --asset <name>");
        if (project !== undefined) throw new UsageError("--project is for --kind project only");
        return createTaKey({ asset, publicKey, callbackUrl, label, requireBound });
      }
      if (
        asset !== undefined ||
        publicKey !== undefined ||
        callbackUrl !== undefined ||
        requireBound
      ) {
        throw new UsageError(
          "--asset, --public-key, --callback-url and --require-bound are for --kind ta only",
        );
      }
      if (kind === "project" && project === undefined) {
        throw new UsageError("--kind project needs --project <name>");
      }
      if (kind !== "project" && project !== undefined) {
        throw new UsageError("--project is for --kind project only");
      }
      const runtime = await openRuntime();
      if (project !== undefined) await checkProject(runtime.config, project);
      await using storage = await openDatabase({ tables: "current or new" }, runtime);
      const { id, secret } = await acting(storage.write, async (tx) => {
        const made = await createKey(tx, { kind, subject: project, label, seesLabels });
        const details = {
          id: made.id,
          kind,
          project: project ?? null,
          ...(seesLabels && { labels: true }),
        };
        const on = project === undefined ? "deployment" : "project";
        return [made, { command: "keys create", details, on }];
      });
      printMessages(`key ${id} (${kind}): keep it, it is not shown again`);
      printLines([secret]);
    });

/** Prints the key, or the new pair, as a line of JSON. */
const createTaKey = async (key: {
  readonly asset: string;
  readonly publicKey: string | undefined;
  readonly callbackUrl: string | undefined;
  readonly label: string | undefined;
  readonly requireBound: boolean;
}): Promise<void> => {
  const runtime = await openRuntime();
  const { config } = runtime;
  const on = scopeOf(await checkAsset(config, key.asset));
  const callbackUrl =
    key.callbackUrl === undefined ? undefined : checkedUrl(config, key.callbackUrl);
  await using storage = await openDatabase({ tables: "current or new" }, runtime);
  const { id, publicKey, secretKey } = await acting(storage.write, async (_, within) => {
    const made = await registerKey(within, { ...key, callbackUrl });
    const { asset, requireBound } = key;
    const url = callbackUrl === undefined ? null : shownUrl(callbackUrl);
    const details = {
      id: made.id,
      kind: "ta",
      asset,
      publicKey: made.publicKey,
      requireBound,
      url,
    };
    return [made, { command: "keys create", details, on }];
  });
  const meaning = key.requireBound ? BOUND : UNBOUND;
  if (secretKey === undefined) {
    printMessages(`key ${id} (ta) is registered`, ...meaning);
    printLines([publicKey]);
  } else {
    printMessages(`key ${id} (ta): keep the pair, it is not shown again`, ...meaning);
    printJson({ publicKey, secretKey });
  }
};

const BOUND = [
  "it accepts bound signatures only: each covers path, time, Idempotency-Key and body",
];
const UNBOUND = [
  "it also accepts signatures of the body alone, which never expire and fit every path: a body signed for",
  "/kyc is accepted at /whitelist. If its caller signs with `ta sign --post` or holderbook/client, create the key",
  "with --require-bound instead",
];

/** A canonical callback URL, under the rules of the assets file. */
const checkedUrl = (config: Config, url: string): string => {
  const { allowPrivate, ports } = withDemoCallbacks(config).callbacks;
  try {
    return checkCallbackUrl(url, { allowPrivate, ports }).href;
  } catch (error) {
    if (error instanceof CallbackAddressError) throw new UsageError(error.message);
    throw error;
  }
};

/** Refuses unknown projects; without an assets file, the key is for a later one. */
const checkProject = async (config: Config, project: string): Promise<void> => {
  if (config.assetsFile === undefined) return;
  const names = (await configuredAssets(config)).projects.map(({ name }) => name);
  if (names.includes(project)) return;
  throw new UsageError(
    `no project ${project} in ${config.assetsFile}; it has ${names.join(", ") || "none"}`,
  );
};

const listCommand = () =>
  new Command("list")
    .description("list all keys without their secrets: JSON, one per line")
    .addOption(jsonOption())
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      await using storage = await openDatabase({ readOnly: true });
      printList(await listKeys(storage.write.db), json);
    });

const callbackUrlCommand = () =>
  new Command("callback-url")
    .description("change or remove the callback address of a transfer agent key")
    .argument("<id>", "its id, from `keys list`")
    .argument("[url]", "new address for results of its requests, pending ones included")
    .option("--remove", "send them to the asset's address")
    .action(async (id: string, url: string | undefined, { remove }: { remove?: boolean }) => {
      if ((url === undefined) === (remove === undefined)) {
        throw new UsageError("give the URL, or --remove");
      }
      const runtime = await openRuntime();
      const { config } = runtime;
      const address = url === undefined ? null : checkedUrl(config, url);
      await using storage = await openDatabase({}, runtime);
      const key = (await listKeys(storage.write.db)).find((each) => each.id === id);
      if (key?.kind !== "ta" || key.subject === null) {
        throw new UsageError(`no key of the kind ta has the id ${id}; \`keys list\` shows them`);
      }
      const asset = await checkAsset(config, key.subject);
      await acting(storage.write, async (_, within) => {
        await changeCallbackUrl(within, id, address);
        const details = { id, asset: asset.name, url: address === null ? null : shownUrl(address) };
        return [undefined, { command: "keys callback-url", details, on: scopeOf(asset) }];
      });
      const where = address ?? `the address of ${key.subject}`;
      printMessages(`results for key ${id} go to ${where}`);
    });

/** The recorded scope of its creation; for older keys the scope that they open. */
const scopeOfKey = async (
  config: Config,
  { write: { sql } }: Storage,
  { id, kind, subject }: ListedKey,
): Promise<NewAct["on"]> => {
  const made = await scopeOfMade(sql, id);
  if (made !== undefined) return made;
  if (kind === "ta") return scopeOfAsset(config, subject ?? "");
  return kind === "project" ? "project" : "deployment";
};

const revokeCommand = () =>
  new Command("revoke")
    .description("revoke a key; running services notice within seconds")
    .argument("<id>", "its id, from `keys list`")
    .option(
      "--to <id>",
      "hand its requests, deliveries and results over to this key of the same asset (kind ta); also works for a revoked key. Without it only the operator sees them",
    )
    .action(async (id: string, { to }: { to?: string }) => {
      await using storage = await openDatabase();
      const key = (await listKeys(storage.write.db)).find((each) => each.id === id);
      const on = key === undefined ? "project" : await scopeOfKey(storage.config, storage, key);
      const ended = await acting(storage.write, async (tx, within) => {
        const isDone =
          to === undefined ? await revokeKey(tx, id) : await handOver(within, { id, to });
        const { kind = null, subject = null } = key ?? {};
        const details = { id, kind, subject, to: to ?? null };
        return [isDone, isDone ? { command: "keys revoke", details, on } : null];
      });
      if (to !== undefined) {
        if (!ended) {
          throw new UsageError(
            `${id} and ${to} must be two keys of the kind ta for one asset, and ${to} not revoked; \`keys list\` shows them`,
          );
        }
        printMessages(`key ${id} is revoked; its requests belong to ${to}`);
        return;
      }
      if (!ended) {
        throw new UsageError(`no active key has the id ${id}; \`keys list\` shows them`);
      }
      printMessages(`key ${id} is revoked`);
    });
