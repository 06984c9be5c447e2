/**
 * A process that archives or attaches facts, and prints a line after each file that it has read, so that it can be killed
 * there or a moment later: `node archiving.ts detach|attach URL FOLDER BEFORE`.
 */
import { attachFacts } from "../../src/archive/attach-facts.ts";
import { detachFacts } from "../../src/archive/detach-facts.ts";
import { connect } from "../../src/database/connect.ts";

const [, , what, url = "", folder = "", before = "0"] = process.argv;
await using database = connect({ url, max: 2, applicationName: "archiving" });
await using session = await database.session();
const onProgress = () => process.stdout.write("read\n");
const options = { on: session, folder, signal: new AbortController().signal, onProgress };
if (what === "attach") await attachFacts(options);
else await detachFacts({ ...options, before: BigInt(before), onBlocked: () => {} });
