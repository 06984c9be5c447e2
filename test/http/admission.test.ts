import { expect, test } from "vitest";
import {
  type AdmissionSettings,
  createAdmission,
  type Slot,
} from "../../src/http/edge/admission.ts";
import { HttpError } from "../../src/http/http-error.ts";

const admissionOf = (settings: Partial<AdmissionSettings> = {}) =>
  createAdmission({
    perKey: 100,
    perProcess: 250,
    waitingPerKey: 3,
    waiting: 5,
    waitMs: 60_000,
    ...settings,
  });

/** In at once. */
const inside = (entered: Slot | Promise<Slot>): Slot => {
  if (entered instanceof Promise) throw new Error("it waits");
  return entered;
};

/** Waits; `settled` says what became of it once microtasks have run. */
const waits = (entered: Slot | Promise<Slot>) => {
  if (!(entered instanceof Promise)) throw new Error("it was let in at once");
  let state = "waiting";
  entered.then(
    () => {
      state = "in";
    },
    () => {
      state = "refused";
    },
  );
  return {
    slot: entered,
    state: async () => {
      await new Promise(setImmediate);
      return state;
    },
  };
};

test("a key's requests run concurrently up to its weight, and the next starts as soon as one has left", async () => {
  const admission = admissionOf();
  const first = inside(admission.enter("a", 60));
  inside(admission.enter("a", 40));
  const third = waits(admission.enter("a", 1));
  first.made();
  expect(await third.state()).toBe("waiting");
  first.left();
  expect(await third.state()).toBe("in");
});

test("a finished answer frees the process; its key is free once the answer was taken", async () => {
  const admission = admissionOf();
  const [first] = ["a", "b"].map((key) => inside(admission.enter(key, 100)));
  const other = waits(admission.enter("c", 100));
  first?.made();
  expect(await other.state()).toBe("in");
  expect(await waits(admission.enter("a", 1)).state()).toBe("waiting");
});

test("a request heavier than all bounds runs alone", async () => {
  const admission = admissionOf();
  const heavy = inside(admission.enter("a", 1_000));
  const light = waits(admission.enter("b", 1));
  heavy.left();
  expect(await light.state()).toBe("in");
});

test("keys take turns: one with many waiting does not delay one with a single request", async () => {
  const admission = admissionOf({ perProcess: 100 });
  const running = inside(admission.enter("greedy", 100));
  const greedy = [1, 2, 3].map(() => waits(admission.enter("greedy", 100)));
  const modest = waits(admission.enter("modest", 100));
  running.left();
  // Which of the two is next is open; the one behind it is the other.
  const [first] = greedy;
  if ((await first?.state()) === "in") (await first?.slot)?.left();
  expect(await modest.state()).toBe("in");
});

test("requests beyond the queue limit, of one key or of all, get 503 with Retry-After", () => {
  const admission = admissionOf();
  const enter = (key: string) => admission.enter(key, 100);
  const refusal = (key: string) => {
    try {
      enter(key);
    } catch (error) {
      return error instanceof HttpError ? error : undefined;
    }
    return undefined;
  };
  inside(enter("a"));
  for (let n = 0; n < 3; n += 1) waits(enter("a"));
  expect(refusal("a")).toMatchObject({ statusCode: 503, headers: { "retry-after": "1" } });
  // Others still wait their turn, until all waiting slots are taken.
  inside(enter("b"));
  waits(enter("b"));
  waits(enter("b"));
  expect(refusal("b")).toMatchObject({ statusCode: 503 });
  expect(admission.load).toEqual({ weight: 200, waiting: 5 });
});

test("a request that waits too long is refused, and leaves no trace", async () => {
  const admission = admissionOf({ waitMs: 1 });
  const running = inside(admission.enter("a", 100));
  const late = waits(admission.enter("a", 1));
  await expect(late.slot).rejects.toMatchObject({ statusCode: 503 });
  running.left();
  expect(admission.load).toEqual({ weight: 0, waiting: 0 });
  inside(admission.enter("a", 100)).left();
});

test("a caller who hangs up leaves the queue, and requests that now fit are admitted", async () => {
  const admission = admissionOf();
  inside(admission.enter("a", 60));
  const hangUp = new AbortController();
  const gone = waits(admission.enter("a", 60, hangUp.signal));
  const behind = waits(admission.enter("a", 40));
  expect(await behind.state()).toBe("waiting");
  hangUp.abort(new Error("gone"));
  await expect(gone.slot).rejects.toThrow("gone");
  expect(await behind.state()).toBe("in");
  expect(() => admission.enter("a", 1, hangUp.signal)).toThrow("gone");
});
