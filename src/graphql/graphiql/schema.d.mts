export declare const INTROSPECTION: string;

/** A schema as `schemaOf` makes it of an answer to `INTROSPECTION`. */
export type KnownSchema = { readonly types: ReadonlyMap<string, unknown> };

export declare const schemaOf: (data: unknown) => KnownSchema;

export declare const suggestions: (
  schema: KnownSchema,
  text: string,
  place: number,
) => {
  readonly begun: string;
  readonly all: readonly {
    readonly name: string;
    readonly insert: string;
    readonly type: string;
    readonly description: string;
  }[];
};
