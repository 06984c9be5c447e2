/** How long an answer may take. */
export type Deadline = { readonly ms: number };

/** No answer in time. What was asked may still happen. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";

  constructor({ ms }: Deadline) {
    super(`no answer within ${ms} ms`);
  }
}

/**
 * The answer, or an error when it takes too long. The answer is not cancelled, only no longer waited for.
 *
 * @param late makes that error; a `DeadlineError` unless given
 */
export const withinDeadline = async <T>(
  answer: PromiseLike<T>,
  deadline: Deadline,
  late: (deadline: Deadline) => Error = (missed) => new DeadlineError(missed),
): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const missed = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late(deadline)), deadline.ms);
  });
  try {
    // The race also hears a failure that comes too late: it is never an unhandled one.
    return await Promise.race([answer, missed]);
  } finally {
    clearTimeout(timer);
  }
};
