/** The GraphQL schema: each file imported here adds its type and its query. */
import "./token-activity.ts";
import "./token-balance.ts";
import "./token-objects.ts";
import "./token-holders.ts";
import "./token-timelocks.ts";
import "./holder-events.ts";
import "./wallet-roles.ts";
import "./role-events.ts";
import "./balance-changes.ts";
import "./cap-table.ts";
import "./tokens.ts";
import "./state-ranges.ts";
import "./indexer-status.ts";
import "./meta.ts";
import { lexicographicSortSchema, printSchema } from "graphql";
import { builder } from "./builder.ts";

export const schema = builder.toSchema();

/** The schema as text, sorted, so that a change shows as a change of few lines. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`;
