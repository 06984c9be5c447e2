/**
 * The baseline of freshness, as a separate process: at each due time a durable insert of a
 * checkpoint's bytes, then five concurrent one-row updates, one per connection, without waiting for
 * the disk; and a handler that reads the five rows. Prints its address.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "../src/database/connect.ts";

const PIPELINES = 5;
const FACTS = 5;
const FACT_BYTES = 400;

const [url = "", firstMs = "", everyMs = ""] = process.argv.slice(2);
const [first, every] = [Number(firstMs), Number(everyMs)];

await using database = connect({ url, max: 2, applicationName: "bare" });
await database.sql`create table bare_log (checkpoint bigint, index int, contents text)`;
await database.sql`create table bare_watermarks (pipeline int primary key, checkpoint bigint)`;
await database.sql`insert into bare_watermarks select n, -1 from generate_series(1, ${PIPELINES}::int4) n`;
const log = await database.session();
const pipelines = await Promise.all(
  Array.from({ length: PIPELINES }, () => database.session({ synchronousCommit: "off" })),
);

const server = createServer(async (_, response) => {
  const rows = await database.sql<{ checkpoint: bigint }[]>`select checkpoint from bare_watermarks`;
  const indexerStatus = rows.map(({ checkpoint }) => ({ checkpoint: checkpoint.toString() }));
  const body = JSON.stringify({ data: { indexerStatus } });
  response.setHeader("content-type", "application/json").end(body);
}).listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
process.stdout.write(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}\n`);

const contents = "x".repeat(FACT_BYTES);
for (let checkpoint = 0n; ; checkpoint += 1n) {
  await delay(Math.max(1, first + Number(checkpoint) * every - Date.now()));
  await log.sql`
    insert into bare_log select ${checkpoint}::int8, n, ${contents}::text
    from generate_series(1, ${FACTS}::int4) n`;
  await Promise.all(
    pipelines.map(
      ({ sql }, n) =>
        sql`update bare_watermarks set checkpoint = ${checkpoint} where pipeline = ${n + 1}`,
    ),
  );
}
