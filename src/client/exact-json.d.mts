/**
 * `JSON.parse` that never rounds: an integer beyond 2^53 becomes a `bigint`.
 *
 * @throws SyntaxError when the text is not JSON
 * @throws RangeError on a runtime before Node 21, when it would have to round
 */
export declare const parseExactly: (text: string) => unknown;
