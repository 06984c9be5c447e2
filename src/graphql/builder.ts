/**
 * The schema's builder. Each file beside this one adds types and their queries; `schema.ts` imports them all.
 *
 * Amounts and 64-bit numbers are decimal strings, because they do not fit a JSON number: a bigint is a `String` here.
 * Every query is nullable, so that a failed one leaves the other answers of its request intact.
 */
import SchemaBuilder from "@pothos/core";
import ComplexityPlugin from "@pothos/plugin-complexity";
import type { GraphContext } from "./context.ts";
import "./field-reads.ts";

export const builder = new SchemaBuilder<{
  Context: GraphContext;
  DefaultFieldNullability: false;
  Scalars: { String: { Input: string; Output: string | bigint } };
}>({
  plugins: [ComplexityPlugin, "reads"],
  defaultFieldNullability: false,
  // Cost counts the values that an answer can hold: one per field, times the rows of its list. `limits.ts` checks
  // the bound before anything runs, so the plugin checks nothing.
  complexity: { defaultComplexity: 1, defaultListMultiplier: 1 },
});

builder.subscriptionType({
  description:
    "What the indexer commits, as server-sent events: POST with Accept: text/event-stream. A subscription begins " +
    "right after the place given as after, and leaves nothing out; without it, it begins with the next event.",
});

builder.queryType({
  description:
    "Security tokens as indexed. Coin types and owners are accepted in short address form and in any letter case; " +
    "unknown ones give an empty list or a zero balance.",
});
