/** A guided request of the demo ledger, and which part of the circle it has reached. */
import { type RequestStep, requestStep } from "../../data/operator.ts";
import { reading, text } from "../../data/read.ts";

/** For `POST /demo/tour`: the id to follow. */
export const readStarted = reading("tour", (it) => it.at("tourId").text());

/** For `GET /demo/tour/{id}`. */
export const readTour = reading("tour", (it) => ({
  wallet: it.at("wallet").text(),
  asset: it.at("asset").text(),
  coinType: it.at("coinType").text(),
  /** QUEUED, PENDING, SUCCESS or FAILED. */
  status: it.at("request").at("status").text(),
  history: it.at("request").at("history").list(requestStep),
  txId: it.at("txId").maybe(text),
  checkpoint: it.at("checkpoint").maybe(text),
  holderEvent: it.at("holderEvent").maybe((event) => ({
    eventType: event.at("eventType").text(),
    groupId: event.at("groupId").maybe(text),
  })),
  delivery: it.at("delivery").maybe((delivery) => ({
    id: delivery.at("id").text(),
    state: delivery.at("state").text(),
    attempts: delivery.at("attempts").number(),
  })),
}));
export type Tour = ReturnType<typeof readTour>;

/** The parts of the circle, in the order in which a request passes them. */
export const STATIONS = [
  "accepted",
  "queued",
  "transaction",
  "checkpoint",
  "register",
  "callback",
] as const;
export type Station = (typeof STATIONS)[number];

/** The page of the documentation that tells more about each. */
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
  /** When, as the request's history says; null where it does not. */
  readonly atMs: number | null;
};

/** How far a tour is: what was passed, what is being waited for, and what is still to come. */
export const passedOf = (tour: Tour): readonly Passed[] => {
  const { history, status, txId, checkpoint, holderEvent, delivery } = tour;
  const at = (is: (step: RequestStep) => boolean): number | null => history.find(is)?.atMs ?? null;
  const saying = (words: string) => at(({ message }) => message.includes(words));
  const reached: readonly (readonly [Station, boolean, number | null])[] = [
    ["accepted", history.length > 0, history[0]?.atMs ?? null],
    ["queued", status !== "QUEUED", at((step) => step.status !== "QUEUED")],
    ["transaction", txId !== null, txId === null ? null : saying(txId)],
    ["checkpoint", checkpoint !== null, saying("executed at")],
    ["register", holderEvent !== null, saying("confirmed by the register")],
    ["callback", delivery?.state === "delivered", null],
  ];
  const failed =
    status === "FAILED" || delivery?.state === "failed" || delivery?.state === "disabled";
  let open = true;
  return reached.map(([station, isDone, atMs]): Passed => {
    if (isDone && open) return { station, state: "done", atMs };
    if (!open) return { station, state: "later", atMs: null };
    open = false;
    return { station, state: failed ? "failed" : "now", atMs: null };
  });
};

/** Whether nothing more will happen. */
export const isOver = (tour: Tour): boolean =>
  passedOf(tour).every(({ state }) => state === "done") ||
  passedOf(tour).some(({ state }) => state === "failed");

/**
 * The same with only so many stations passed: for showing them one after another, however fast they were. The one behind
 * them is being waited for.
 */
export const upTo = (passed: readonly Passed[], shown: number): readonly Passed[] =>
  passed.map((one, index) =>
    index < shown
      ? one
      : index === shown
        ? { ...one, state: one.state === "later" ? "later" : "now", atMs: null }
        : { ...one, state: "later", atMs: null },
  );

/** How many are settled, and so may be shown as such. */
export const settledOf = (passed: readonly Passed[]): number =>
  passed.filter(({ state }) => state === "done" || state === "failed").length;
