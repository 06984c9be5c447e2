import type { TestDatabase } from "../postgres.ts";

/** Has the outbox refuse every callback of a transfer event. */
export const closeOutbox = ({ sql }: TestDatabase) =>
  sql`alter table callback_messages add constraint closed check (type <> 'transfer_event')`;
