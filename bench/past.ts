/**
 * Past pages beside current pages: same service and rows, interleaved. Every balance moved before
 * and after the requested checkpoint, and half of the objects differed.
 */
import { columns, type Figure, inTurn, median } from "./figure.ts";
import { fillHistory, fillTable, MIDDLE, writeBasics } from "./graphql-fill.ts";
import { COIN, GROWING, wallet } from "./graphql-rows.ts";
import { type QueryName, startService, type Variables } from "./graphql-servers.ts";
import { startLoad } from "./load.ts";
import { scratchPostgres } from "./start.ts";

const ROWS = 10_000;
const CONNECTIONS = 32;
const WARM_UP_MS = 1_000;
const ROUNDS = 3;
const ROUND_MS = 2_000;

const CASES: readonly { readonly name: QueryName; readonly variables: Variables }[] = [
  { name: "tokenBalance", variables: { owner: wallet(5) } },
  ...[10, 100].flatMap((limit) => [
    { name: "tokenObjects" as const, variables: { owner: wallet(0), limit } },
    { name: "tokenHolders" as const, variables: { limit } },
    { name: "tokenTimelocks" as const, variables: { limit } },
  ]),
];

/** Takes a minute and a half. */
export const bench = async (): Promise<readonly Figure[]> => {
  await using scratch = await scratchPostgres();
  await writeBasics(scratch.database, []);
  for (const table of GROWING) await fillTable(scratch.database, table, ROWS);
  await fillHistory(scratch.database);
  await using load = startLoad();
  await using service = await startService(scratch);
  const rows: string[][] = [];
  let within = 0;
  for (const { name, variables } of CASES) {
    const now = { name, variables: { coinType: COIN, ...variables } };
    const then = { name, variables: { ...now.variables, atCheckpoint: MIDDLE.toString() } };
    const began = performance.now();
    const first = await service.ask(then);
    const firstMs = performance.now() - began;
    const calls = [
      service.call(now, Buffer.byteLength(await service.ask(now))),
      service.call(then, Buffer.byteLength(first)),
    ];
    const rates = await inTurn(
      ROUNDS,
      calls.map((call) => async (isWarmUp) => {
        const forMs = isWarmUp ? WARM_UP_MS : ROUND_MS;
        const answers = await load.ask({ calls: [call], connections: CONNECTIONS, forMs });
        return answers.perSecond;
      }),
    );
    const [present = 0, past = 0] = rates.map(median);
    const ratio = present / past;
    if (ratio <= 2) within += 1;
    rows.push([
      `${name} ${variables.limit ?? ""}`.trim(),
      ratio.toFixed(2),
      `${Math.round(present)} / ${Math.round(past)}`,
      firstMs.toFixed(1),
    ]);
    process.stderr.write(`${name} ${variables.limit ?? ""}: ${ratio.toFixed(2)}\n`);
  }
  return [
    {
      name: "time of a past answer / of the same one now, in the middle of the history",
      reached: `${within} of ${CASES.length} within 2`,
      aim: "2 at most",
      detail: [
        `${CONNECTIONS} connections, medians of ${ROUNDS} rounds of ${ROUND_MS / 1_000} s in turn, ${ROWS} rows in each table; the first past answer alone:`,
        ...columns([["query, rows", "past / now", "requests/s now / past", "first, ms"], ...rows]),
      ].join("\n  "),
    },
  ];
};
