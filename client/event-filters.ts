import { BookError } from "./asking.ts";
import type { At, EventFilters } from "./register.ts";

type Arguments = Readonly<Record<string, readonly [type: string, value: unknown]>>;

const bound = (at: At | undefined, name: "from" | "to"): Arguments => {
  if (at === undefined) return {};
  return "checkpoint" in at
    ? { [`${name}Checkpoint`]: ["String", String(at.checkpoint)] }
    : { [`${name}Timestamp`]: ["String", String(Math.floor(at.time.getTime() / 1_000))] };
};

/**
 * The arguments of the field, besides `owner`.
 * @param typesOf GraphQL type of `types`
 * @throws BookError for filters of a subscription
 */
export const filterArguments = (
  { holderId, types, from, to, order }: EventFilters,
  typesOf: string,
  follow: boolean,
): Arguments => {
  const args: Arguments = {
    holderId: ["String", holderId],
    types: [typesOf, types],
    ...bound(from, "from"),
    ...bound(to, "to"),
    order: ["SortOrder", order],
  };
  if (follow && Object.values(args).some(([, value]) => value !== undefined)) {
    throw new BookError("filters are for lists: pass follow: false", { code: "BAD_USER_INPUT" });
  }
  return args;
};
