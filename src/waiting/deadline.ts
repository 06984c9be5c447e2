export type Deadline = { readonly ms: number };

/** No answer in time. The operation may still complete. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";

  constructor({ ms }: Deadline) {
    super(`no answer within ${ms} ms`);
  }
}

/**
 * Rejects when the answer takes too long; does not cancel it.
 * @param late makes the error; `DeadlineError` by default
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
    // `race` also handles a rejection after the deadline.
    return await Promise.race([answer, missed]);
  } finally {
    clearTimeout(timer);
  }
};
