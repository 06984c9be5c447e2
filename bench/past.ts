/**
 * Past pages beside current pages: same service and rows, interleaved. Every balance moved before
 * and after the requested checkpoint, and half of the objects differed.
 */
import { type Figure, inTurn, ratioOf } from "./figure.ts";
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

const AIM = 2;

/** Takes a minute and a half. */
export const bench = async (): Promise<readonly Figure[]> => {
  await using scratch = await scratchPostgres();
  await writeBasics(scratch.database, []);
  for (const table of GROWING) await fillTable(scratch.database, table, ROWS);
  await fillHistory(scratch.database);
  await using load = startLoad();
  await using service = await startService(scratch);
  const figures: Figure[] = [];
  for (const { name, variables } of CASES) {
    const now = { name, variables: { coinType: COIN, ...variables } };
    const then = { name, variables: { ...now.variables, atCheckpoint: MIDDLE.toString() } };
    const began = performance.now();
    const first = await service.ask(then);
    const firstMs = performance.now() - began;
    const calls = [
      service.call(then, Buffer.byteLength(first)),
      service.call(now, Buffer.byteLength(await service.ask(now))),
    ];
    const rates = await inTurn(
      ROUNDS,
      calls.map((call) => async (isWarmUp) => {
        const forMs = isWarmUp ? WARM_UP_MS : ROUND_MS;
        const answers = await load.ask({ calls: [call], connections: CONNECTIONS, forMs });
        return answers.perSecond;
      }),
    );
    const [past = [], present = []] = rates.map((rounds) => rounds.map((rate) => 1_000 / rate));
    figures.push({
      name: `${name} ${variables.limit ?? ""}`.trim(),
      what: `Past answers: time for each / for the same answer about the present, ${ROWS.toLocaleString("en")} rows, seven cases`,
      ...ratioOf("ms", past, present),
      ...{ better: "less", aim: AIM },
      detail: `the first past answer alone ${firstMs.toFixed(1)} ms`,
    });
    process.stderr.write(`${name} ${variables.limit ?? ""}\n`);
  }
  return figures;
};
