/** Rows of the growth bench alone, beside those of `graphql-rows.ts`: computed from their numbers, too. */
import { createHash } from "node:crypto";
import {
  CHECKPOINT_MS,
  COIN,
  DIGEST,
  FIRST_CHECKPOINT,
  FIRST_MS,
  type Fill,
  NEXT_CHECKPOINT,
  POSITION,
  TIME,
  walletSql,
} from "./graphql-rows.ts";

/** Wallets, each with a holder of the same number, where their number stays the same at both sizes. */
export const FEW_WALLETS = 1_000;

/** Labels with the frequent word, at both sizes. */
const FREQUENT = 5_000;
export const FREQUENT_WORD = "shareholder";

/** Of a label's subject, the holder `number`: a word of its own. */
export const labelWord = (number: number): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(number);
  return `k${createHash("sha256").update(bytes).digest("hex").slice(0, 9)}`;
};

const OWN_WORD = (number: string) =>
  `'k' || substr(encode(sha256(int4send((${number})::int4)), 'hex'), 1, 9)`;
const FIRST_WORD = (number: string) =>
  `case when ${number} < ${FREQUENT} then '${FREQUENT_WORD}' else 'investor' end`;

/** One checkpoint each, from the first that is indexed on; the last is the newest. */
const blocks: Fill = {
  table: "log_blocks",
  row: (count) => ({
    first_checkpoint: `case when n = ${count - 1} then ${NEXT_CHECKPOINT - 1} else ${FIRST_CHECKPOINT} + n end`,
    count: "1",
    times: `int8send(${FIRST_MS} + n::int8 * ${CHECKPOINT_MS})`,
    digests: "sha256(int4send(n))",
    reached_ms: `${FIRST_MS} + n::int8 * ${CHECKPOINT_MS}`,
    filled: "false",
  }),
};

/** Holder `n` has the wallet `n` since before the first movement. */
const givenWallets: Fill = {
  table: "holder_events",
  row: (count) => ({
    coin_type: `'${COIN}'`,
    position: `(${FIRST_CHECKPOINT} - ${count} + n)::int8 * 1000000000`,
    event_type: "'holder_address_added'",
    tx_digest: DIGEST,
    holder_id: "n",
    address: walletSql("n"),
    timestamp_ms: `${FIRST_MS}`,
    reached_ms: `${FIRST_MS}`,
  }),
};

const memberships = (rows?: Fill["rows"]): Fill => ({
  table: "membership_ranges",
  row: () => ({
    coin_type: `'${COIN}'`,
    address: walletSql("n"),
    aspect: "'holder'",
    value: "n",
    checkpoint: `${FIRST_CHECKPOINT}`,
    until: `${2n ** 63n - 1n}`,
  }),
  ...(rows && { rows }),
});

/** Movements of tokens by turns of `wallets`; each has its first one from zero. */
const movements = (wallets: string, rows?: Fill["rows"]): Fill => ({
  table: "token_changes",
  row: () => ({
    coin_type: `'${COIN}'`,
    owner: walletSql(`n % ${wallets}`),
    position: POSITION,
    cause: "'TRANSFER'",
    change: "1000",
    balance_after: `(n / ${wallets} + 1)::int8 * 1000`,
    tx_digest: DIGEST,
    timestamp_ms: TIME,
  }),
  ...(rows && { rows }),
});

const supplies: Fill = {
  table: "token_supplies",
  row: () => ({
    coin_type: `'${COIN}'`,
    checkpoint: `${FIRST_CHECKPOINT} + n`,
    supply: "n::int8 * 1000 + 1000",
  }),
};

const labels: Fill = {
  table: "labels",
  row: () => ({
    id: "n + 1",
    kind: "'HOLDER'",
    coin_type: `'${COIN}'`,
    subject: "n::text",
    text: `${FIRST_WORD("n")} || ' ' || ${OWN_WORD("n")}`,
    is_sealed: "false",
    by: "'bench'",
  }),
};

const words: Fill = {
  table: "label_words",
  row: () => ({
    word: `case when n % 2 = 0 then ${FIRST_WORD("n / 2")} else ${OWN_WORD("n / 2")} end`,
    label_id: "n / 2 + 1",
  }),
  rows: (size) => 2 * size,
};

const few = () => FEW_WALLETS;
const ofFew = String(FEW_WALLETS);

/** Tables that are filled together, by what they are for. */
export const FILLS = {
  /** Times of checkpoints, for all arguments that are moments. */
  blocks: [blocks],
  /** Beside the movements of `graphql-rows.ts`: more holders and wallets with more rows. */
  holders: [givenWallets, memberships()],
  supplies: [supplies],
  /** More movements of as many wallets. */
  moves: [movements(ofFew), memberships(few)],
  /** More labels, and as many holders. */
  labels: [labels, words, movements(ofFew, few), memberships(few)],
  /** As many wallets as rows, each with a holder and a movement. */
  wallets: [movements("2000000000"), memberships()],
} as const satisfies Readonly<Record<string, readonly Fill[]>>;
