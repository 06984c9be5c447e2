import { randomBytes } from "node:crypto";
import type { TestDatabase } from "../postgres.ts";

/** A root of zeroes, signed by nothing, where the true one of a checkpoint will come. */
export const publishOtherRoot = async (
  { sql }: TestDatabase,
  { coinType, checkpoint }: { readonly coinType: string; readonly checkpoint: bigint },
): Promise<void> => {
  await sql`
    insert into published_roots
      (coin_type, checkpoint, checkpoint_digest, root, total, signature, key_id)
    select ${coinType}, ${checkpoint}, 'digest', ${"0".repeat(64)}, '1',
           ${randomBytes(64).toString("base64")}, key_id
    from deployment_keys limit 1`;
};

/** Checkpoints whose roots were published. */
export const publishedCheckpoints = async ({ sql }: TestDatabase): Promise<readonly bigint[]> => {
  const rows = await sql<{ checkpoint: bigint }[]>`select checkpoint from published_roots`;
  return rows.map(({ checkpoint }) => checkpoint);
};
