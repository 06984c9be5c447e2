/**
 * Finds the host that takes writes, where a URL lists several or asks for it.
 *
 * Each new connection asks all hosts at once: one that is gone costs no time. Postgres begins a timeline at each
 * promotion, so among several that take writes the newest timeline is right: a process never goes back to an older
 * one, and ends its connections there, even those of a host that vanished without closing them. A host of another
 * cluster, such as a copy for tests that got an address of the list, is never used.
 */
import type { Socket } from "node:net";
import { type PostgresHost, postgresUrl } from "../values/postgres-hosts.ts";
import { errorOf } from "../waiting/remedy.ts";
import { FormerPrimaryError, NoPrimaryError } from "./database-error.ts";
import { askHost, type Probe } from "./probe.ts";
import { openSocket, type Target, targetOf } from "./socket.ts";

/** A host that answers later than this counts as gone. */
const ANSWER_MS = 4_000;

/** Hosts that answer so much later than one that takes writes are not waited for. */
const GRACE_MS = 250;

/** While there are connections, the other hosts are asked this often whether one was promoted. */
const WATCH_MS = 3_000;

type Host = PostgresHost & { readonly target: Target };

/**
 * `timeline` of a host that takes writes, 0 where it does not say; else why it takes none. `system` identifies the
 * cluster, where it says.
 */
type Answer = { readonly host: Host; readonly system?: string | undefined } & (
  | { readonly timeline: number; readonly refusal?: undefined }
  | { readonly refusal: string; readonly timeline?: undefined }
);
type Found = Extract<Answer, { readonly timeline: number }>;

export type HostState = {
  readonly name: string;
  readonly timeline?: number | undefined;
  readonly refusal?: string | undefined;
  /** Identifies its cluster; undefined where it does not say. */
  readonly system?: string | undefined;
};

export type Primary = {
  /** URL of the host found last, the first until then; looks again meanwhile. For drivers that know one host. */
  readonly url: string;
  /** @throws NoPrimaryError (retry) */
  find(): Promise<void>;
  /**
   * Connects to the host that takes writes.
   * @throws NoPrimaryError (retry), or why it could not be connected to
   */
  open(): Promise<{ readonly socket: Socket; readonly at: Target; readonly url: string }>;
  /** Ends a socket to `url` with FormerPrimaryError once another host is promoted. */
  hold(socket: Socket): void;
  /** What each host says now, in the order of the URL: its timeline where it takes writes, or why it takes none. */
  ask(): Promise<readonly HostState[]>;
  /**
   * Calls `onChange` with a sentence for an operator when the host changes, or several take writes.
   * @returns how to end that
   */
  watch(onChange: (message: string) => void): () => void;
};

const known = new Map<string, Primary>();

/** Shared by all connections of a process; undefined for a URL of one host that asks for nothing. */
export const primaryOf = (url: string): Primary | undefined => {
  const before = known.get(url);
  if (before !== undefined) return before;
  const { hosts, asksForPrimary } = postgresUrl(url);
  if (!asksForPrimary) return undefined;
  const made = createPrimary(hosts.map((host) => ({ ...host, target: targetOf(host.url) })));
  known.set(url, made);
  return made;
};

