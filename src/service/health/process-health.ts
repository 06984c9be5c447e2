/** Health of the indexing processes by their own notes, for `/health` of any process. */
import type { Db } from "../../database/connect.ts";
import { GRACE_MS, type HealthDetail, noteOf } from "../../http/health/health.ts";
import type { Trouble } from "../../http/health/progress.ts";
import type { Judgement, Note, State } from "../../http/health/report.ts";
import { type ProcessNote, readProcesses } from "../../log/process-notes.ts";
import { awakeMs } from "../../waiting/awake.ts";

type ProcessHealth = Judgement & {
  readonly pid: number;
  readonly host: string;
  /** Its last sign of life, ISO 8601. */
  readonly seenAt: string;
};

/** The queue that wakes callback delivery and request workers. */
type QueueHealth = Judgement & {
  readonly backend: "postgres" | "redis";
  /** Start of its outage, ISO 8601; absent while it answers. */
  readonly since?: string;
};

type SignerHealth = {
  readonly asset: string;
  /** Transactions that its gas pays for, each at its highest cost. */
  readonly transactionsLeft: number;
};

type ProcessDetails = {
  readonly processes: readonly ProcessHealth[];
  /** Absent while no process uses one. */
  readonly queue?: QueueHealth;
  readonly signers: readonly SignerHealth[];
};

/** A note comes every five seconds; ten seconds of grace. */
const SILENT_MS = 5_000 + GRACE_MS;

/** After a longer gap in its own looks this process cannot judge who was silent. */
const UNSEEN_MS = 15_000;

/** A signer with fewer needs gas soon. */
export const LOW_TRANSACTIONS = 20;

/** @param runMs milliseconds while this process runs; replaced by tests */
export const processDetails = (
  { db }: { readonly db: Db },
  runMs: () => number = awakeMs,
): ((nowMs: number) => Promise<HealthDetail & { readonly members: ProcessDetails }>) => {
  const silences = createSilences(runMs);
  /** By asset, since when its signer is low on gas. */
  const low = new Map<string, number>();
  return async (nowMs) => {
    const notes = await readProcesses(db);
    const silent = silences(notes);
    const alive = notes.filter(({ id }) => !silent.has(id));
    // Beside a live process, a silent one may have been killed; its undone work shows elsewhere.
    const state: State = notes.length > 0 && alive.length === 0 ? "stalled" : "ok";
    const processes = notes.map((note): ProcessHealth => {
      const { id, pid, host, noteAgeMs } = note;
      const seenAt = new Date(nowMs - noteAgeMs).toISOString();
      if (!silent.has(id)) return { pid, host, seenAt, state: "ok" };
      return { pid, host, seenAt, state: "stalled", reason: silenceOf(note, seenAt) };
    });
    const queue = queueOf(alive, nowMs);
    const signers = alive.flatMap(({ said }) => said.signers);
    return {
      state: queue?.state === "stalled" ? "stalled" : state,
      members: { processes, ...(queue && { queue }), signers },
      process: troubleOf(processes.find((one) => one.state === "stalled")),
      notes: [
        ...processes.flatMap(({ reason, seenAt }) =>
          reason === undefined || state === "stalled" ? [] : [{ reason, since: seenAt }],
        ),
        ...queueNotes(queue),
        ...signers.flatMap((signer) => gasNotes(signer, low, nowMs)),
        ...alive.flatMap(({ said: { signing } }) =>
          signing === null ? [] : [noteOf(signing.reason, signing.sinceMs)],
        ),
      ],
    };
  };
};

/**
 * Ids of processes silent while watched: a note first seen old, or unreadable meanwhile, gets
 * grace.
 */
const createSilences = (runMs: () => number) => {
  let seen = new Map<string, { readonly notedAt: string; readonly sinceMs: number }>();
  let lookedMs = Number.NEGATIVE_INFINITY;
  return (notes: readonly ProcessNote[]): ReadonlySet<string> => {
    const atMs = runMs();
    const before = atMs - lookedMs > UNSEEN_MS ? new Map<string, never>() : seen;
    lookedMs = atMs;
    seen = new Map(
      notes.map(({ id, notedAt }) => {
        const known = before.get(id);
        return [id, known?.notedAt === notedAt ? known : { notedAt, sinceMs: atMs }];
      }),
    );
    return new Set(
      [...seen].flatMap(([id, { sinceMs }]) => (atMs - sinceMs >= SILENT_MS ? [id] : [])),
    );
  };
};

const silenceOf = ({ pid, host }: ProcessNote, seenAt: string): string =>
  `the process that indexes (pid ${pid} on ${host}) has recorded nothing since ${seenAt}: it hangs, was killed, or cannot write to the database`;

const troubleOf = (silent: ProcessHealth | undefined): Trouble | undefined =>
  silent?.reason === undefined ? undefined : { gaveUp: false, reason: silent.reason };

/** The longest outage that any of them reports. */
const queueOf = (alive: readonly ProcessNote[], nowMs: number): QueueHealth | undefined => {
  const [worst] = alive
    .flatMap(({ said, noteAgeMs }) =>
      said.queue === null
        ? []
        : [
            {
              ...said.queue,
              agoMs: said.queue.lostMs === null ? 0 : said.queue.lostMs + noteAgeMs,
            },
          ],
    )
    .toSorted((a, b) => b.agoMs - a.agoMs);
  if (worst === undefined) return undefined;
  const { backend, lostMs, agoMs } = worst;
  if (lostMs === null) return { backend, state: "ok" };
  const since = new Date(nowMs - agoMs).toISOString();
  const reason = `${NAMES[backend]} does not answer: callbacks and requests wait, none is lost`;
  return { backend, state: agoMs < GRACE_MS ? "ok" : "stalled", reason, since };
};

const NAMES = { redis: "Redis (REDIS_URL)", postgres: "the queue in Postgres" } as const;

const queueNotes = (queue: QueueHealth | undefined): readonly Note[] =>
  queue?.state === "ok" && queue.reason !== undefined && queue.since !== undefined
    ? [{ reason: queue.reason, since: queue.since }]
    : [];

const gasNotes = (
  { asset, transactionsLeft }: SignerHealth,
  low: Map<string, number>,
  nowMs: number,
): readonly Note[] => {
  if (transactionsLeft >= LOW_TRANSACTIONS) {
    low.delete(asset);
    return [];
  }
  const sinceMs = low.get(asset) ?? nowMs;
  low.set(asset, sinceMs);
  const left = transactionsLeft === 0 ? "no more" : `${transactionsLeft} more`;
  return [noteOf(`the signer of ${asset} has gas for ${left} transactions: send it some`, sinceMs)];
};
