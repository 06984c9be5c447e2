/** A word of a query's text. */
export type Token = {
  readonly kind: string | undefined;
  readonly word: string;
  readonly index: number;
};

export declare const tokensOf: (text: string) => readonly Token[];
export declare const styleOf: (token: Token) => string | undefined;
export declare const prettified: (text: string) => string;

/** An operation of a text. */
export type NamedOperation = {
  /** query, mutation or subscription. */
  readonly kind: string;
  readonly name: string | undefined;
  readonly from: number;
  readonly to: number;
};

export declare const operationsOf: (text: string) => readonly NamedOperation[];
export declare const operationAt: (
  text: string,
  place: number,
) => (NamedOperation & { readonly isOnly: boolean }) | undefined;
