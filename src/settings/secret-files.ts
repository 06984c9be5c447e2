/**
 * Secrets from files: containers are given secrets as files, because an environment is seen by whoever may
 * look at the container. `PII_KEYS_FILE=/run/secrets/pii-keys` stands for `PII_KEYS` with what the file holds.
 */
import { readFileSync } from "node:fs";
import { ConfigError } from "./config-error.ts";

/** The settings that may hold secrets, each with the name of the one for its file. */
export const SECRETS: readonly { readonly name: string; readonly file: string }[] = [
  "DATABASE_URL",
  "DATABASE_OWNER_URL",
  "REDIS_URL",
  "LEDGER_HEADERS",
  "CALLBACK_MASTER_KEY",
  "PII_KEYS",
  "TA_SUI_KEY",
  "TA_EVM_KEY",
  "TA_SIGNER_TOKEN",
  "DEPLOYMENT_SIGNER_TOKEN",
  "DEPLOYMENT_SIGNER_BEFORE_TOKEN",
].map((name) => ({ name, file: `${name}_FILE` }));

/**
 * The settings, with those whose file is named read from it; white space around what it holds is left out.
 * @throws ConfigError with a line for each file that cannot be read or is empty, and for each setting that
 *   is given twice
 */
export const withSecretFiles = (
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => {
  const faults: string[] = [];
  const read = SECRETS.flatMap(({ name, file }) => {
    const path = given[file];
    if (path === undefined) return [];
    if (given[name] !== undefined) {
      faults.push(`${file}: ${name} is set, too; take one of the two out`);
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
