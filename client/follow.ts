/** A copy of a token's balances that is kept up to date, and resumes after a break. */
import type { Book, Followed, RegisterCopy } from "./register.ts";

/** Before the first change of any token. */
const BEGINNING = "0:0x0:TOKENS";

/** The copy, then each change after it, once and in chain order, without an end. */
export async function* followCopy(
  { capTable, balanceChanges }: Pick<Book, "capTable" | "balanceChanges">,
  { coinType, from, signal, onHold }: Followed,
): AsyncGenerator<RegisterCopy> {
  const balances = new Map(from?.balances ?? []);
  let cursor = from?.cursor ?? BEGINNING;
  if (from === undefined) {
    const table = await capTable({ coinType, signal });
    // A token not seen yet: all its changes come after the beginning.
    if (table !== null) {
      for await (const { wallets } of table) {
        for (const { address, balance } of wallets) {
          if (balance > 0n) balances.set(address, balance);
        }
      }
      cursor = table.followCursor;
    }
  }
  yield { coinType, cursor, balances, change: null };
  for await (const change of balanceChanges({ coinType, after: cursor, signal, onHold })) {
    const balance = (balances.get(change.owner) ?? 0n) + change.change;
    if (balance === 0n) balances.delete(change.owner);
    else balances.set(change.owner, balance);
    yield { coinType, cursor: change.cursor, balances, change };
  }
}