const createPrimary = (hosts: readonly Host[]): Primary => {
  let current: Found | undefined;
  let finding: Promise<Found> | undefined;
  let watching: NodeJS.Timeout | undefined;
  /** Open sockets with the timeline of their host. */
  const held = new Map<Socket, number>();
  const listeners = new Set<(message: string) => void>();
  let said: string | undefined;
  const say = (message: string) => {
    if (message === said) return;
    said = message;
    for (const each of listeners) each(message);
  };

  const adopt = (found: Found): Found => {
    const before = current;
    current = found;
    if (before !== undefined && before.host !== found.host) {
      say(
        `the database's host ${found.host.name} takes writes now, in place of ${before.host.name}`,
      );
    }
    for (const [socket, timeline] of held) {
      if (timeline >= found.timeline) continue;
      held.delete(socket);
      socket.destroy(new FormerPrimaryError(found.host.name));
    }
    return found;
  };

  /** Those that take writes for the cluster used until now; before, none if they are of several. */
  const ownOf = (answers: readonly Answer[]): readonly Found[] => {
    const writing = answers.filter(takesWrites);
    const foreign = writing.find((each) => areOfTwo(each, current ?? writing[0]));
    if (foreign === undefined) return writing;
    say(
      `the database's host ${foreign.host.name} takes writes for another cluster, and is not used: remove it from the list`,
    );
    return current === undefined ? [] : writing.filter((each) => !areOfTwo(each, current));
  };

  /** The newest timeline; of equals the present host, else the first in the list. */
  const newest = (own: readonly Found[]): Found | undefined => {
    const [first, ...others] = own.toSorted(
      (a, b) =>
        b.timeline - a.timeline ||
        Number(b.host === current?.host) - Number(a.host === current?.host) ||
        hosts.indexOf(a.host) - hosts.indexOf(b.host),
    );
    if (first !== undefined) sayTwo(first, others.at(-1));
    return first;
  };
  const sayTwo = (used: Found, other: Found | undefined) => {
    if (other === undefined || other.timeline === used.timeline) return;
    say(
      `two hosts of the database take writes: ${used.host.name} is used, which was promoted last; stop ${other.host.name}`,
    );
  };

  const look = async (): Promise<Found> => {
    const answers = await askAll(hosts);
    const own = ownOf(answers);
    const found = newest(own);
    const isFormer = found !== undefined && found.timeline < (current?.timeline ?? 0);
    if (found !== undefined && !isFormer) return adopt(found);
    throw new NoPrimaryError(
      hosts.map((host) => {
        const answer = answers.find((each) => each.host === host);
        const isOwn = own.some((each) => each.host === host);
        const why =
          answer?.refusal ??
          (isOwn
            ? "takes writes, but is older than the one that was used until now"
            : `takes writes, but for another cluster than ${current?.host.name ?? "another host"}`);
        return `${host.name} ${why}`;
      }),
    );
  };
  const find = (): Promise<Found> => {
    finding ??= look().finally(() => {
      finding = undefined;
    });
    return finding;
  };

  const hold = (socket: Socket, timeline: number) => {
    held.set(socket, timeline);
    socket.once("close", () => {
      held.delete(socket);
      if (held.size > 0) return;
      clearInterval(watching);
      watching = undefined;
    });
    if (hosts.length > 1) watching ??= setInterval(lookBeyond, WATCH_MS).unref();
  };

  /** Whether another host was promoted, which the present one may not show. */
  const lookBeyond = async () => {
    const answers = await askAll(hosts.filter((host) => host !== current?.host));
    const found = newest(ownOf(answers));
    if (found === undefined || current === undefined) return;
    if (found.timeline > current.timeline) adopt(found);
    else sayTwo(current, found);
  };

  return {
    get url() {
      find().catch(() => undefined);
      return (current?.host ?? hosts[0])?.url ?? "";
    },
    find: async () => void (await find()),
    open: async () => {
      const { host, timeline } = await find();
      const socket = await openSocket(host.target);
      hold(socket, timeline);
      return { socket, at: host.target, url: host.url };
    },
    hold: (socket) => hold(socket, current?.timeline ?? 0),
    ask: async () => {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const answers = await Promise.all(hosts.map((host) => answerOf(host, signal)));
      return answers.map(({ host: { name }, ...answer }) => ({ name, ...answer }));
    },
    watch: (onChange) => {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
};

const takesWrites = (answer: Answer): answer is Found => answer.timeline !== undefined;

const areOfTwo = (one: Answer, other: Answer | undefined): boolean =>
  one.system !== undefined && other?.system !== undefined && one.system !== other.system;

/** Answers of all hosts, but for those that are slower than one that takes writes. */
const askAll = async (hosts: readonly Host[]): Promise<readonly Answer[]> => {
  const answers: Answer[] = [];
  const enough = Promise.withResolvers<void>();
  const ending = new AbortController();
  const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(ANSWER_MS)]);
  let grace: NodeJS.Timeout | undefined;
  const asked = hosts.map(async (host) => {
    const answer = await answerOf(host, signal);
    answers.push(answer);
    if (takesWrites(answer)) grace ??= setTimeout(enough.resolve, GRACE_MS);
  });
  await Promise.race([Promise.all(asked), enough.promise]);
  clearTimeout(grace);
  ending.abort();
  return [...answers];
};

const answerOf = async (host: Host, signal: AbortSignal): Promise<Answer> => {
  try {
    return await askHost(host.url, host.target, (client) => roleOf(client, host), signal);
  } catch (error) {
    const why = signal.aborted ? "does not answer" : `refuses (${errorOf(error).message})`;
    return { host, refusal: why };
  }
};

const roleOf = async (client: Probe, host: Host): Promise<Answer> => {
  const [role] = await client<{ standby: boolean; refuses: boolean }[]>`
    select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as refuses`;
  // A service that only resembles Postgres may have no such function, nor a journal to ask.
  const [{ system } = {}] = await client<{ system?: string }[]>`
    select system_identifier::text as system from pg_control_system()`.catch(() => []);
  if (role?.standby) return { host, system, refusal: "is a standby" };
  if (role?.refuses) return { host, system, refusal: "is read-only" };
  const [journal] = await client<{ timeline: number }[]>`
    select ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int4 as timeline`.catch(
    () => [],
  );
  return { host, system, timeline: journal?.timeline ?? 0 };
};
