/** `docs/reference/errors.md`, from the classes of errors and their comments. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ERROR_CODES } from "../../src/http/error-codes.ts";
import { errorName } from "../../src/http/refusal.ts";
import { code, head, table } from "./markdown.ts";

/** An error in logs, `/health` and command output. */
type Named = { readonly name: string; readonly remedy: string; readonly about: string };

/** A comment, its class, and the class's body. */
const CLASS =
  /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:export )?(?:abstract )?class (\w+) extends (\w+) \{([\s\S]*?)\n\}/g;

/** @param codes values of `extensions.code` of GraphQL; `reasons` of failed requests */
export const errorsPage = (
  root: string,
  { codes, reasons }: { readonly codes: readonly string[]; readonly reasons: readonly string[] },
): string => {
  const statuses = [400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 500, 503];
  return [
    head(
      "Errors",
      [
        "Errors that callers receive, and errors that operators read in the log, in `/health` and on the command line. What to do",
        "about those that need an operator: [operations](../how-to/operations.md).",
      ].join("\n"),
    ),
    "## Over HTTP\n",
    "All interfaces but GraphQL refuse with `{ error, details, requestId, code, param, httpRequestId }`: `details` says what was wrong, `code` the same for programs, and `param`, where there is one, names the member, parameter or header field. Where several are wrong, `details` lists all, and `code` and `param` are of one. The request's log line has the same `requestId`; `httpRequestId` repeats it, since the transfer agent's answers call its own requests `requestId`.\n",
    table(
      ["status", "`error`"],
      statuses.map((status) => [`${status}`, code(errorName(status))]),
    ),
    "A 409 about a token in quarantine has the `error` `QUARANTINED`: ask again after its release.\n",
    "Values of `code` are never renamed; new ones come, so treat an unknown one as its status says.\n",
    table(
      ["`code`", "status", "what it means"],
      Object.entries(ERROR_CODES).map(([name, [status, meaning]]) => [
        code(name),
        `${status}`,
        meaning,
      ]),
    ),
    "## GraphQL\n",
    `Values of \`extensions.code\`: ${codes.map(code).join(", ")}. [Query and subscribe](../how-to/graphql.md) says when each occurs.\n`,
    "## Requests of the transfer agent\n",
    `Values of \`reason\` of a failed request: ${reasons.map(code).join(", ")}. [Transfer agent](../how-to/transfer-agent.md) explains them.\n`,
    "## By name\n",
    "The remedy says what the program does itself: `retry` tries again after a pause, `wait` waits for a condition, `stop` ends the work until an operator acts. `ConfigError` and its kinds end a command with code 2, others with code 1.\n",
    table(
      ["name", "remedy", "what it means"],
      namedIn(root).map(({ name, remedy, about }) => [code(name), remedy, about]),
    ),
  ].join("\n");
};

const namedIn = (root: string): readonly Named[] => {
  const texts = globSync(["src/**/*.ts", "demo/**/*.ts"], { cwd: root })
    .toSorted()
    .map((file) => readFileSync(join(root, file), "utf8"));
  const found = texts.flatMap((text) =>
    [...text.matchAll(CLASS)].flatMap(([, comment = "", name = "", parent = "", body = ""]) =>
      name.endsWith("Error") && parent.endsWith("Error") ? [{ comment, name, parent, body }] : [],
    ),
  );
  const remedyOf = (name: string): string => {
    const one = found.find((each) => each.name === name);
    if (one === undefined) return "";
    const own = /remedy(?:: Remedy)? = "(\w+)"/.exec(one.body)?.[1];
    return own ?? (/remedy/.test(one.body) ? "as it says" : remedyOf(one.parent));
  };
  return found
    .map(({ name, comment }) => ({
      name,
      remedy: remedyOf(name),
      about: comment
        .split("\n")
        .map((line) => line.replace(/^\s*\*? ?/, "").trim())
        .filter((line) => !line.startsWith("@"))
        .join(" ")
        .trim(),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
};
