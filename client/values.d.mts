/** An answer with what the schema gives as decimal text as `bigint`, all the way down. */
export declare const exact: (value: unknown) => unknown;
