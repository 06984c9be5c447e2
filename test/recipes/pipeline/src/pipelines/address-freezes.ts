/**
 * Freezes and releases of wallets become rows.
 *
 * Facts in:  AddressFrozen
 * Rows out:  address_freezes, keyed by (coin type, position)
 */
import { decodeAddressFrozen } from "../ledger/contract/events.ts";
import { ADDRESS_FROZEN } from "../ledger/contract/names.ts";
import {
  type AddressFreeze,
  addressFreezesTable,
  appendFreezes,
  FREEZE_LINE,
  freezeProgress,
} from "../projections/address-freezes.ts";
import { placedLines } from "../projections/digest-lines.ts";
import { eventRows } from "./event-rows.ts";
import type { Pipeline } from "./pipeline.ts";
import { events } from "./stored-tables.ts";

export const addressFreezesPipeline: Pipeline<readonly AddressFreeze[]> = {
  ...freezeProgress,
  queries: ["addressFreezes"],
  facts: [ADDRESS_FROZEN],
  tables: [events(FREEZE_LINE, addressFreezesTable)],
  rows: (facts) =>
    eventRows(freezeProgress.name, facts, {
      [ADDRESS_FROZEN]: (contents) => {
        const { addr: address, isFrozen } = decodeAddressFrozen(contents);
        return { address, isFrozen };
      },
    }),
  write: appendFreezes,
  lines: (rows) => placedLines(FREEZE_LINE, rows),
};
