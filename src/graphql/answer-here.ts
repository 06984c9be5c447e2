/** GraphQL answered in this process, so that `compare` asks this deployment what it asks the other one. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { GraphSources } from "./context.ts";
import { createEngine } from "./engine.ts";
import type { RequestScope } from "./request.ts";
import { schema } from "./schema.ts";

const answered = z.object({
  data: z.record(z.string(), z.unknown()).nullish(),
  errors: z.array(z.object({ message: z.string() })).optional(),
});

/** Answers queries over these sources. @throws Error with the first error of an answer */
export const answerHere = (
  sources: GraphSources,
  { log, signal }: Pick<RequestScope, "log" | "signal">,
) => {
  const engine = createEngine(schema, sources);
  return {
    ask: async (
      query: string,
      variables: Readonly<Record<string, string | number>> = {},
    ): Promise<Readonly<Record<string, unknown>>> => {
      const { body } = await engine
        .read(JSON.stringify({ query, variables }))
        .answer(undefined, { requestId: randomUUID(), log, signal });
      const { data, errors = [] } = answered.parse(JSON.parse(body));
      const [error] = errors;
      if (error !== undefined) throw new Error(`this deployment: ${error.message}`);
      return data ?? {};
    },
  };
};
