/**
 * What a field reads and what that costs, declared at the field as `reads`.
 *
 * The planner (`read-plan.ts`) takes it from the schema, and a resolver has no other statements than those of the
 * pipelines that its field declares (`context.reads`). Every query needs a declaration, and so does every field
 * below a query whose complexity says that it costs more than one value: without one the schema does not build.
 */

import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type InputShapeFromFields,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type ShapeFromTypeParam,
  type TypeParam,
} from "@pothos/core";
import type { GraphQLField, GraphQLFieldResolver } from "graphql";
import type { ProgressTables } from "../projections/progress-tables.ts";

export type FieldReads<Args = object> = {
  /** Pipelines whose tables it reads, a list of `projections/needed.ts`; empty: nothing but watermarks. */
  pipelines(args: Args): readonly ProgressTables[];
  /** Whether it takes several statements, which must see one snapshot; one unless given. */
  several?(args: Args): boolean;
  /** Whether a statement may take long although the answer is small; not unless given. */
  long?(args: Args): boolean;
  /** The checkpoint that the whole request waits for; none unless given. */
  minCheckpoint?(args: Args): bigint | undefined;
  /** The list that it returns without a limit. */
  unlimited?(args: Args): UnlimitedList;
};

/** A list of all roles, its coin type as the caller wrote it; past ones have lengths of their own. */
export type UnlimitedList = { readonly coinType: string; readonly isPast: boolean };

/** What the plugin needs of a request's context. */
type ReadingContext = {
  /** The context of a field that reads these pipelines. */
  readsOf(pipelines: readonly ProgressTables[]): object;
};

/** A field does not say what it reads. Declare `reads` at the field. */
export class UndeclaredReadsError extends Error {
  override readonly name = "UndeclaredReadsError";

  constructor(type: string, field: string) {
    super(`${type}.${field}: declare with \`reads\` which pipelines it reads and what that costs`);
  }
}

/** The declaration of a field, from the built schema. */
export const declaredReads = ({
  extensions,
}: Pick<GraphQLField<unknown, unknown>, "extensions">): FieldReads | undefined =>
  isFieldReads(extensions.reads) ? extensions.reads : undefined;

const isFieldReads = (value: unknown): value is FieldReads =>
  typeof value === "object" && value !== null && "pipelines" in value;

/** A row of a list. */
type RowOf<Value> = Value extends readonly (infer Row)[] ? Row : never;

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      reads: FieldReadsPlugin<Types>;
    }
    interface FieldOptions<
      Types extends SchemaTypes = SchemaTypes,
      ParentShape = unknown,
      Type extends TypeParam<Types> = TypeParam<Types>,
      Nullable extends FieldNullability<Type> = FieldNullability<Type>,
      Args extends InputFieldMap = InputFieldMap,
      ResolveShape = unknown,
      ResolveReturnShape = unknown,
    > {
      reads?: FieldReads<InputShapeFromFields<Args>>;
      /**
       * The place of a row of a list, as the argument `after` takes it, of the list or of the field that answers
       * with its table: there is a connection, too.
       */
      cursorOf?: (row: RowOf<ShapeFromTypeParam<Types, Type, false>>) => string | bigint;
    }
    interface QueryFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      reads: FieldReads<InputShapeFromFields<Args>>;
    }
  }
}

class FieldReadsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>) {
    const { reads, complexity } = config.pothosOptions;
    const cursorOf: unknown =
      "cursorOf" in config.pothosOptions ? config.pothosOptions.cursorOf : undefined;
    const costsMore = config.kind === "Object" && ownCost(complexity) > 1;
    if (reads === undefined && (config.kind === "Query" || costsMore)) {
      throw new UndeclaredReadsError(config.parentType, config.name);
    }
    return { ...config, extensions: { ...config.extensions, reads, cursorOf } };
  }

  override wrapResolve(
    resolver: GraphQLFieldResolver<unknown, Types["Context"], object>,
    { pothosOptions }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types["Context"], object> {
    const reads: FieldReads | undefined = pothosOptions.reads;
    if (reads === undefined) return resolver;
    return (parent, args, context, info) => {
      if (!canRead(context)) throw new Error("resolvers need the context of `context.ts`");
      return resolver(parent, args, context.readsOf(reads.pipelines(args)), info);
    };
  }
}

const canRead = (context: object): context is ReadingContext => "readsOf" in context;

/** Cost of a field without its selection; a function may give any. */
const ownCost = (complexity: unknown): number => {
  if (typeof complexity === "object" && complexity !== null && "field" in complexity) {
    return Number(complexity.field);
  }
  return typeof complexity === "function" ? Number.POSITIVE_INFINITY : Number(complexity ?? 1);
};

SchemaBuilder.registerPlugin("reads", FieldReadsPlugin);
