/** `.env.example` and `docs/reference/settings.md`, from the program's settings. */
import { SETTINGS, type Setting } from "../../src/settings/config.ts";
import { SECRETS } from "../../src/settings/read-config.ts";
import { code, head, table } from "./markdown.ts";

const sections: ReadonlyMap<string, readonly Setting[]> = Map.groupBy(
  SETTINGS,
  ({ section }) => section,
);
const secrets = SECRETS.map(({ name }) => name);

export const settingsPage = (): string =>
  [
    head(
      "Settings",
      [
        "Settings come from the environment and from `.env` in the folder in which the program is started; the",
        "environment wins, and an empty value counts as not set. An invalid value, or a misspelled name of a setting,",
        "ends the program with code 2 and a line that names it. `holderbook doctor` reports what is wrong.",
        "",
        "Settings that may hold a secret can come from a file: append `_FILE` to the name, as in",
        `\`PII_KEYS_FILE=/run/secrets/pii-keys\`. These are: ${secrets.map(code).join(", ")}.`,
      ].join("\n"),
    ),
    ...[...sections].map(([section, settings]) => {
      const rows = settings.map(({ name, text, example, ...setting }) => [
        code(name),
        code(setting.default ?? ""),
        example === undefined ? text : `${text} Example: ${code(example)}`,
      ]);
      return `## ${section}\n\n${table(["setting", "default", "what it does"], rows)}`;
    }),
  ].join("\n");

export const envExample = (): string =>
  [
    comment(
      "Every setting, with its default. Made by `npm run docs`. Copy to .env and change what you need; an empty value counts as not set. Variables of the process win over this file. A name that is nearly one of these is an error.",
    ),
    comment(
      `Settings that may hold a secret can come from a file: append _FILE to the name, as in PII_KEYS_FILE=/run/secrets/pii. These are: ${secrets.join(", ")}.`,
    ),
    ...[...sections].flatMap(([section, settings]) => [
      "",
      `# --- ${section} `.padEnd(101, "-"),
      ...settings.flatMap(({ name, text, example = "", ...setting }) => [
        comment(text),
        setting.default === undefined ? `# ${name}=${example}` : `${name}=${setting.default}`,
      ]),
    ]),
    "",
  ].join("\n");

/** Comment lines of at most 112 characters, if the words fit. */
const comment = (text: string): string =>
  `# ${text}`.replace(/(.{1,112})(?:\s+|$)/g, "$1\n# ").replace(/\n# $/, "");
