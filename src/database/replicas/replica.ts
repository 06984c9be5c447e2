/** One streaming replica: its connections, and whether reads may go there. */
import { type Deadline, DeadlineError, withinDeadline } from "../../waiting/deadline.ts";
import type { ConnectionSettings } from "../connection.ts";
import {
  isCancelledForOthers,
  isDatabaseTrouble,
  isStatementTimeout,
  ReplicaLeftError,
} from "../database-error.ts";
import { createReaders, type ReaderSettings, type Readers } from "../readers.ts";
import { openSession, type Session } from "../session.ts";
import type { LagClock } from "./lag.ts";
import { POSITION_COLUMNS, type ServerPosition } from "./position.ts";
import { IDENTITY_COLUMNS, type Identity } from "./primary.ts";
import type { ReplicaStanding, ReplicaState } from "./standing.ts";

export type ReplicaSettings = {
  readonly number: number;
  readonly url: string;
  readonly readers: Omit<ReaderSettings, "url" | "onPosition">;
  readonly maxLagMs: number;
  readonly lag: LagClock;
  /** Whose replica it has to be; undefined until the primary has answered once. */
  readonly primary: () => Identity | undefined;
  /** Called with the position behind each answer. */
  readonly onPosition: (lsn: bigint) => void;
  /** Called when its state changed; the error may name a user: for the log alone. */
  readonly onChange: (standing: ReplicaStanding, error: unknown) => void;
};

export type Replica = AsyncDisposable & {
  readonly standing: ReplicaStanding;
  /** Whether it shows everything up to this position and is in use. */
  shows(lsn: bigint): boolean;
  /**
   * Runs a read there.
   * @throws ReplicaLeftError (retry) when it does not answer, or is no replica any more
   */
  read<T>(work: (readers: Readers) => Promise<T>): Promise<T>;
  /** Looks where it is; one look at a time, and not more often than every few milliseconds. Never rejects. */
  look(): Promise<void>;
};

/** A connected replica; a server that was restarted is another member, because it may show less than before. */
type Member = {
  readonly readers: Readers;
  /** It shows everything up to here. */
  shownTo: bigint;
  /** Ends the reads under way. */
  readonly underWay: Set<(error: Error) => void>;
};

const LOOK_DEADLINE: Deadline = { ms: 2_000 };

/** Reads that need a newer replica ask for looks. */
const LOOK_GAP_MS = 10;

type Seen = ServerPosition &
  Identity & {
    readonly nowMs: number;
    /** When the primary committed the last transaction that was replayed; null before the first. */
    readonly replayedMs: number | null;
    readonly mayRead: boolean;
  };

/** A standby without our tables has yet to replay them: it may not read either. */
const LOOK = `
  select ${POSITION_COLUMNS}, ${IDENTITY_COLUMNS},
         (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
         (extract(epoch from pg_last_xact_replay_timestamp()) * 1000)::float8 as "replayedMs",
         coalesce((select bool_and(coalesce(has_table_privilege(to_regclass(name), 'select'), false))
                   from jsonb_array_elements_text($1::jsonb) as name), true) as "mayRead"`;

/** `host:port` of a Postgres URL, without its user. */
export const hostOf = (url: string): string =>
  /^[a-z]+:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(url)?.[1] || "localhost";

