/**
 * Freshness: from a demo checkpoint's availability to the GraphQL answer in which every pipeline
 * has it. The service is a separate process, polled over HTTP from the due time on: the figure
 * includes one answer and one pause.
 * Midway between checkpoints the same is asked of freshness-bare.ts: a flush to disk, five commits
 * and an answer on this machine.
 */
import { Agent, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { ledgerOptions } from "../demo/edition.ts";
import { openJournal } from "../demo/journal.ts";
import { timeOf } from "../demo/timeline.ts";
import { type Figure, median, quantile, summedUp } from "./figure.ts";
import { scratchPostgres, startHolderbook, startProgram } from "./start.ts";

const CHECKPOINTS = 400;
const PER_SECOND = 10;
const EVERY_MS = 1_000 / PER_SECOND;
/** Ms between polls; included in the figure. */
const PAUSE_MS = 1;
const BARE = fileURLToPath(new URL("./freshness-bare.ts", import.meta.url));

const SEED = "1";
const INVESTORS = 40;
const HISTORY = 500;
const LEDGER = ledgerOptions({ seed: SEED, investors: INVESTORS });

/** A pairing takes most of a signature's time. */
const LEVELS = ["signatures", "links"];
const AIMS_MS = { p50: 8, p99: 15 };

const SERVICE = {
  LOG_LEVEL: "warn",
  DEMO_SEED: SEED,
  DEMO_INVESTORS: String(INVESTORS),
  DEMO_STORY: "chance",
  DEMO_HISTORY: String(HISTORY),
  DEMO_CHECKPOINTS_PER_SECOND: String(PER_SECOND),
  RATE_LIMIT_PER_MINUTE: "10000000",
};

const answer = z.object({
  data: z.object({ indexerStatus: z.array(z.object({ checkpoint: z.string().nullable() })) }),
});

/** @param only one of the levels; absent: each */
export const bench = async (only?: string): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  for (const level of only === undefined ? LEVELS : [only]) figures.push(...(await at(level)));
  return figures;
};

const at = async (level: string): Promise<readonly Figure[]> => {
  await using running = new AsyncDisposableStack();
  const { port, key, dataDir } = running.use(await startHolderbook({ ...SERVICE, VERIFY: level }));
  const service = running.use(openQuestion(`http://127.0.0.1:${port}`, { "x-api-key": key }));
  const dueOurs = (sequence: bigint) => {
    // The ledger's journal has each checkpoint's due time.
    const timeline = openJournal(dataDir, LEDGER).readTimeline();
    if (timeline === undefined) throw new Error("the demo ledger keeps no journal");
    return Number(timeOf(timeline, sequence));
  };
  let next = await service.ask();
  // Past the history and the backlog.
  while (next < HISTORY + 5 * PER_SECOND) {
    await delay(EVERY_MS);
    next = await service.ask();
  }
  const scratch = running.use(await scratchPostgres());
  // Ours at 0, 100, 200 ms; the baseline at 50, 150, 250.
  const bareFirst = dueOurs(next) + 3 * 1_000 + EVERY_MS / 2;
  const program = await startProgram([BARE, scratch.url, String(bareFirst), String(EVERY_MS)], {
    cwd: join(scratch.folder, "bare"),
    env: {},
    shows: /^http:\S+/m,
  });
  const [bareUrl] = running.use(program).shown;
  const bare = running.use(openQuestion(bareUrl, {}));
  await delay(Math.max(0, bareFirst - Date.now()) + 20 * EVERY_MS);

  const ours = { ages: Array.of<number>(), asks: Array.of<number>() };
  const theirs = { ages: Array.of<number>(), asks: Array.of<number>() };
  const dueBare = (sequence: bigint) => bareFirst + Number(sequence) * EVERY_MS;
  while (ours.ages.length < CHECKPOINTS) {
    await watchNext(service, dueOurs, ours);
    await watchNext(bare, dueBare, theirs);
  }
  const figure = (name: keyof typeof AIMS_MS, share: number): Figure => {
    const of = (ages: readonly number[]) => quantile(ages, share);
    return {
      name: `${level} ${name}`,
      what: `Freshness, \`VERIFY=${level}\`: available to visible in GraphQL, ${name} / that of a bare chain`,
      ...summedUp("ms", ours.ages, of),
      ...{ better: "less", aim: AIMS_MS[name] },
      sides: { unit: "ms", ours: of(ours.ages), baseline: of(theirs.ages) },
      detail:
        `${CHECKPOINTS} checkpoints at ${PER_SECOND}/s, the slowest ${Math.max(...ours.ages).toFixed(1)} ms; ` +
        `one question takes ${median(ours.asks).toFixed(1)} and ${median(theirs.asks).toFixed(1)} ms`,
    };
  };
  return [figure("p50", 0.5), figure("p99", 0.99)];
};

/** Polls from the next due time until the checkpoint is visible. */
const watchNext = async (
  question: Question,
  dueMs: (sequence: bigint) => number,
  { ages, asks }: { readonly ages: number[]; readonly asks: number[] },
): Promise<void> => {
  const ask = async () => {
    const started = performance.now();
    const reached = await question.ask();
    asks.push(performance.now() - started);
    return reached;
  };
  let next = (await question.ask()) + 1n;
  while (dueMs(next) < Date.now()) next += 1n;
  // Idle until then: a busy client keeps a core from resting.
  await delay(Math.max(1, dueMs(next) - Date.now()));
  while ((await ask()) < next) await delay(PAUSE_MS);
  ages.push(performance.timeOrigin + performance.now() - dueMs(next));
};

type Question = Disposable & {
  /** The last checkpoint committed by every pipeline; -1 before the first. */
  ask(): Promise<bigint>;
};

const openQuestion = (url: string, headers: Readonly<Record<string, string>>): Question => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (): Promise<bigint> => {
    const sent = request(`${url}/graphql`, {
      agent,
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
    });
    sent.end(JSON.stringify({ query: "{ indexerStatus { checkpoint } }" }));
    const response = await new Promise<IncomingMessage>((answered, failed) => {
      sent.once("response", answered).once("error", failed);
    });
    const { data } = answer.parse(await json(response));
    return data.indexerStatus.reduce(
      (least, { checkpoint }) =>
        BigInt(checkpoint ?? -1) < least ? BigInt(checkpoint ?? -1) : least,
      2n ** 63n,
    );
  };
  return { ask, [Symbol.dispose]: () => agent.destroy() };
};
