import postgres from "postgres";
import { type Deadline, withinDeadline } from "../waiting/deadline.ts";
import type { Working } from "./silence.ts";
import { openSocket, type Target } from "./socket.ts";

const ANSWER: Deadline = { ms: 10_000 };

type Activity = { readonly own: number; readonly working: boolean | null };

/**
 * Asks the server over another connection whether it works for process `pid`: no, when the process
 * is gone, idle or waits for its client (whose bytes are lost).
 *
 * Unknown when the server admits no connection, or a pooler renumbers processes.
 *
 * @param url user and database @param at host of the process @throws when there is no answer
 */
export const isStillWorking = async (
  url: string,
  at: Target,
  pid: number | undefined,
): Promise<Working> => {
  const opened: Awaited<ReturnType<typeof openSocket>>[] = [];
  const own = {
    max: 1,
    ssl: false,
    host: at.host[0] ?? "localhost",
    port: at.port[0] ?? 5432,
    fetch_types: false,
    connect_timeout: ANSWER.ms / 1_000,
    socket: async () => {
      const made = await openSocket(at);
      opened.push(made);
      return made.socket;
    },
    connection: { application_name: "holderbook-probe", jit: "off" },
  };
  const client = postgres(url, own);
  const ask = async (): Promise<Working> => {
    const rows = await client<Activity[]>`
      select pg_backend_pid() as own, (
        select state <> 'idle' and state not like 'idle in %' and wait_event_type is distinct from 'Client'
        from pg_stat_activity where pid = ${pid ?? null}::int4) as working`;
    const [found] = rows;
    if (found === undefined || found.own !== rows.state.pid) return "unknown";
    return found.working ? "yes" : "no";
  };
  try {
    return await withinDeadline(ask(), ANSWER);
  } catch (error) {
    if (error instanceof postgres.PostgresError) return "unknown";
    throw error;
  } finally {
    void client.end({ timeout: 0 });
    for (const { socket } of opened) socket.destroy();
  }
};
