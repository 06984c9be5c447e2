import { Command } from "commander";
import { keepFindings } from "../audit/reconcile/findings.ts";
import { type Reconciliation, reconcile } from "../audit/reconcile/reconcile.ts";
import { type AsOf, checkpointOf } from "../graphql/past.ts";
import { resolveCoin } from "../log/coins.ts";
import { askingFor, createAsking } from "../projections/asking.ts";
import { guardedReads } from "../projections/guarded-reads.ts";
import { ALL } from "../projections/needed.ts";
import { AT_HELP, atOption, coinOption } from "./cap-table-at.ts";
import { openDatabase } from "./open-database.ts";
import { endCheck, notShown, onFaith, printJson, printLines } from "./output.ts";

type Options = { readonly at?: AsOf; readonly coin?: string; readonly json?: boolean };

const EXIT_CODES = `
Exit codes: 0 everything requested adds up, 1 something does not, 2 wrong usage, 3 nothing was found, but some parts
could not be checked: a pipeline whose tables are being filled in, or that is far behind the log.`;

/** `holderbook reconcile`: checks that the register adds up. */
export const reconcileCommand = () =>
  new Command("reconcile")
    .addOption(atOption())
    .addOption(coinOption().makeOptionMandatory(false))
    .option("--json", "print one JSON document instead of text")
    .addHelpText("after", AT_HELP + EXIT_CODES)
    .action(async ({ at, coin, json }: Options) => {
      await using storage = await openDatabase();
      const { write: database, signal } = storage;
      const coinType =
        coin === undefined ? undefined : (await resolveCoin(database.db, coin)).coinType;
      const done = await askingFor(createAsking(database), () =>
        reconcile(database, {
          at: at && ((on) => checkpointOf(guardedReads(on, ALL), at)),
          coinType,
          signal,
        }),
      );
      if (coinType === undefined && (done.findings.length > 0 || done.notShown.length === 0)) {
        await keepFindings(database.sql, "command", done.checkpoint, done.findings);
      }
      if (json) printJson({ ...done, onFaith: ON_FAITH });
      else printLines(inWords(done));
      endCheck({ isFalse: done.findings.length > 0, isUnshown: done.notShown.length > 0 });
    });

const ON_FAITH =
  "the log (verify --log), and that Postgres shows other sessions the same data as this command";

const inWords = (done: Reconciliation) => [
  ...done.findings,
  ...(done.more > 0 ? [`and ${done.more} more`] : []),
  verdict(done),
  ...done.notShown.map(notShown),
  ...done.notes,
  onFaith(ON_FAITH),
];

const verdict = ({ checkpoint, coins, findings, more, notShown }: Reconciliation): string => {
  if (findings.length > 0) {
    return `reconciled at checkpoint ${checkpoint}: ${findings.length + more} findings`;
  }
  return notShown.length > 0
    ? `not shown at checkpoint ${checkpoint}: nothing false was found, but not everything could be checked`
    : `everything adds up at checkpoint ${checkpoint}: ${coins} tokens`;
};
