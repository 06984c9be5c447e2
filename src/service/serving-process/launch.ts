/** One process that serves, from its start to its end. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Deadline, withinDeadline } from "../../waiting/deadline.ts";
import { type FromServing, fromServing, type ToServing } from "./messages.ts";

/** How it ended, and why where it could still say so. */
export type Ended = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly failure: Extract<FromServing, { kind: "failed" }> | undefined;
};

/** Where requests come in; `port` also where the URL leaves it out. */
export type Listening = { readonly url: string; readonly port: number };

export type Life = {
  /** Resolves once it has its port; never when it ends before. */
  readonly listening: Promise<Listening>;
  /** Resolves once requests are answered; never when it ends before. */
  readonly opened: Promise<void>;
  readonly ended: Promise<Ended>;
  /**
   * Sends a message; a snapshot is dropped while one before it was not taken. One that answered none of
   * the last sixty hangs, and is killed.
   */
  tell(message: ToServing): void;
  /** Lets requests under way end, for a while; before it was told to open all are refused, and it ends at once. */
  end(): Promise<void>;
};

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));

/** Before the program, because it changes how the program's own modules are found. */
const PRELOADED = ["--import", new URL("../../commands/quick-imports.ts", import.meta.url).href];

/** Answers are much garbage that dies young: room for it spares copying. */
const YOUNG_MIB = 16;

/**
 * The bound of the old generation is what an attack can make of it; buffers are outside of it and bounded
 * where they are made. It holds bodies of the usual size; larger ones need three times their size more.
 */
const OLD_MIB = 176;
const USUAL_BODY_MIB = 15;

/**
 * V8's middle compiler takes some 180 MB beside the heap for a large compiled query, which it never gives
 * back. What indexes keeps it: it runs the same code a few times a second, which it makes a third quicker.
 */
const COMPILERS = ["--no-maglev"];

const heapFor = (bodyBytes: number): readonly string[] => {
  const beyond = Math.max(0, Math.ceil(bodyBytes / 2 ** 20) - USUAL_BODY_MIB);
  return [`--max-semi-space-size=${YOUNG_MIB}`, `--max-old-space-size=${OLD_MIB + 3 * beyond}`];
};

/** Longer than it gives itself. */
const END_DEADLINE: Deadline = { ms: 15_000 };

/**
 * A minute of them: longer than any answer takes. Snapshots are counted, not time: a machine that slept
 * has sent none.
 */
const MOST_UNANSWERED = 60;

/**
 * @param bodyBytes of the largest request that is taken
 * @param port instead of the configured one: that which another one had before
 */
export const launch = ({
  bodyBytes,
  port,
}: {
  readonly bodyBytes: number;
  readonly port?: number | undefined;
}): Life => {
  const child = fork(PROGRAM, [], {
    // Of ours, all but the bounds of the heap.
    execArgv: [
      ...process.execArgv.filter((flag) => !flag.startsWith("--max-")),
      ...heapFor(bodyBytes),
      ...COMPILERS,
      ...PRELOADED,
    ],
    env: {
      ...process.env,
      ...(port !== undefined && { PORT: String(port) }),
      // What answers requests has no use for the tables' owner. Empty: a `.env` does not bring it back.
      DATABASE_OWNER_URL: "",
      DATABASE_OWNER_URL_FILE: "",
    },
    serialization: "advanced",
    // Standard output is for data, and it has none.
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const listening = Promise.withResolvers<Listening>();
  const opened = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Ended>();
  let failure: Ended["failure"];
  let sending = false;
  let unanswered = 0;
  let toldToOpen = false;
  child.on("message", (message) => {
    const told = fromServing.parse(message);
    unanswered = 0;
    if (told.kind === "listening") listening.resolve(told);
    else if (told.kind === "opened") opened.resolve();
    else if (told.kind === "failed") failure = told;
  });
  child.on("error", ({ name, message }) => {
    failure = { kind: "failed", name, message, settings: false, passing: true };
    if (child.pid === undefined) ended.resolve({ code: null, signal: null, failure });
  });
  child.once("exit", (code, signal) => {
    const end = () => ended.resolve({ code, signal, failure });
    // After the last of its messages.
    if (child.connected) child.once("disconnect", end);
    else end();
  });
  return {
    listening: listening.promise,
    opened: opened.promise,
    ended: ended.promise,
    tell: (message) => {
      if (message.kind === "open") toldToOpen = true;
      unanswered += 1;
      if (unanswered > MOST_UNANSWERED) child.kill("SIGKILL");
      // One that is stopped or busy takes nothing: what waits for it must not grow.
      if (!child.connected || (sending && message.kind === "snapshot")) return;
      sending = true;
      child.send(message, () => {
        sending = false;
      });
    },
    end: async () => {
      // It loads code meanwhile, which takes a second or more in which it hears nothing.
      if (!toldToOpen) child.kill("SIGKILL");
      if (child.connected) child.disconnect();
      await withinDeadline(ended.promise, END_DEADLINE).catch(() => child.kill("SIGKILL"));
      await ended.promise;
    },
  };
};
