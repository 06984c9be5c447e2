/** A word of a query's text. */
type Token = {
  readonly kind: string | undefined;
  readonly word: string;
  readonly index: number;
};

export declare const tokensOf: (text: string) => readonly Token[];
export declare const prettified: (text: string) => string;

/** An operation of a text. */
type NamedOperation = {
  /** query, mutation or subscription. */
  readonly kind: string;
  readonly name: string | undefined;
  readonly from: number;
  readonly to: number;
};

export declare const operationAt: (
  text: string,
  place: number,
) => (NamedOperation & { readonly isOnly: boolean }) | undefined;

export declare const INTROSPECTION: string;

/** A schema as `schemaOf` makes it of an answer to `INTROSPECTION`. */
type KnownSchema = { readonly types: ReadonlyMap<string, unknown> };

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
