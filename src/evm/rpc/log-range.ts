/**
 * How many blocks to ask logs of at once. Providers limit the range, the number of results, the size
 * of the answer or the time it takes, each in its own way and words, so the size is found by trying:
 * halved when refused, grown when answered.
 */

export type RangeRefusal = {
  /** How many were asked for. */
  readonly blocks: number;
  /** The size that the provider proposed, if it did. */
  readonly hint?: number | undefined;
  /** It may as well have been an outage, which says nothing about sizes. */
  readonly doubtful?: boolean;
};

export type LogRange = {
  /** Blocks to ask for now, at least 1. */
  size(): number;
  /**
   * A range of `blocks` blocks was answered with `logs` logs. Only a range of the full size says
   * anything about a larger one.
   */
  answered(blocks: number, logs: number): void;
  refused(refusal: RangeRefusal): void;
};

export type LogRangeSettings = {
  readonly first: number;
  readonly most: number;
  /** Logs in one answer to aim at: what one batch holds in memory, several times over. */
  readonly logs: number;
};

export const logRangeDefaults: LogRangeSettings = { first: 100, most: 500_000, logs: 10_000 };

/** Answers after which a refused size is tried again: what was dense or slow may not be any more. */
const FORGET_AFTER = 200;

/** The same where it may have been an outage: reading in single blocks must not outlast it for long. */
const FORGET_DOUBTFUL_AFTER = 20;

export const adaptiveRange = (settings: LogRangeSettings = logRangeDefaults): LogRange => {
  let size = settings.first;
  /** Smallest size refused; sizes below it are searched by bisection instead of doubled. */
  let refusedAt = Number.POSITIVE_INFINITY;
  let answersSince = 0;
  let forgetAfter = FORGET_AFTER;

  const within = (blocks: number) => Math.max(1, Math.min(Math.floor(blocks), settings.most));

  return {
    size: () => size,
    answered: (blocks, logs) => {
      answersSince += 1;
      if (answersSince >= forgetAfter) refusedAt = Number.POSITIVE_INFINITY;
      if (logs > settings.logs) {
        size = within((blocks * settings.logs) / logs);
        return;
      }
      if (blocks < size) return;
      const wanted = logs * 2 > settings.logs ? size : size * 2;
      const middle = (size + refusedAt) / 2;
      // Within a tenth of what was refused there is nothing left to gain.
      const nearby = refusedAt - size <= refusedAt / 10;
      size = within(wanted < refusedAt ? Math.min(wanted, middle) : nearby ? size : middle);
    },
    refused: ({ blocks, hint, doubtful = false }) => {
      forgetAfter = doubtful ? FORGET_DOUBTFUL_AFTER : FORGET_AFTER;
      refusedAt = Math.min(refusedAt, Math.max(2, blocks));
      answersSince = 0;
      size = within(
        hint !== undefined && hint >= 1 && hint < blocks ? hint : Math.min(size, blocks) / 2,
      );
    },
  };
};
