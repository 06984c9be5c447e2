import { builder } from "./builder.ts";

/** Argument of lists along the chain. */
export const SortOrder = builder.enumType("SortOrder", {
  description: "Order along the chain.",
  values: {
    ASC: { description: "Oldest first." },
    DESC: { description: "Newest first." },
  },
});
