/** Reads the environment into a `Config`; no other code reads it. */
import { readFileSync } from "node:fs";
import { loadEnvFile } from "node:process";
import { parseEnv } from "node:util";
import { type Config, parseSettings, SETTINGS, type Setting } from "./config.ts";
import { ConfigError } from "./config-error.ts";
import { ENV_FILE, ENVIRONMENT, mistyped } from "./names.ts";
import { shownUrl } from "./shown-url.ts";

/**
 * Reads `.env` in the working folder, if any, and the environment, which takes precedence.
 * @throws ConfigError with a line for each wrong or mistyped setting
 */
export const configFromEnvironment = (): Config => {
  const environment = { ...process.env };
  const file = loadedFile();
  const names = [...SETTINGS.map(({ name }) => name), ...SECRETS.map(({ file }) => file)];
  const wrong = [
    ...mistyped(Object.keys(given(file)), names, ENV_FILE),
    ...mistyped(Object.keys(given(environment)), names, ENVIRONMENT),
  ];
  if (wrong.length > 0) throw new ConfigError(wrong.join("\n"));
  return readConfig(withSecretFiles(given(process.env)));
};

/** Loads `.env` into the environment and returns its content. */
const loadedFile = (): NodeJS.Dict<string> => {
  try {
    loadEnvFile();
    return parseEnv(readFileSync(".env", "utf8"));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // Usually there is no .env; an unreadable one is a fault.
    if ("code" in error && error.code === "ENOENT") return {};
    throw new ConfigError(`.env cannot be read: ${error.message}`);
  }
};

/** An empty variable counts as not set. */
const given = (environment: NodeJS.Dict<string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || value.trim() === "" ? [] : [[name, value]],
    ),
  );

/** @throws ConfigError with a line for each wrong setting */
export const readConfig = (environment: Readonly<Record<string, string | undefined>>): Config => {
  const present = given(environment);
  const { success, data, error } = parseSettings(present);
  if (success) return data;
  const lines = error.issues.map(({ path, message }) => {
    const setting = SETTINGS.find((each) => each.path.join() === path.join());
    return setting ? faultLine(setting, message, present[setting.name] ?? "") : message;
  });
  throw new ConfigError(lines.join("\n"));
};

const faultLine = (setting: Setting, message: string, value: string): string => {
  const { name, shown, example = setting.default ?? "" } = setting;
  const fault = `${name}: ${message.replace("{example}", example)}`;
  if (shown === "hidden" || shown === "secret") return fault;
  const shownValue = shown === "address" ? value.split(/\s+/).map(shownUrl).join(" ") : value;
  return `${fault} (is "${shownValue}")`;
};

/**
 * Secrets can come from files, because an environment is visible to anyone who may inspect the
 * container. `PII_KEYS_FILE=/run/secrets/pii-keys` sets `PII_KEYS` to the file's content.
 */
export const SECRETS: readonly { readonly name: string; readonly file: string }[] = SETTINGS.filter(
  ({ shown }) => shown === "secret",
).map(({ name }) => ({ name, file: `${name}_FILE` }));

/**
 * Adds settings from files, trimmed.
 * @throws ConfigError with a line for each unreadable or empty file, and each setting given twice
 */
export const withSecretFiles = (
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => {
  const faults: string[] = [];
  const read = SECRETS.flatMap(({ name, file }) => {
    const path = given[file];
    if (path === undefined) return [];
    if (given[name] !== undefined) {
      faults.push(`${file}: ${name} is set, too; remove one of the two`);
      return [];
    }
    const text = textOf(path);
    if (typeof text === "string") return [[name, text] as const];
    faults.push(`${file}: ${path} ${text.fault}`);
    return [];
  });
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  return { ...given, ...Object.fromEntries(read) };
};

const textOf = (path: string): string | { readonly fault: string } => {
  try {
    const text = readFileSync(path, "utf8").trim();
    return text === "" ? { fault: "is empty" } : text;
  } catch (error) {
    return { fault: `cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
};

/**
 * Requires LEDGER_SOURCE beside packages or a first checkpoint, which never belong to the demo.
 * @param packagesAlone allows packages alone: they name what is served from a database
 * @throws ConfigError
 */
export const checkLedgerNamed = (
  config: Pick<Config, "ledgerSourceNamed" | "packages" | "firstCheckpoint">,
  { packagesAlone = false }: { readonly packagesAlone?: boolean } = {},
): void => {
  if (config.ledgerSourceNamed) return;
  const alone = [
    ...(config.packages === undefined || packagesAlone ? [] : ["SECURITY_TOKEN_PACKAGES"]),
    ...(config.firstCheckpoint === undefined ? [] : ["FIRST_CHECKPOINT"]),
  ];
  if (alone.length === 0) return;
  throw new ConfigError(
    `LEDGER_SOURCE: is not set, while ${alone.join(" and ")} ${alone.length > 1 ? "are" : "is"}: this would be the demo ledger. Name the ledger, such as grpc+https://fullnode.mainnet.sui.io:443, or demo: if you want the demo`,
  );
};
