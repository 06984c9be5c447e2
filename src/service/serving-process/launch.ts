import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Deadline, withinDeadline } from "../../waiting/deadline.ts";
import { type FromServing, fromServing, type ToServing } from "./messages.ts";

/** How the process ended, and its own reason if it sent one. */
export type Ended = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly failure: Extract<FromServing, { kind: "failed" }> | undefined;
};

/** `port` is set even where the URL omits it. */
export type Listening = { readonly url: string; readonly port: number };

export type Life = {
  /** Resolves once it has its port; never if it ends before. */
  readonly listening: Promise<Listening>;
  /** Resolves once requests are answered; never if it ends before. */
  readonly opened: Promise<void>;
  readonly ended: Promise<Ended>;
  /**
   * Sends a message; drops a snapshot while an earlier one is unsent. A process that answered none
   * of the last sixty snapshots hangs and is killed.
   */
  tell(message: ToServing): void;
  /**
   * Lets requests under way end for a while; before `open` there are none, so it kills the process.
   */
  end(): Promise<void>;
};

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));

/** Loaded before the program, because it changes module resolution. */
const PRELOADED = ["--import", new URL("../../commands/quick-imports.ts", import.meta.url).href];

/** Answers make much short-lived garbage: a large young generation spares copying. */
const YOUNG_MIB = 16;

/**
 * Bounds what an attack can fill; buffers are outside of it, bounded where they are made. Enough
 * for bodies of the usual size; larger ones need three times their excess.
 */
const OLD_MIB = 176;
const USUAL_BODY_MIB = 15;

/**
 * V8's middle compiler permanently takes some 180 MB beside the heap for a large compiled query.
 * The indexing process keeps it: its repeated code runs a third faster.
 */
const COMPILERS = ["--no-maglev"];

const heapFor = (bodyBytes: number): readonly string[] => {
  const beyond = Math.max(0, Math.ceil(bodyBytes / 2 ** 20) - USUAL_BODY_MIB);
  return [`--max-semi-space-size=${YOUNG_MIB}`, `--max-old-space-size=${OLD_MIB + 3 * beyond}`];
};

/** Longer than the process's own deadline. */
const END_DEADLINE: Deadline = { ms: 15_000 };

/**
 * A minute of snapshots. They are counted instead of time, because a suspended machine sends none.
 */
const MOST_UNANSWERED = 60;

/**
 * @param bodyBytes largest accepted request
 * @param port its predecessor's, instead of the configured one
 */
export const launch = ({
  bodyBytes,
  port,
}: {
  readonly bodyBytes: number;
  readonly port?: number | undefined;
}): Life => {
  const child = fork(PROGRAM, [], {
    // Our own flags, except the heap's bounds.
    execArgv: [
      ...process.execArgv.filter((flag) => !flag.startsWith("--max-")),
      ...heapFor(bodyBytes),
      ...COMPILERS,
      ...PRELOADED,
    ],
    env: {
      ...process.env,
      ...(port !== undefined && { PORT: String(port) }),
      // Serving needs no owner's rights. Empty, so that `.env` does not set it again.
      DATABASE_OWNER_URL: "",
      DATABASE_OWNER_URL_FILE: "",
    },
    serialization: "advanced",
    // Standard output is for data; this process has none.
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const listening = Promise.withResolvers<Listening>();
  const opened = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Ended>();
  let failure: Ended["failure"];
  let sending = false;
  let unanswered = 0;
  let isOpening = false;
  child.on("message", (message) => {
    const received = fromServing.parse(message);
    unanswered = 0;
    if (received.kind === "listening") listening.resolve(received);
    else if (received.kind === "opened") opened.resolve();
    else if (received.kind === "failed") failure = received;
  });
  child.on("error", ({ name, message }) => {
    failure = { kind: "failed", name, message, settings: false, passing: true };
    if (child.pid === undefined) ended.resolve({ code: null, signal: null, failure });
  });
  child.once("exit", (code, signal) => {
    const end = () => ended.resolve({ code, signal, failure });
    // After its last message.
    if (child.connected) child.once("disconnect", end);
    else end();
  });
  return {
    listening: listening.promise,
    opened: opened.promise,
    ended: ended.promise,
    tell: (message) => {
      if (message.kind === "open") isOpening = true;
      unanswered += 1;
      if (unanswered > MOST_UNANSWERED) child.kill("SIGKILL");
      // A stopped or busy process reads nothing: pending snapshots must not pile up.
      if (!child.connected || (sending && message.kind === "snapshot")) return;
      sending = true;
      child.send(message, () => {
        sending = false;
      });
    },
    end: async () => {
      // While loading code, for a second or more, it cannot handle messages.
      if (!isOpening) child.kill("SIGKILL");
      if (child.connected) child.disconnect();
      await withinDeadline(ended.promise, END_DEADLINE).catch(() => child.kill("SIGKILL"));
      await ended.promise;
    },
  };
};
