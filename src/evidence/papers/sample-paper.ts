/** Paper 4: movements drawn by a stated seed, with room for the auditor's findings. */

import { CAUSES } from "../../projections/balance-changes.ts";
import { code, heading, list, type Paper, table, text } from "../document/document.ts";
import { FILES } from "../pack/form.ts";
import { MOVEMENT, movementCells } from "./exceptions-paper.ts";
import { amountsOf, percentOf, SHORTENED, type Subject } from "./subject.ts";

export const samplePaper = (subject: Subject): Paper => {
  const { gathered, seed, options } = subject;
  const { drawn, of } = gathered.sample;
  const cells = movementCells(subject);
  const amount = amountsOf(subject);
  const sampled = drawn.reduce(
    (sum, { item: { change } }) => sum + (change < 0n ? -change : change),
    0n,
  );
  const population = CAUSES.flatMap((cause) => [
    gathered.rollForward.flow(cause, "TOKENS"),
    gathered.rollForward.flow(cause, "GRANTS"),
  ]).reduce((sum, { more, less }) => sum + more + less, 0n);
  return {
    number: "4",
    title: "Sample of movements",
    file: "4-sample",
    isLandscape: true,
    blocks: [
      text(
        `${drawn.length} of ${of} movements, drawn with the seed `,
        code(seed),
        options.seed === undefined
          ? ". This is the SHA-256 of manifest.json, so the maker of the pack could have made packs until a draw suited. An auditor should state an own seed, which the maker could not know (--seed)."
          : ", which was given.",
      ),
      heading("Coverage"),
      table({
        columns: [
          { title: "", width: 30 },
          { title: "movements", width: 12, isNumber: true },
          { title: "sum of absolute changes", width: 20, isNumber: true },
        ],
        rows: [
          ["population: all movements of the period", `${of}`, amount(population)],
          ["sample", `${drawn.length}`, amount(sampled)],
          ["coverage", percentOf(BigInt(drawn.length), BigInt(of)), percentOf(sampled, population)],
        ],
      }),
      text(
        "Every movement has the same chance, whatever its amount: test large ones besides. Paper 2 has the same population by cause.",
      ),
      heading("How it was drawn"),
      text(`Anybody can repeat the draw from ${FILES.movements}:`),
      list([
        "the rank of a line is the SHA-256 of the seed (UTF-8), one LF, and the line without its LF;",
        `the lines with the ${options.sample} smallest ranks are drawn, in the order of their ranks. A larger sample begins with the smaller one.`,
      ]),
      heading("Sheet"),
      text(
        "Tick each after agreeing it to the ledger (look up the transaction's digest in an explorer or on a node of your own) and to the instruction behind it. ",
        SHORTENED,
      ),
      ...(drawn.length === 0
        ? [text("There are no movements between the dates.")]
        : [
            table({
              columns: [
                { title: "no.", width: 4, isNumber: true },
                ...MOVEMENT,
                { title: "tick", width: 5 },
                { title: "initials", width: 7 },
              ],
              rows: drawn.map(({ item }, at) => [`${at + 1}`, ...cells(item), "", ""]),
              isSheet: true,
            }),
            heading("Ranks"),
            table({
              columns: [
                { title: "no.", width: 4, isNumber: true },
                { title: "rank", width: 60 },
              ],
              rows: drawn.map(({ rank }, at) => [`${at + 1}`, code(rank)]),
            }),
          ]),
    ],
  };
};
