import { Command, Option } from "commander";
import type { Config } from "../config.ts";
import { createKey, listKeys, revokeKey } from "../http/keys.ts";
import { configuredAssets } from "../service/assets.ts";
import { openStorage } from "../service/storage.ts";
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
  readonly kind: "graphql" | "project";
  readonly project?: string;
  readonly label?: string;
};

const createCommand = () =>
  new Command("create")
    .description("make a key; it is the last line on standard output and is never shown again")
    .addOption(
      new Option("--kind <kind>", "what the key opens")
        .choices(["graphql", "project"])
        .makeOptionMandatory(),
    )
    .option("--project <name>", "the project whose transfer events it reads (kind project)")
    .option("--label <text>", "what it is for, as the list shows it")
    .action(async ({ kind, project, label }: CreateOptions) => {
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
