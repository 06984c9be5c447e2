/** The demo service as `npm start` starts it, for tests that look at the page. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { createKey } from "../../src/http/keys.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { eventually, startProgram, temporaryFolder } from "../service/process.ts";
import { lendTo } from "./browser.ts";

export type Demo = AsyncDisposable & {
  /** `http://localhost:<port>`; `watch` opens its page signed in. */
  readonly url: string;
  /** Coin types, the demo's order. */
  readonly coinTypes: readonly string[];
  /** A key of the kind `operator`. */
  readonly operatorKey: string;
  readonly readKey: string;
  /** Opens the page signed in, once. */
  readonly link: string;
  /** Its database. */
  readonly database: TestDatabase;
  /** Signs requests for the demo's first asset. */
  agentSecretKey(): Promise<string>;
  /** Ends it at once, as if its machine were gone. */
  stop(): Promise<void>;
  /** Starts it again at the same address, on what it had. */
  restart(): Promise<void>;
};

/** Starts it on a database of its own, with so many checkpoints of history. */
export const startDemo = async (settings: Readonly<Record<string, string>> = {}): Promise<Demo> => {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await temporaryFolder());
  const database = await freshDatabase();
  starting.defer(() => database.close());
  const start = (port: string) =>
    startProgram(["start"], {
      PORT: port,
      DATA_DIR: join(folder.path, "data"),
      DATABASE_URL: database.url,
      DEMO_HISTORY: "600",
      DEMO_INVESTORS: "40",
      RATE_LIMIT_PER_MINUTE: "1000000",
      LOG_LEVEL: "warn",
      ...settings,
    });
  let program = start("0");
  starting.defer(() => program[Symbol.asyncDispose]());
  const [, url = ""] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
  const [, readKey = ""] = await program.sees(/Key\s+(hb_graphql_\S+)/);
  const [, link = ""] = await program.sees(/Page\s+(\S+#demo=\S+)/);
  await program.sees(/Ctrl-C stops/);
  await eventually("the demo's history is indexed", async () => {
    const seen: unknown = await (await fetch(`${url}/health`)).json();
    const { status } = z.object({ status: z.string() }).parse(seen);
    return status === "ok" ? { done: status } : { seen: status };
  });
  const coinTypes = [...program.printed.stdout.matchAll(/^\s+(?:Tokens\s+)?(0x\S+::\S.*)$/gm)].map(
    ([, type = ""]) => type,
  );
  lendTo(url, readKey);
  const { secret: operatorKey } = await createKey(database, { kind: "operator", label: "test" });
  const running = starting.move();
  return {
    url,
    coinTypes,
    operatorKey,
    readKey,
    link,
    database,
    stop: async () => {
      program.signal("SIGTERM");
      await program.ended;
    },
    restart: () =>
      eventually("the demo is started again", async () => {
        program = start(new URL(url).port);
        // On a busy machine a start may end at one of its own deadlines, as any supervisor knows.
        return program.sees(/Ctrl-C stops/).then(
          () => ({ done: undefined }),
          (error: unknown) => ({ seen: `${error}` }),
        );
      }),
    agentSecretKey: async () => {
      const kept = await readFile(join(folder.path, "data", "demo-ta-key.json"), "utf8");
      return z.object({ secretKey: z.string() }).parse(JSON.parse(kept)).secretKey;
    },
    [Symbol.asyncDispose]: async () => {
      await running.disposeAsync();
      // A process that ended is started again by the one above it: nobody else would see it.
      if (program.printed.stderr.includes("the process that serves ended"))
        throw new Error(program.printed.stderr);
    },
  };
};
