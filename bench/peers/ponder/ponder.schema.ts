import { onchainTable } from "ponder";

/** A transfer's fields from its log, block and transaction. */
export const transfer = onchainTable("transfer", (t) => ({
  id: t.text().primaryKey(),
  block: t.bigint().notNull(),
  timestamp: t.bigint().notNull(),
  transaction: t.hex().notNull(),
  input: t.hex().notNull(),
  sender: t.hex().notNull(),
  recipient: t.hex().notNull(),
  amount: t.bigint().notNull(),
}));
