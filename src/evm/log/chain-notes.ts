/**
 * What the process that reads a chain says of it, kept beside the log for every process
 * (`evm_chain_notes`): the log tells how far it is, not why it goes no further.
 */
import { z } from "zod";
import { bigints } from "../../database/column-arrays.ts";
import type { Db } from "../../database/connect.ts";

/** An endpoint by its label: the rest of its URL may hold keys. */
export const endpointSaid = z.object({
  endpoint: z.string(),
  state: z.enum(["unused", "good", "paused", "wrong chain"]),
  failures: z.number(),
  lastError: z
    .object({ name: z.string(), kind: z.string(), message: z.string(), secondsAgo: z.number() })
    .nullable(),
});

/** Tokens by address, each with why its log is doubtful. */
const doubts = z.record(z.string(), z.array(z.string()));

/** What a reader says of its chain. */
export type ChainNote = {
  readonly chainId: number;
  /** Why it does not read; undefined while it does. */
  readonly trouble: { readonly gaveUp: boolean; readonly reason: string } | undefined;
  /** In order of preference. */
  readonly endpoints: readonly Readonly<z.infer<typeof endpointSaid>>[];
  /** By address; tokens without are absent. */
  readonly doubts: ReadonlyMap<string, readonly string[]>;
};

/** Puts down what the holder of the chain's writer lock knows: nobody else may. */
export const noteChain = async (
  { sql }: Pick<Db, "sql">,
  { chainId, trouble, ...said }: ChainNote,
): Promise<void> => {
  await sql`
    insert into evm_chain_notes (chain_id, gave_up, trouble, endpoints, doubts, written_at)
    values (${BigInt(chainId)}, ${trouble?.gaveUp ?? false}, ${trouble?.reason ?? null},
      ${JSON.stringify(said.endpoints)}::text::jsonb,
      ${JSON.stringify(Object.fromEntries(said.doubts))}::text::jsonb, clock_timestamp())
    on conflict (chain_id) do update set
      gave_up = excluded.gave_up, trouble = excluded.trouble, endpoints = excluded.endpoints,
      doubts = excluded.doubts, written_at = excluded.written_at`;
};

/** What a reader said last; ages by the database's clock. */
export type ChainSaid = ChainNote & {
  /** Milliseconds since: nobody reads the chain when that is long. */
  readonly saidAgoMs: number;
};

const row = z.object({
  chainId: z.coerce.number(),
  gaveUp: z.boolean(),
  reason: z.string().nullable(),
  endpoints: z.array(endpointSaid),
  doubts,
  saidAgoMs: z.number(),
});

/** Of these chains; those that no reader has told of are absent. */
export const chainNotes = async (
  { sql }: Pick<Db, "sql">,
  chainIds: readonly number[],
): Promise<ReadonlyMap<number, ChainSaid>> => {
  const rows = await sql`
    select chain_id as "chainId", gave_up as "gaveUp", trouble as reason, endpoints, doubts,
           (extract(epoch from clock_timestamp() - written_at) * 1000)::float8 as "saidAgoMs"
    from evm_chain_notes where chain_id = any(${bigints(chainIds.map(BigInt))}::int8[])`;
  return new Map(
    rows.map((found) => {
      const { chainId, gaveUp, reason, endpoints, saidAgoMs, ...said } = row.parse(found);
      const aged = endpoints.map(({ lastError, ...each }) => ({
        ...each,
        lastError: lastError && {
          ...lastError,
          secondsAgo: lastError.secondsAgo + Math.max(0, Math.floor(saidAgoMs / 1_000)),
        },
      }));
      const trouble = reason === null ? undefined : { gaveUp, reason };
      return [
        chainId,
        {
          chainId,
          trouble,
          endpoints: aged,
          doubts: new Map(Object.entries(said.doubts)),
          saidAgoMs,
        },
      ];
    }),
  );
};
