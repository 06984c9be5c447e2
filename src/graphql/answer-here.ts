/** GraphQL answered in this process, so that `compare` asks this deployment what it asks the other one. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { readAgain } from "../database/read-again.ts";
import type { Remedy } from "../waiting/remedy.ts";
import type { GraphSources } from "./context.ts";
import { createEngine } from "./engine.ts";
import type { RequestScope } from "./request.ts";
import { schema } from "./schema.ts";

const answered = z.object({
  data: z.record(z.string(), z.unknown()).nullish(),
  errors: z
    .array(
      z.object({
        message: z.string(),
        extensions: z.object({ code: z.string().optional() }).optional(),
      }),
    )
    .optional(),
  extensions: z.object({ quarantined: z.array(z.object({ coinType: z.string() })) }).optional(),
});

/** The answer lacks a held coin. Wait until it is released. */
export class HeldHereError extends Error {
  override readonly name = "HeldHereError";
  readonly remedy: Remedy = "wait";
}

/** Answers queries over these sources. @throws HeldHereError (wait), Error with the first error of an answer */
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
      const request = engine.read(JSON.stringify({ query, variables }));
      const { body } = await readAgain(() =>
        request.answer(undefined, { requestId: randomUUID(), log, signal }),
      );
      const { data, errors = [], extensions } = answered.parse(JSON.parse(body));
      const [error] = errors;
      const [held] = extensions?.quarantined ?? [];
      if (error?.extensions?.code === "QUARANTINED" || held !== undefined) {
        throw new HeldHereError(
          `this deployment: ${error?.message ?? `${held?.coinType} is in quarantine`}`,
        );
      }
      if (error !== undefined) throw new Error(`this deployment: ${error.message}`);
      return data ?? {};
    },
  };
};
