import { Command } from "commander";
import { canonicalJson } from "../../client/canonical-json.ts";
import { type Act, allActs } from "../audit/sequence/acts.ts";
import { openDatabase } from "./open-database.ts";
import { jsonOption, printJson, printLines } from "./output.ts";

/** `holderbook acts`: who ran which command, and when. */
export const actsCommand = () =>
  new Command("acts")
    .addOption(jsonOption())
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      await using storage = await openDatabase({ readOnly: true });
      const acts: (Act & { readonly entry: string | null })[] = [];
      for await (const act of allActs(storage.read.sql)) acts.push(act);
      if (json) printJson(acts);
      else printLines(acts.map(lineOf));
    });

const lineOf = (act: Act & { readonly entry: string | null }): string => {
  const { number, at, command, details, by, scope, coinType, entry } = act;
  return [
    `${number}  ${at}  ${command} ${canonicalJson(details)}`,
    `by ${by.user} on ${by.host}, role ${by.role}`,
    `on ${coinType ?? (scope === "project" ? "EVM alone" : "the whole deployment")}`,
    entry === null ? "not published yet" : `entry ${entry}`,
  ].join("; ");
};
