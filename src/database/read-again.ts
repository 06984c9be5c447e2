import { mayBeginAgain } from "./database-error.ts";

const MOST_AGAIN = 2;

/** Runs what only reads, and again if its replica left or cancelled it for what it has to replay. */
export const readAgain = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  for (let left = MOST_AGAIN; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (left <= 0 || !mayBeginAgain(error)) throw error;
    }
  }
};
