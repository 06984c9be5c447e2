/**
 * `JSON.parse` that never rounds: an integer beyond 2^53 becomes a `bigint`.
 * Needs a runtime that shows a number's source text (Node 21 and later).
 */
export const parseExactly = (text) =>
  JSON.parse(text, (_key, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || !Number.isInteger(value)) {
      return value;
    }
    if (context?.source === undefined) {
      throw new RangeError(
        "this runtime would round an amount; use Node 21 or later, or parse the body yourself",
      );
    }
    // 1e400 and the like are no amounts: they stay the numbers JSON makes of them.
    return /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
  });
