/**
 * Spreads callers' reads over streaming replicas.
 *
 * Time only goes forward: every answer notes how far its server was, and later reads go to replicas that are known to
 * be as far, or to the primary. A request with several statements has one snapshot of one server.
 */
import { type Deadline, withinDeadline } from "../../waiting/deadline.ts";
import { mayBeginAgain } from "../database-error.ts";
import {
  createReaders,
  type RawReads,
  type ReaderSettings,
  type Readers,
  type Reads,
  type Snapshot,
} from "../readers.ts";
import type { Sql } from "../session.ts";
import { createLagClock } from "./lag.ts";
import { askPrimary, type Identity } from "./primary.ts";
import { createReplica, type Replica } from "./replica.ts";
import type { ReplicaStanding } from "./standing.ts";

export type SpreadSettings = {
  /** Of the primary. */
  readonly readers: Omit<ReaderSettings, "onPosition">;
  /** URLs of the replicas. */
  readonly replicas: readonly string[];
  readonly maxLagMs: number;
  /** Statements on the primary. */
  readonly primary: Sql;
  readonly onChange: (standing: ReplicaStanding, error: unknown) => void;
};

export type Replicas = {
  standings(): readonly ReplicaStanding[];
  /** Resolves when replicas that answer can be used. */
  readonly ready: Promise<void>;
  /** Reads sent so far: to the primary, and to each replica. */
  readonly reads: { readonly primary: number; readonly replicas: readonly number[] };
  /** From here on, reads see what the primary has committed by now. */
  catchUp(): Promise<void>;
};

export type Spread = Replicas & {
  /** Reads of any server. */
  readonly readers: Readers;
  /** Reads of the primary, whose answers count for the others. */
  readonly primary: Readers;
};

const LOOK_EVERY_MS = 250;

const READY: Deadline = { ms: 2_000 };

/** Connects lazily; looks for replicas until the readers are closed. */
export const createSpread = (settings: SpreadSettings): Spread => {
  const { readers: primarySettings, maxLagMs } = settings;
  const lag = createLagClock(maxLagMs);
  /** Everything up to here may have been shown to a caller. */
  let floor = 0n;
  /** Undefined until the primary was asked; no replica is used before. */
  let identity: Identity | undefined;
  const raise = (lsn: bigint) => {
    if (lsn > floor) floor = lsn;
  };
  const primary = createReaders({ ...primarySettings, onPosition: ({ lsn }) => raise(lsn) });
  const replicas = settings.replicas.map((url, index) =>
    createReplica({
      number: index + 1,
      url,
      readers: primarySettings,
      maxLagMs,
      lag,
      primary: () => identity,
      onPosition: raise,
      onChange: settings.onChange,
    }),
  );

  const lookAtPrimary = async (): Promise<bigint> => {
    const askedMs = performance.now();
    const at = await askPrimary(settings.primary);
    lag.sample(at.lsn, { askedMs, atMs: performance.now() });
    // Migrated tables are there from here on.
    if (identity === undefined) raise(at.lsn);
    identity = at;
    return at.lsn;
  };
  let isLooking = false;
  const look = () => {
    if (!isLooking) {
      isLooking = true;
      // Without the primary, replicas go on with what is known of it.
      void lookAtPrimary()
        .catch(() => undefined)
        .finally(() => {
          isLooking = false;
        });
    }
    for (const replica of replicas) void replica.look();
  };
  const lookAtAll = async () => {
    await lookAtPrimary().catch(() => undefined);
    await Promise.all(replicas.map((replica) => replica.look()));
  };
  const ready = withinDeadline(lookAtAll(), READY).catch(() => undefined);
  const timer = setInterval(look, LOOK_EVERY_MS).unref();

  const counts = { primary: 0, replicas: replicas.map(() => 0) };
  let turn = 0;
  /** The next replica that shows all that was shown; undefined: the primary. */
  const pick = (): Replica | undefined => {
    turn += 1;
    for (let step = 0; step < replicas.length && identity !== undefined; step += 1) {
      const index = (turn + step) % replicas.length;
      const replica = replicas[index];
      if (replica?.shows(floor)) {
        counts.replicas[index] = (counts.replicas[index] ?? 0) + 1;
        return replica;
      }
      // It may be there by now.
      if (replica?.standing.state === "used") void replica.look();
    }
    counts.primary += 1;
    return undefined;
  };

  type Work<T> = (reads: Reads & RawReads) => Promise<T>;

  const readsBy = (run: <T>(work: Work<T>) => Promise<T>): Reads & RawReads => ({
    sql: {
      unsafe: (text, parameters, options) =>
        run(async ({ sql }) => await sql.unsafe(text, parameters, options)),
    },
    raw: (text, parameters) => run((reads) => reads.raw(text, parameters)),
  });

  const snapshot: Readers["snapshot"] = (signal, weight) => {
    let taken: { readonly replica: Replica | undefined; snapshot?: Snapshot } | undefined;
    return {
      ...readsBy((work) => {
        taken ??= { replica: pick() };
        const own = taken;
        const on = (readers: Readers) => {
          own.snapshot ??= readers.snapshot(signal, weight);
          return work(own.snapshot);
        };
        return own.replica === undefined ? on(primary) : own.replica.read(on);
      }),
      end: () => taken?.snapshot?.end(),
    };
  };

  const close = async () => {
    clearInterval(timer);
    await Promise.all([primary.close(), ...replicas.map((one) => one[Symbol.asyncDispose]())]);
  };
  return {
    primary,
    ready,
    standings: () => replicas.map(({ standing }) => standing),
    reads: counts,
    catchUp: async () => raise(await lookAtPrimary()),
    readers: {
      for: (signal, weight) =>
        readsBy(async (work) => {
          const on = (readers: Readers) => work(readers.for(signal, weight));
          const replica = pick();
          if (replica === undefined) return on(primary);
          return replica.read(on).catch((error: unknown) => {
            if (!mayBeginAgain(error)) throw error;
            counts.primary += 1;
            return on(primary);
          });
        }),
      snapshot,
      get waiting() {
        return primary.waiting;
      },
      get load() {
        return primary.load;
      },
      close,
      [Symbol.asyncDispose]: close,
    },
  };
};
