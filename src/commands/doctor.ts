import { Command, Option } from "commander";
import type { Service } from "../service/settings-checks.ts";
import { namesArgument } from "./arguments.ts";
import { CHECKS, type ReportLine, type State } from "./doctor/finding.ts";
import { printJson, printLines } from "./output.ts";

type Options = {
  readonly for: Service;
  readonly only?: readonly string[];
  readonly strict?: boolean;
  readonly json?: boolean;
};

const PROCESSES: readonly Service[] = ["start", "index", "serve"];

/** `holderbook doctor`: checks a deployment. Exit code 1 when a check fails. */
export const doctorCommand = () =>
  new Command("doctor")
    .option(
      "--only <checks>",
      `only these, separated by commas: ${CHECKS.join(", ")}`,
      // Accepts the former name, too.
      (text: string) => namesArgument(CHECKS)(text.replaceAll("transfer agent", "transfer-agent")),
    )
    .addOption(
      new Option("--for <process>", "check the settings for this process")
        .choices(PROCESSES)
        .default("start"),
    )
    .option("--strict", "exit with code 1 on warnings, too")
    .option("--json", "print one JSON document instead of text")
    .addHelpText(
      "after",
      "\nEach line is ok, warn or fail, with its remedy. Changes nothing; works beside a running service.",
    )
    .action(async ({ for: service, only, strict = false, json }: Options) => {
      const { examine } = await import("./doctor/examine.ts");
      const findings = await examine(
        service,
        CHECKS.filter((check) => only?.includes(check) ?? true),
      );
      const count = (state: State) => findings.filter((each) => each.state === state).length;
      const [failed, warned] = [count("fail"), count("warn")];
      if (json) printJson({ ok: failed === 0, failed, warned, findings });
      else printLines(inWords(findings, failed, warned));
      if (failed > 0 || (strict && warned > 0)) process.exitCode = 1;
    });

/** A line for each finding, followed by its remedy. */
const inWords = (findings: readonly ReportLine[], failed: number, warned: number) => {
  const width = Math.max(...CHECKS.map((check) => check.length));
  const lines = findings.flatMap(({ check, state, says, remedy }) => [
    `${state.padEnd(4)}  ${check.padEnd(width)}  ${says}`,
    ...(remedy === undefined ? [] : [`${" ".repeat(width + 8)}→ ${remedy}`]),
  ]);
  const warnings = `${warned} ${warned === 1 ? "warning" : "warnings"}`;
  const end =
    failed + warned === 0
      ? "all checks passed"
      : `${failed === 0 ? "nothing" : failed} failed, ${warnings}`;
  return [...lines, "", end];
};
