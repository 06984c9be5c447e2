/** All pages of the reference that are made from the code, by their paths in the project. */
import { wholeProgram } from "../../src/commands/command-line.ts";
import { commandTree } from "../../src/commands/command-tree.ts";
import { ERROR_CODES } from "../../src/graphql/errors.ts";
import { schema } from "../../src/graphql/schema.ts";
import { FAILURE_REASONS } from "../../src/ta/requests/failure-reasons.ts";
import { OUTSIDE, TAMPERINGS } from "../../test/audit/tamperings.ts";
import { cliPage } from "./cli.ts";
import { errorsPage } from "./errors.ts";
import { graphqlPage } from "./graphql.ts";
import { type OpenApiDocument, openApiPage } from "./openapi.ts";
import { schemaFiles } from "./schemas/files.ts";
import { envExample, settingsPage } from "./settings.ts";
import { tamperingPage } from "./tampering.ts";
import { vectorFiles } from "./vectors/files.ts";

/** Pages by path, from the code alone. */
export const pagesOfCode = async (root: string): Promise<ReadonlyMap<string, string>> =>
  new Map([
    ["docs/reference/cli.md", cliPage(commandTree(await wholeProgram()))],
    ["docs/reference/settings.md", settingsPage()],
    [".env.example", envExample()],
    ["docs/reference/tampering.md", tamperingPage(TAMPERINGS, OUTSIDE)],
    ["docs/reference/graphql.md", graphqlPage(schema, ERROR_CODES)],
    [
      "docs/reference/errors.md",
      errorsPage(root, { codes: ERROR_CODES, reasons: FAILURE_REASONS }),
    ],
    ...schemaFiles(),
    ...(await vectorFiles()),
  ]);

/** Pages by path, from what a running service says of itself (`/openapi.json`). */
export const pagesOfService = (document: OpenApiDocument): ReadonlyMap<string, string> =>
  new Map([
    ["docs/reference/rest.md", openApiPage(document, "rest")],
    ["docs/reference/ta.md", openApiPage(document, "ta")],
  ]);