export const createReplica = (settings: ReplicaSettings): Replica => {
  const { number, url, lag, maxLagMs } = settings;
  const probing: ConnectionSettings = {
    url,
    applicationName: "holderbook-replica",
    statementTimeoutMs: LOOK_DEADLINE.ms,
    readOnly: true,
  };
  let standing: ReplicaStanding = {
    number,
    host: hostOf(url),
    state: "gone",
    reason: "was not asked yet",
    lagMs: null,
    sinceMs: Date.now(),
  };
  let member: Member | undefined;
  let session: Session | undefined;
  /** Where it was last, in this session: one that is built again ends it. */
  let last: { readonly lsn: bigint; readonly atMs: number } | undefined;
  let hasStrayed = false;
  let looking: Promise<void> | undefined;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let closed = false;

  const becomes = (
    state: ReplicaState,
    reason: string | null,
    lagMs: number | null,
    error?: unknown,
  ) => {
    const changed = state !== standing.state || reason !== standing.reason;
    const sinceMs = state === standing.state ? standing.sinceMs : Date.now();
    standing = { ...standing, state, reason, lagMs, sinceMs };
    if (changed && !closed) settings.onChange(standing, error);
  };

  const leave = (state: "gone" | "promoted" | "refused", reason: string, error?: unknown) => {
    const left = member;
    member = undefined;
    becomes(state, reason, null, error);
    if (left === undefined) return;
    for (const end of left.underWay) end(new ReplicaLeftError(number, reason));
    void left.readers.close();
  };

  const PROMOTED = "takes writes: it was promoted, or is the primary itself";
  const SILENT = "does not answer";

  const join = (shownTo: bigint): Member => {
    const own: Member = {
      readers: createReaders({
        ...settings.readers,
        url,
        onPosition: ({ lsn, isStandby }) => {
          if (!isStandby) throw new ReplicaLeftError(number, PROMOTED);
          if (lsn > own.shownTo) own.shownTo = lsn;
          settings.onPosition(lsn);
        },
      }),
      shownTo,
      underWay: new Set(),
    };
    return own;
  };

  const judge = (seen: Seen | undefined, primary: Identity) => {
    if (seen === undefined) return leave("gone", SILENT);
    if (!seen.isStandby) return leave("promoted", PROMOTED);
    if (seen.system !== primary.system || seen.database !== primary.database) {
      return leave("refused", "is no replica of the database of DATABASE_URL");
    }
    if (!seen.mayRead) {
      return leave("refused", "lacks tables, or its role may not read them");
    }
    hasStrayed ||= last !== undefined && lag.isBeyond(last.lsn, last.atMs);
    last = { lsn: seen.lsn, atMs: performance.now() };
    if (hasStrayed) {
      return leave("refused", "has what the primary lacks, of a former primary: build it again");
    }
    member ??= join(seen.lsn);
    if (seen.lsn > member.shownTo) member.shownTo = seen.lsn;
    const { replayedMs, nowMs } = seen;
    const byCommit = replayedMs === null ? Number.POSITIVE_INFINITY : nowMs - replayedMs;
    const lagMs = lag.lagMs(seen.lsn, performance.now()) ?? Math.max(0, byCommit);
    if (lagMs <= maxLagMs) return becomes("used", null, lagMs);
    return becomes("behind", `is more than ${maxLagMs / 1_000} s behind the primary`, lagMs);
  };

  const ask = async (): Promise<Seen | undefined> => {
    if (session === undefined) {
      session = await openSession(probing);
      [last, hasStrayed] = [undefined, false];
    }
    const tables = JSON.stringify(settings.readers.lockedFirst ?? []);
    const [seen] = await session.sql.unsafe<Seen[]>(LOOK, [tables], { prepare: true });
    return seen;
  };

  const lookOnce = async () => {
    const primary = settings.primary();
    if (primary === undefined) return;
    const asked = ask();
    try {
      const late = () => leave("gone", SILENT, new DeadlineError(LOOK_DEADLINE));
      // A late answer counts: it may be a machine that slept.
      await withinDeadline(asked, LOOK_DEADLINE).catch((error: unknown) => {
        if (error instanceof DeadlineError) late();
      });
      judge(await asked, primary);
    } catch (error) {
      leave("gone", SILENT, error);
      // Another connection next time.
      void session?.close();
      session = undefined;
    }
    if (closed) await session?.close();
  };

  return {
    get standing() {
      return standing;
    },
    shows: (lsn) => standing.state === "used" && member !== undefined && member.shownTo >= lsn,
    read: (work) =>
      new Promise((resolve, reject) => {
        const own = member;
        if (own === undefined) throw new ReplicaLeftError(number, standing.reason ?? SILENT);
        own.underWay.add(reject);
        work(own.readers)
          .then(resolve, (error: unknown) => {
            if (!isOfServer(error)) return reject(error);
            const reason = error instanceof ReplicaLeftError ? error.reason : SILENT;
            if (member === own) leave(reason === PROMOTED ? "promoted" : "gone", reason, error);
            reject(new ReplicaLeftError(number, reason, error));
          })
          .finally(() => own.underWay.delete(reject));
      }),
    look: () => {
      if (looking !== undefined) return looking;
      const nowMs = performance.now();
      const isEarly = settings.primary() === undefined || nowMs - lookedMs < LOOK_GAP_MS;
      if (closed || isEarly) return Promise.resolve();
      lookedMs = nowMs;
      looking = lookOnce().finally(() => {
        looking = undefined;
      });
      return looking;
    },
    [Symbol.asyncDispose]: async () => {
      closed = true;
      await Promise.all([session?.close(), member?.readers.close()]);
    },
  };
};

/** The server failed, not the statement; one that was cancelled can begin again there. */
const isOfServer = (error: unknown): boolean =>
  isDatabaseTrouble(error) && !isStatementTimeout(error) && !isCancelledForOthers(error);
