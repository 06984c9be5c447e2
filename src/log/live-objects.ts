import type { Sql } from "../database/connect.ts";

/** An object's newest version in the log. */
export type LiveObject = {
  readonly id: string;
  readonly type: string;
  readonly version: bigint;
  /** The checkpoint that gave it. */
  readonly checkpoint: bigint;
};

const ROWS_PER_READ = 1_000;

/** Objects that the log's facts left alive, in no promised order. */
export async function* liveObjects(sql: Sql): AsyncGenerator<LiveObject> {
  const pages = sql<{ id: string; type: string; version: string; checkpoint: bigint }[]>`
    select object_id as id, type, version::text, checkpoint from (
      select distinct on (object_id) object_id, type, version, checkpoint, contents is null as removed
      from log_facts where public.log_has(0) and object_id is not null
      order by object_id, checkpoint desc, transaction desc, index desc) as newest
    where not removed`.cursor(ROWS_PER_READ);
  for await (const page of pages) {
    for (const { version, ...object } of page) yield { ...object, version: BigInt(version) };
  }
}
