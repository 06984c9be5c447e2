/**
 * `JSON.parse` that never rounds: an integer beyond 2^53 becomes a `bigint`.
 *
 * @throws SyntaxError when the text is not JSON
 */
export declare const parseExactly: (text: string) => unknown;
