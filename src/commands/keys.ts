import { Command, Option } from "commander";
import type { Config } from "../config.ts";
import { createKey, listKeys, revokeKey } from "../http/keys.ts";
import { configuredAssets } from "../service/assets.ts";
import { openStorage } from "../service/storage.ts";
import { taAssets } from "../ta/asset.ts";
import { registerKey } from "../ta/new-key.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

/** `holderbook keys`: who may ask. */
export const keysCommand = () =>
  new Command("keys")
    .description("keys of the interfaces: create, list, revoke")
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());

type CreateOptions = {
  readonly kind: "graphql" | "project" | "ta";
  readonly project?: string;
  readonly asset?: string;
  readonly publicKey?: string;
  readonly label?: string;
};

const createCommand = () =>
  new Command("create")
    .description("make a key; it is the last line on standard output and is never shown again")
    .addOption(
      new Option("--kind <kind>", "what the key opens")
        .choices(["graphql", "project", "ta"])
        .makeOptionMandatory(),
    )
    .option("--project <name>", "the project whose transfer events it reads (kind project)")
    .option("--asset <name>", "the asset whose requests it signs (kind ta)")
    .option("--public-key <base64>", "an Ed25519 public key to register; without it a pair is made")
    .option("--label <text>", "what it is for, as the list shows it")
    .action(async ({ kind, project, asset, publicKey, label }: CreateOptions) => {
      if (kind === "ta") {
        if (asset === undefined) throw new UsageError("--kind ta needs --asset <name>");
        if (project !== undefined) throw new UsageError("--project goes with --kind project");
        return createTaKey({ asset, publicKey, label });
      }
      if (asset !== undefined || publicKey !== undefined) {
        throw new UsageError("--asset and --public-key go with --kind ta");
      }
      if (kind === "project" && project === undefined) {
        throw new UsageError("--kind project needs --project <name>");
      }
      if (kind !== "project" && project !== undefined) {
        throw new UsageError(`--project goes with --kind project, not with --kind ${kind}`);
      }
      const { config, logger } = openRuntime();
      if (project !== undefined) await checkProject(config, project);
      await using storage = await openStorage(config, logger);
      const { id, secret } = await createKey(storage.write.db, { kind, subject: project, label });
      process.stderr.write(`key ${id} (${kind}): keep it, it is not shown again\n`);
      process.stdout.write(`${secret}\n`);
    });

/** The key, or the pair when one is made: one line of JSON on standard output. */
const createTaKey = async (key: {
  readonly asset: string;
  readonly publicKey: string | undefined;
  readonly label: string | undefined;
}): Promise<void> => {
  const { config, logger } = openRuntime();
  const known = [...taAssets(await configuredAssets(config)).keys()];
  if (!known.includes(key.asset)) {
    throw new UsageError(
      `no asset ${key.asset}; those with "ta" are: ${known.join(", ") || "none"}`,
    );
  }
  await using storage = await openStorage(config, logger);
  const { id, publicKey, secretKey } = await registerKey(storage.write, key);
  if (secretKey === undefined) {
    process.stderr.write(`key ${id} (ta) is registered\n`);
    process.stdout.write(`${publicKey}\n`);
  } else {
    process.stderr.write(`key ${id} (ta): keep the pair, it is not shown again\n`);
    process.stdout.write(`${JSON.stringify({ publicKey, secretKey })}\n`);
  }
};

/** A key of a project that no file names would open nothing; without a file it is made for a later one. */
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
    .description("every key: JSON, one a line, without the secrets")
    .action(async () => {
      const { config, logger } = openRuntime();
      await using storage = await openStorage(config, logger);
      for (const key of await listKeys(storage.write.db)) {
        process.stdout.write(`${JSON.stringify(key)}\n`);
      }
    });

const revokeCommand = () =>
  new Command("revoke")
    .description("end a key; running services notice within seconds")
    .argument("<id>", "as `keys list` shows it")
    .action(async (id: string) => {
      const { config, logger } = openRuntime();
      await using storage = await openStorage(config, logger);
      if (!(await revokeKey(storage.write.db, id))) {
        throw new UsageError(`no active key has the id ${id}; \`keys list\` shows them`);
      }
      process.stderr.write(`key ${id} is revoked\n`);
    });
