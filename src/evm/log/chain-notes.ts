/** A reader's notes on its chain (`evm_chain_notes`): why it stopped, for other processes. */
import { z } from "zod";
import { bigints } from "../../database/column-arrays.ts";
import type { Db } from "../../database/connect.ts";
import { type EndpointHealth, endpointHealthSchema } from "../rpc/endpoint-health.ts";

/** Reasons to doubt a token's log, by its address. */
const doubts = z.record(z.string(), z.array(z.string()));

type ChainNote = {
  readonly chainId: number;
  /** Why reading stopped; undefined while it runs. */
  readonly trouble: { readonly gaveUp: boolean; readonly reason: string } | undefined;
  /** In order of preference. */
  readonly endpoints: readonly EndpointHealth[];
  /** By address; tokens without doubts are absent. */
  readonly doubts: ReadonlyMap<string, readonly string[]>;
};

/** Only the holder of the chain's writer lock may call this. */
export const noteChain = async (
  { sql }: Pick<Db, "sql">,
  { chainId, trouble, ...note }: ChainNote,
): Promise<void> => {
  await sql`
    insert into evm_chain_notes (chain_id, gave_up, trouble, endpoints, doubts, written_at)
    values (${BigInt(chainId)}, ${trouble?.gaveUp ?? false}, ${trouble?.reason ?? null},
      ${JSON.stringify(note.endpoints)}::text::jsonb,
      ${JSON.stringify(Object.fromEntries(note.doubts))}::text::jsonb, clock_timestamp())
    on conflict (chain_id) do update set
      gave_up = excluded.gave_up, trouble = excluded.trouble, endpoints = excluded.endpoints,
      doubts = excluded.doubts, written_at = excluded.written_at`;
};

/** Ages are by the database's clock. */
export type AgedChainNote = ChainNote & {
  /** Age of the note in ms; a large one means no reader. */
  readonly noteAgeMs: number;
};

const row = z.object({
  chainId: z.coerce.number(),
  gaveUp: z.boolean(),
  reason: z.string().nullable(),
  endpoints: z.array(endpointHealthSchema),
  doubts,
  noteAgeMs: z.number(),
});

/** Chains without a note are absent. */
export const chainNotes = async (
  { sql }: Pick<Db, "sql">,
  chainIds: readonly number[],
): Promise<ReadonlyMap<number, AgedChainNote>> => {
  const rows = await sql`
    select chain_id as "chainId", gave_up as "gaveUp", trouble as reason, endpoints, doubts,
           (extract(epoch from clock_timestamp() - written_at) * 1000)::float8 as "noteAgeMs"
    from evm_chain_notes where chain_id = any(${bigints(chainIds.map(BigInt))}::int8[])`;
  return new Map(
    rows.map((found) => {
      const { chainId, gaveUp, reason, endpoints, noteAgeMs, doubts } = row.parse(found);
      const aged = endpoints.map(({ lastError, ...each }) => ({
        ...each,
        lastError: lastError && {
          ...lastError,
          secondsAgo: lastError.secondsAgo + Math.max(0, Math.floor(noteAgeMs / 1_000)),
        },
      }));
      const trouble = reason === null ? undefined : { gaveUp, reason };
      const doubtsOf = new Map(Object.entries(doubts));
      return [chainId, { chainId, trouble, endpoints: aged, doubts: doubtsOf, noteAgeMs }];
    }),
  );
};
