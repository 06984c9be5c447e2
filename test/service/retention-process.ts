/** Removes old rows without a rest, and prints a line per statement: to be killed by a test. */
import { connect } from "../../src/database/connect.ts";
import { retention } from "../../src/service/retention.ts";
import { createFigures } from "../../src/telemetry/figures.ts";

const [url = ""] = process.argv.slice(2);
const database = connect({ url, max: 1, applicationName: "retention" });
const work = retention(
  {
    config: { retainCallbacksDays: 31, retainRequestsDays: 31 },
    logger: { info: () => undefined },
    figures: createFigures(),
  },
  { rows: 200 },
);
for (let ended = false; !ended; ) {
  ended = (await work?.next(database))?.ended ?? true;
  process.stdout.write("removed\n");
}
await database.close();
