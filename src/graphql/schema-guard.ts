/**
 * The schema may only grow: clients rely on what was released, so nothing of it is removed or narrowed.
 */
import {
  buildSchema,
  DangerousChangeType,
  findBreakingChanges,
  findDangerousChanges,
  type GraphQLSchema,
} from "graphql";

/** Dangerous changes that break clients: another default limit is another answer. */
const NARROWING: readonly string[] = [DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE];

/**
 * What `schema` removes from, or narrows in, the released one; empty when it only grew.
 * @param released schema text
 */
export const narrowed = (released: string, schema: GraphQLSchema): readonly string[] => {
  const before = buildSchema(released);
  const dangerous = findDangerousChanges(before, schema).filter(({ type }) =>
    NARROWING.includes(type),
  );
  return [...findBreakingChanges(before, schema), ...dangerous].map(
    ({ description }) => description,
  );
};
