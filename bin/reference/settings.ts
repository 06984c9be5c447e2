/** `docs/reference/settings.md`, from `.env.example`, held to the settings that the program reads. */
import { SETTINGS } from "../../src/settings/config.ts";
import { SECRETS } from "../../src/settings/secret-files.ts";
import { code, head, table } from "./markdown.ts";

/** A setting as the example documents it. */
type Documented = {
  readonly section: string;
  readonly name: string;
  readonly value: string;
  /** Whether the value is the default; else it is an example. */
  readonly isDefault: boolean;
  readonly about: string;
};

/**
 * The page.
 * @throws Error naming settings that the example leaves out, or has in excess
 */
export const settingsPage = (example: string): string => {
  const documented = documentedIn(example);
  const names = documented.map(({ name }) => name);
  const lacking = SETTINGS.filter((name) => !names.includes(name));
  const excess = names.filter((name) => !SETTINGS.includes(name));
  if (lacking.length > 0 || excess.length > 0) {
    throw new Error(
      `.env.example lacks ${lacking.join(", ")}; it has in excess ${excess.join(", ")}`,
    );
  }
  const secrets = SECRETS.map(({ name }) => name);
  const sections = [...new Set(documented.map(({ section }) => section))];
  return [
    head(
      "Settings",
      [
        "Settings come from the environment and from `.env` in the folder that the program is started in; the",
        "environment wins, and an empty value counts as not set. A wrong value, or a name that is nearly a setting's,",
        "ends the program with code 2 and one line that names it. `holderbook doctor` tells what is wrong.",
        "",
        `What may hold a secret can come from a file: with \`_FILE\` behind its name, as in`,
        `\`PII_KEYS_FILE=/run/secrets/pii-keys\`. These can: ${secrets.map(code).join(", ")}.`,
      ].join("\n"),
    ),
    ...sections.map((section) => {
      const rows = documented
        .filter((each) => each.section === section)
        .map(({ name, value, isDefault, about }) => [
          code(name),
          isDefault ? code(value) : "",
          value === "" || isDefault ? about : `${about} Example: ${code(value)}`,
        ]);
      return `## ${section}\n\n${table(["setting", "default", "what it does"], rows)}`;
    }),
  ].join("\n");
};

/** Comments stand above a setting, or above several. */
const documentedIn = (example: string): readonly Documented[] => {
  const found: Documented[] = [];
  let section = "";
  let comment: string[] = [];
  let isUsed = false;
  for (const line of example.split("\n")) {
    const title = /^# --- (.+?) -+$/.exec(line)?.[1];
    const setting = /^(# )?([A-Z][A-Z0-9_]+)=(.*)$/.exec(line);
    if (title !== undefined) section = title;
    else if (setting !== null) {
      const [, off, name = "", value = ""] = setting;
      const about = comment.join(" ").replaceAll(/\s+/g, " ");
      found.push({ section, name, value, isDefault: off === undefined, about });
      isUsed = true;
      continue;
    } else if (line.startsWith("# ")) {
      if (isUsed) comment = [];
      comment.push(line.slice(2));
      isUsed = false;
      continue;
    }
    comment = [];
    isUsed = false;
  }
  return found;
};
