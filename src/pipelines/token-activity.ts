/**
 * Mints, burns, transfers and forced transfers become rows of the activity log.
 *
 * Facts in:  the four events
 * Rows out:  token_activity, keyed by (coin type, position)
 */
import {
  decodeBurn,
  decodeForceTransfer,
  decodeMint,
  decodeTransfer,
} from "../ledger/contract/events.ts";
import { BURN, FORCE_TRANSFER, MINT, TRANSFER } from "../ledger/contract/names.ts";
import type { EventFact } from "../log/fact.ts";
import { LINES, placedLines } from "../projections/digest-lines.ts";
import {
  type ActivityType,
  activityProgress,
  appendTokenActivity,
  type TokenActivityRow,
  tokenActivityTable,
} from "../projections/token-activity.ts";
import { type EventPlace, type EventReader, eventRows } from "./event-rows.ts";
import type { Pipeline } from "./pipeline.ts";
import { events } from "./stored-tables.ts";

/** Columns of a row besides its event's place. */
type Movement = Omit<TokenActivityRow, keyof EventPlace>;

const READERS: Readonly<Record<string, EventReader<Movement>>> = {
  [MINT]: (contents, event) => movement("mint", decodeMint(contents), event),
  [BURN]: (contents, event) => movement("burn", decodeBurn(contents), event),
  [TRANSFER]: (contents, event) => movement("transfer", decodeTransfer(contents), event),
  [FORCE_TRANSFER]: (contents, event) =>
    movement("force_transfer", decodeForceTransfer(contents), event),
};

/** A mint has no sender, a burn no recipient. */
const movement = (
  activityType: ActivityType,
  decoded: { tokenId: string; from?: string; to?: string; amount: bigint },
  { sender }: EventFact,
): Movement => ({
  activityType,
  amount: decoded.amount,
  fromAddress: decoded.from ?? null,
  toAddress: decoded.to ?? null,
  signer: sender,
  tokenObjectId: decoded.tokenId,
});

export const tokenActivityPipeline: Pipeline<readonly TokenActivityRow[]> = {
  ...activityProgress,
  queries: ["tokenActivity"],
  facts: Object.keys(READERS),
  tables: [events(LINES.activity, tokenActivityTable)],
  rows: (facts) => eventRows(activityProgress.name, facts, READERS),
  write: appendTokenActivity,
  lines: (rows) => placedLines(LINES.activity, rows),
};
