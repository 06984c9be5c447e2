/** The schema as TypeScript types, from which `gql.tada` reads what the page's documents answer. */
import { minifyIntrospection, outputIntrospectionFile } from "@gql.tada/internal";
import { introspectionFromSchema } from "graphql";
import { schema } from "./schema.ts";

/** Text of `web/src/data/schema-types.d.ts`. */
export const pageTypes = (): string =>
  outputIntrospectionFile(minifyIntrospection(introspectionFromSchema(schema)), {
    fileType: ".d.ts",
    shouldPreprocess: true,
  });
