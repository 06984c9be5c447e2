/** Logs that are no Transfer although they have its topic, and a log whose facts cannot be decoded for a while. */
import { type Hex, pad, stringToHex } from "viem";
import { transferTopic } from "../../src/evm/contract/events.ts";
import type { TestDatabase } from "../postgres.ts";
import type { Anvil, Deployed } from "./anvil.ts";

const WORD = pad("0x05", { size: 32 });
const WALLET = pad("0x11", { size: 32 });

/** Topics after the first, and data. */
export const MALFORMED: Readonly<Record<string, readonly [topics: readonly Hex[], data: Hex]>> = {
  "too few topics": [[WALLET], WORD],
  "no other topic": [[], `${WALLET}${WALLET.slice(2)}${WORD.slice(2)}`],
  "the form of ERC-721": [[WALLET, WALLET, WORD], "0x"],
  "no data": [[WALLET, WALLET], "0x"],
  "short data": [[WALLET, WALLET], "0x05"],
  "long data": [[WALLET, WALLET], `${WORD}00`],
  "a wallet too long": [[stringToHex("more than an address in a topic!"), WALLET], WORD],
};

export const emitTransfer = (
  chain: Anvil,
  token: Deployed,
  [topics, data]: readonly [readonly Hex[], Hex],
) => chain.send(token, "emitLog", [[transferTopic, ...topics], data]);

/** The log takes in this amount's Transfers in a form that no decoder knows, until the result is called. */
export const garble = async ({ sql }: TestDatabase, amount: number) => {
  const data = `\\x${amount.toString(16).padStart(64, "0")}`;
  await sql.unsafe(`
    create function garble() returns trigger language plpgsql as $$
    begin
      if new.data = '${data}' then new.data = '${data}00'; end if;
      return new;
    end $$;
    create trigger garble before insert on evm_facts for each row execute function garble()`);
  return () =>
    sql.unsafe(`
      drop trigger garble on evm_facts;
      drop function garble;
      update evm_facts set data = '${data}' where data = '${data}00'`);
};
