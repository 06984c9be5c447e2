import { ponder } from "ponder:registry";
import { transfer } from "ponder:schema";

ponder.on("Token:Transfer", async ({ event, context }) => {
  await context.db.insert(transfer).values({
    id: event.id,
    block: event.block.number,
    timestamp: event.block.timestamp,
    transaction: event.transaction.hash,
    input: event.transaction.input,
    sender: event.args.from,
    recipient: event.args.to,
    amount: event.args.value,
  });
});
