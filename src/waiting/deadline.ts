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
 * The answer, or a DeadlineError when it takes too long. The answer is not cancelled, only no longer
 * waited for.
 */
export const withinDeadline = async <T>(answer: Promise<T>, deadline: Deadline): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(deadline)), deadline.ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
    // Nobody waits for it any more: its late failure must not become an unhandled one.
    answer.catch(() => undefined);
  }
};
