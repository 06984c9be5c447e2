/** A page in a real Chromium without a window, and everything that it asks for. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

const DEADLINE_MS = 30_000;

export type Page = AsyncDisposable & {
  /** Addresses that the page, its frames and its workers asked for or were to, in order. */
  readonly requested: readonly string[];
  /** Uncaught errors, and loads that failed or that the page's policy forbade. */
  readonly complaints: readonly string[];
  /** The value of an expression in the page; of a promise what it resolves to. */
  evaluate(expression: string): Promise<unknown>;
  /** Waits until an expression is true; at the deadline fails with the text of the page. */
  until(expression: string): Promise<void>;
};

/** Browsers that serve: the shell without windows does the same for three quarters of the processor's time. */
const BROWSERS = ["chromium-headless-shell", "chromium"];

/** Path of a Chromium on this machine; undefined where there is none. */
export const chromiumPath = async (): Promise<string | undefined> => {
  for (const name of BROWSERS) {
    for (const folder of (process.env.PATH ?? "").split(delimiter)) {
      const path = join(folder, name);
      const found = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (found) return path;
    }
  }
  return undefined;
};

/**
 * Opens a page. `bypassPolicy` leaves its Content-Security-Policy out of account, to see what the page
 * would ask for without it. `before` is run in each document before anything of its own.
 */
export const openPage = async (
  chromium: string,
  url: string,
  {
    bypassPolicy = false,
    before,
  }: { readonly bypassPolicy?: boolean; readonly before?: string } = {},
): Promise<Page> => {
  const opened = new AsyncDisposableStack();
  try {
    const browser = opened.use(await startBrowser(chromium));
    const { targetId } = z
      .object({ targetId: z.string() })
      .parse(await browser.send("Target.createTarget", { url: "about:blank" }));
    const { sessionId } = z
      .object({ sessionId: z.string() })
      .parse(await browser.send("Target.attachToTarget", { targetId, flatten: true }));
    const send = (method: string, parameters = {}) => browser.send(method, parameters, sessionId);
    for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`);
    await browser.watch(sessionId);
    await send("Page.setBypassCSP", { enabled: bypassPolicy });
    if (before !== undefined) {
      await send("Page.addScriptToEvaluateOnNewDocument", { source: before });
    }
    await send("Page.navigate", { url });

    const evaluate = async (expression: string): Promise<unknown> => {
      const options = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = evaluated.parse(await send("Runtime.evaluate", options));
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
      return result.value;
    };
    const until = async (expression: string) => {
      const deadline = performance.now() + DEADLINE_MS;
      while ((await evaluate(`Boolean(${expression})`)) !== true) {
        if (performance.now() > deadline) {
          const text = await evaluate("document.body.innerText");
          throw new Error(`not within ${DEADLINE_MS} ms: ${expression}; the page reads: ${text}`);
        }
        await delay(50);
      }
    };
    return {
      requested: browser.requested,
      complaints: browser.complaints,
      evaluate,
      until,
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
};

const evaluated = z.object({
  result: z.object({ value: z.unknown().optional() }),
  exceptionDetails: z.unknown().optional(),
});

const message = z.object({
  id: z.int().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
});

const request = z.object({ request: z.object({ url: z.string() }) });

const attached = z.object({ sessionId: z.string() });

const logged = z.object({
  entry: z.object({ level: z.string(), text: z.string(), url: z.string().optional() }),
});

/** A browser that is spoken to over two pipes, in the DevTools protocol: it opens no port. */
const startBrowser = async (chromium: string) => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-chromium-"));
  const child = spawn(
    chromium,
    [
      ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
      ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
      ...["--disable-dev-shm-usage", "--window-size=1400,1000", "--remote-debugging-pipe"],
      // Whatever the browser itself would ask others for.
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
      `--user-data-dir=${folder}`,
      "about:blank",
    ],
    // A group of its own, which ends with its helpers; without us the closed pipe ends it.
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], detached: true },
  );
  const ended = once(child, "exit");
  const [, , , commands, answers] = child.stdio;
  if (!(commands instanceof Writable && answers instanceof Readable)) throw new Error("no pipes");

  const requested: string[] = [];
  const complaints: string[] = [];
  const waiting = new Map<number, (answer: z.infer<typeof message>) => void>();
  const events: Readonly<Record<string, (parameters: unknown) => void>> = {
    "Network.requestWillBeSent": (parameters) => {
      requested.push(request.parse(parameters).request.url);
    },
    "Target.attachedToTarget": (parameters) => {
      void watch(attached.parse(parameters).sessionId).catch(() => undefined);
    },
    "Log.entryAdded": (parameters) => {
      const { entry } = logged.parse(parameters);
      if (entry.level === "error") complaints.push(`${entry.text} ${entry.url ?? ""}`);
    },
    "Runtime.exceptionThrown": (parameters) => complaints.push(JSON.stringify(parameters)),
  };
  const hear = (text: string) => {
    const heard = message.parse(JSON.parse(text));
    if (heard.id !== undefined) waiting.get(heard.id)?.(heard);
    else events[heard.method ?? ""]?.(heard.params);
  };
  let unread = "";
  answers.setEncoding("utf8").on("data", (chunk: string) => {
    const texts = `${unread}${chunk}`.split("\0");
    unread = texts.pop() ?? "";
    for (const text of texts) hear(text);
  });

  let last = 0;
  const send = async (method: string, params: object, sessionId?: string): Promise<unknown> => {
    last += 1;
    const id = last;
    const answered = new Promise<z.infer<typeof message>>((resolve) => waiting.set(id, resolve));
    commands.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    const gone = ended.then(() => Promise.reject(new Error(`chromium ended before ${method}`)));
    const late = delay(DEADLINE_MS, undefined, { ref: false }).then(() =>
      Promise.reject(new Error(`chromium did not answer ${method} within ${DEADLINE_MS} ms`)),
    );
    const { result, error } = await Promise.race([answered, gone, late]);
    waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  /** Notes what a page or worker asks for, from its first line on, and what it starts itself. */
  const watch = async (sessionId: string) => {
    await send("Network.enable", {}, sessionId);
    const inside = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };
    await send("Target.setAutoAttach", inside, sessionId);
    await send("Runtime.runIfWaitingForDebugger", {}, sessionId);
  };
  return {
    send,
    watch,
    requested,
    complaints,
    [Symbol.asyncDispose]: async () => {
      // Helpers that outlive the browser would hold its connections, and go on writing to its folder.
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        process.kill(-child.pid, "SIGKILL");
      }
      await ended;
      // Until the last helper is gone.
      await rm(folder, { recursive: true, force: true, maxRetries: 20 });
    },
  };
};
