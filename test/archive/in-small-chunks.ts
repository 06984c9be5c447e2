/**
 * A process that exports or imports in small chunks, each listed at once, so that it can be killed between any two of
 * its steps: `node in-small-chunks.ts export|import URL FOLDER`. Prints a line after each chunk.
 */
import { lockExports } from "../../src/archive/export-lock.ts";
import { exportLog } from "../../src/archive/export-log.ts";
import { importLog } from "../../src/archive/import-log.ts";
import { verifyArchive } from "../../src/archive/verify-archive.ts";
import { connect } from "../../src/database/connect.ts";
import { acquireWriterLock } from "../../src/database/writer-lock.ts";

const [, , what, url = "", folder = ""] = process.argv;
const { signal } = new AbortController();
await using database = connect({ url, max: 4, applicationName: "archive" });
const onProgress = (next: bigint) => process.stdout.write(`${next}\n`);
if (what === "export") {
  await using _lock = await lockExports(database, signal);
  const limits = { maxFacts: 10_000, maxBytes: 10_000_000, maxCheckpoints: 5 };
  await exportLog(database, { folder, limits, listEveryMs: 0, signal, onProgress });
} else {
  const archive = await verifyArchive(folder, {}, signal);
  await using lock = await acquireWriterLock(database, "log", { signal });
  const { session } = lock;
  await importLog(database, { folder, archive, shownBy: null, session, signal, onProgress });
}
