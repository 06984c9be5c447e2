/**
 * The schema's builder. Each file beside this one that names a type adds the type and its query;
 * `schema.ts` gathers them.
 *
 * Amounts and 64-bit numbers leave as decimal strings: they do not fit a JSON number. Every query is
 * nullable, so that one that fails leaves the answers of the others in the same request standing.
 */
import SchemaBuilder from "@pothos/core";
import ComplexityPlugin from "@pothos/plugin-complexity";
import type { GraphContext } from "./context.ts";
import "./field-reads.ts";

export const builder = new SchemaBuilder<{
  Context: GraphContext;
  DefaultFieldNullability: false;
}>({
  plugins: [ComplexityPlugin, "reads"],
  defaultFieldNullability: false,
  // Cost counts the values an answer can hold: one per field, times the rows of its list. The bound
  // is checked before anything runs (limits.ts), so the plugin checks nothing itself.
  complexity: { defaultComplexity: 1, defaultListMultiplier: 1 },
});

builder.subscriptionType({
  description:
    "What the indexer commits, as it does: server-sent events, for POST with Accept: text/event-stream. Each " +
    "begins behind the argument after and leaves nothing out; without it, with what comes from now on.",
});

builder.queryType({
  description:
    "Security tokens as the indexer has them. Every query that names a coin type or an owner takes " +
    "the short address form and any letter case; an unknown one gives an empty list or a zero balance.",
});
