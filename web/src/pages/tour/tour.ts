/** The guided tour: one request on the demo ledger, and the stations that it has passed. */
import type { Tour } from "../../data/answers.ts";

/** The stations of a request, in order. */
export const STATIONS = [
  "accepted",
  "queued",
  "transaction",
  "checkpoint",
  "register",
  "callback",
] as const;
export type Station = (typeof STATIONS)[number];

/** The page of the documentation on each. */
export const READ: Readonly<Record<Station, string>> = {
  accepted: "docs/how-to/transfer-agent.md",
  queued: "docs/explanation/transfer-agent-processing.md",
  transaction: "docs/explanation/transfer-agent-processing.md",
  checkpoint: "docs/how-to/audit.md",
  register: "docs/how-to/graphql.md",
  callback: "docs/how-to/callbacks.md",
};

export type Passed = {
  readonly station: Station;
  readonly state: "done" | "failed" | "now" | "later";
  /** From the request's history, ISO 8601; null where it has no time. */
  readonly at: string | null;
};

/** Which stations are passed, which one is next, and which are still to come. */
export const passedOf = (tour: Tour): readonly Passed[] => {
  const { txId, checkpoint, holderEvent, delivery } = tour;
  const { history, status } = tour.request;
  const timeOf = (text: string): string | null =>
    history.find(({ message }) => message.includes(text))?.at ?? null;
  const started = history.find((step) => step.status !== "QUEUED")?.at ?? null;
  const reached: readonly (readonly [Station, boolean, string | null])[] = [
    ["accepted", history.length > 0, history[0]?.at ?? null],
    ["queued", status !== "QUEUED", started],
    ["transaction", txId !== null, txId === null ? null : timeOf(txId)],
    ["checkpoint", checkpoint !== null, timeOf("executed at")],
    ["register", holderEvent !== null, timeOf("confirmed by the register")],
    ["callback", delivery?.state === "delivered", null],
  ];
  const failed =
    status === "FAILED" || delivery?.state === "failed" || delivery?.state === "disabled";
  let open = true;
  return reached.map(([station, isDone, at]): Passed => {
    if (isDone && open) return { station, state: "done", at };
    if (!open) return { station, state: "later", at: null };
    open = false;
    return { station, state: failed ? "failed" : "now", at: null };
  });
};

/** Whether nothing more will happen. */
export const isOver = (tour: Tour): boolean =>
  passedOf(tour).every(({ state }) => state === "done") ||
  passedOf(tour).some(({ state }) => state === "failed");

/** The same with only so many stations passed, to show fast ones one after another. */
export const upTo = (passed: readonly Passed[], shown: number): readonly Passed[] =>
  passed.map((one, index) =>
    index < shown
      ? one
      : index === shown
        ? { ...one, state: one.state === "later" ? "later" : "now", at: null }
        : { ...one, state: "later", at: null },
  );

/** How many stations are passed or failed. */
export const settledOf = (passed: readonly Passed[]): number =>
  passed.filter(({ state }) => state === "done" || state === "failed").length;
