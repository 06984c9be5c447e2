/** Characters of the longest row of a cap table. */
export declare const LONGEST_ROW: number;
