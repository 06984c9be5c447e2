export declare const NO_COIN: string;

/** A query that the page offers. */
export declare const EXAMPLES: readonly {
  readonly title: string;
  readonly needsCoin?: boolean;
  readonly query: string;
}[];
