/** The GraphQL schema: each file imported here adds its types and queries. */
import "./balance-changes.ts";
import "./cap-table.ts";
import "./tokens.ts";
import "./state-ranges.ts";
import "./indexer-status.ts";
import "./replays.ts";
import "./meta.ts";
import "./completeness.ts";
import "./labels.ts";
import "./transaction.ts";
import "./holder.ts";
import "./wallet.ts";
import "./series.ts";
import "./search.ts";
import {
  buildSchema,
  DangerousChangeType,
  findBreakingChanges,
  findDangerousChanges,
  lexicographicSortSchema,
  printSchema,
} from "graphql";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { builder } from "./builder.ts";
import { withConnections } from "./connections.ts";

// A pipeline's queries are in the files of their names: `tokenActivity` in token-activity.ts.
const kebabCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
await Promise.all(
  ledgerPipelines.flatMap(({ queries }) =>
    queries.map((query) => import(`./${kebabCase(query)}.ts`)),
  ),
);

export const schema = withConnections(builder.toSchema());

/** The schema as text, sorted, so that a change shows as a change of few lines. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`;

/** Dangerous changes that break clients: another default limit is another answer. */
const NARROWING: readonly string[] = [DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE];

/**
 * What the schema removes from, or narrows in, the released one, on which clients rely; empty when it only grew.
 * @param released schema text
 */
export const narrowed = (released: string, now = schema): readonly string[] => {
  const before = buildSchema(released);
  const dangerous = findDangerousChanges(before, now).filter(({ type }) =>
    NARROWING.includes(type),
  );
  return [...findBreakingChanges(before, now), ...dangerous].map(({ description }) => description);
};
