/**
 * An amount of the smallest unit in tokens, exact, with all decimals: `1234500n` with 4 decimals is
 * "123.4500".
 * @param decimals of the token, 0 to 255
 */
export declare const inTokens: (units: bigint, decimals: number) => string;
