/** Who signed a transaction of the log. */
import { type Reads, read } from "../database/readers.ts";

/** Null where its facts are not in the log: archived. */
export const senderOf = async (
  reads: Reads,
  { checkpoint, transaction }: { readonly checkpoint: bigint; readonly transaction: number },
): Promise<string | null> => {
  const [row] = await read<{ sender: string }>(reads, SENDER, [checkpoint, transaction]);
  return row?.sender ?? null;
};

const SENDER = `
  select sender from log_facts where checkpoint = $1::int8 and transaction = $2::int4
  order by kind, index limit 1`;
