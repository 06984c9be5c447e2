/** GraphQL documents, typed by the service's schema: `graph(`query { … }`)`. */
import { initGraphQLTada, type ResultOf } from "gql.tada";
import type { introspection } from "./schema-types.d.ts";

export const graph = initGraphQLTada<{ introspection: introspection }>();

export type { ResultOf };
