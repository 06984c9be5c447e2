/** Proofs of completeness, as the prover keeps them. */
import type { IncompleteObject } from "../../src/audit/complete/tables.ts";
import type { TestDatabase } from "../postgres.ts";

/** Keeps a proof of one coin, or of all. */
export const keepProof = async (
  { sql }: Pick<TestDatabase, "sql">,
  {
    coinType = null,
    through,
    incomplete = [],
  }: {
    readonly coinType?: string | null;
    readonly through: bigint;
    readonly incomplete?: readonly IncompleteObject[];
  },
): Promise<void> => {
  await sql`
    insert into completeness (coin_type, through, certificate, incomplete)
    values (${coinType}, ${through}, '{}', ${JSON.stringify(incomplete)}::text::jsonb)`;
};
