/**
 * What may happen to the schema: it may grow. Clients were written against what was released, so
 * nothing of it is removed or narrowed.
 */
import {
  buildSchema,
  DangerousChangeType,
  findBreakingChanges,
  findDangerousChanges,
  type GraphQLSchema,
} from "graphql";

/** Dangerous changes that are a narrowing here: a page of another default size is another answer. */
const NARROWING: readonly string[] = [DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE];

/**
 * What `schema` takes away from, or narrows in, the released one; empty when it only grew.
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
