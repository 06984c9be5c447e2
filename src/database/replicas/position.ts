/** How far a server is in the write-ahead log, by which answers of several servers compare. */
import type { Ask } from "../snapshot.ts";

export type ServerPosition = {
  /** Bytes of the log: replayed by a standby, inserted by a primary. */
  readonly lsn: bigint;
  readonly isStandby: boolean;
};

/** Columns of a `ServerPosition`. */
export const POSITION_COLUMNS = `
  pg_is_in_recovery() as "isStandby",
  coalesce(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end - '0/0', 0)::int8 as lsn`;

const POSITION = `select ${POSITION_COLUMNS}`;

/**
 * Asks for the position right behind a statement, on the same connection: the statement saw nothing beyond it. A
 * standby reports a record the moment after it shows it: too short for another request to fit in.
 * @param onPosition may throw to discard the answer
 */
export const withPosition = <Row>(
  ask: Ask<Row>,
  onPosition: ((at: ServerPosition) => void) | undefined,
): Ask<Row> =>
  onPosition === undefined
    ? ask
    : async (client) => {
        // Both are sent before either is awaited.
        const answer = ask(client);
        const asked = client.unsafe<ServerPosition[]>(POSITION, [], { prepare: true }).execute();
        const [rows, [at]] = await Promise.all([answer, asked]);
        if (at !== undefined) onPosition(at);
        return rows;
      };
