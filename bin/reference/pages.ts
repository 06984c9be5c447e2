/** All generated reference pages, by path in the project; `files.ts` adds the test vectors. */
import { wholeProgram } from "../../src/commands/command-line.ts";
import { ERROR_CODES } from "../../src/graphql/errors.ts";
import { schema } from "../../src/graphql/schema.ts";
import { FAILURE_REASONS } from "../../src/ta/requests/failure-reasons.ts";
import { OUTSIDE, TAMPERINGS } from "../../test/audit/tamperings.ts";
import { chartValuesSchema } from "./chart-values.ts";
import { cliPage } from "./cli.ts";
import { errorsPage } from "./errors.ts";
import { graphqlPage } from "./graphql.ts";
import { code, head, table } from "./markdown.ts";
import { type OpenApiDocument, openApiPage } from "./openapi.ts";
import { schemaFiles } from "./schemas/files.ts";
import { envExample, settingsPage } from "./settings.ts";

/** From the code alone. */
export const pagesOfCode = async (root: string): Promise<ReadonlyMap<string, string>> =>
  new Map([
    ["docs/reference/cli.md", cliPage(await wholeProgram())],
    ["docs/reference/settings.md", settingsPage()],
    [".env.example", envExample()],
    ["docs/reference/tampering.md", tamperingPage(TAMPERINGS, OUTSIDE)],
    ["docs/reference/graphql.md", graphqlPage(schema, ERROR_CODES)],
    [
      "docs/reference/errors.md",
      errorsPage(root, { codes: ERROR_CODES, reasons: FAILURE_REASONS }),
    ],
    ["deploy/helm/values.schema.json", chartValuesSchema()],
    ...schemaFiles(),
  ]);

/** From `/openapi.json` of a running service. */
export const pagesOfService = (document: OpenApiDocument): ReadonlyMap<string, string> =>
  new Map([
    ["docs/reference/rest.md", openApiPage(document, "rest")],
    ["docs/reference/ta.md", openApiPage(document, "ta")],
  ]);

type Tampering = { readonly table: string; readonly what: string; readonly by: string };

const ABOUT = `Each row is a change that the database's owner can make with the triggers off; the service's own role
[cannot](../how-to/deploy.md#two-roles) switch them off. A test makes each change in a copy of a register and runs the
command named, which reports the change and ends with code 1 (test/audit/tampering.test.ts). FILE has entries of the
[sequence](../how-to/audit.md#the-sequence) that were kept elsewhere; SOURCE is any node or archive of the ledger.
[\`compare\`](../how-to/audit.md#comparing-two-deployments) compares the answers of another deployment, whatever its
tables contain.`;

const NOT_HERE = `No command of the deployment itself finds a change of these tables.`;

const tamperingPage = (
  tamperings: readonly Tampering[],
  outside: Readonly<Record<string, string>>,
): string => {
  const found = tamperings.map(({ table: of, what, by }) => [code(of), what, code(by)]);
  const rest = Object.entries(outside).map(([of, by]) => [code(of), by]);
  return [
    head("Which command finds which change", ABOUT),
    table(["table", "changed", "found by"], found),
    `## Found by something outside\n\n${NOT_HERE}\n`,
    table(["table", "what shows a change"], rest),
  ].join("\n");
};
