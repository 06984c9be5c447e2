import type { TestDatabase } from "../postgres.ts";

/** What was done with investors' data, oldest first: the service writes it and never reads it. */
export const piiAccesses = async ({ sql }: TestDatabase) => [
  ...(await sql<{ request_id: string; action: string; purpose: string }[]>`
    select request_id, action, purpose from ta_pii_accesses order by id`),
];

/** How many records of personal data are stored, each sealed. */
export const sealedRecords = async ({ sql }: TestDatabase): Promise<number> =>
  (await sql`select from ta_pii_records`).length;
