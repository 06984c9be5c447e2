/** Paper 4: movements drawn by a stated seed, with room for what an auditor finds of each. */
import { FILES } from "../audit/pack-form.ts";
import { code, heading, list, type Paper, table, text } from "./document.ts";
import { MOVEMENT, movementCells } from "./exceptions-paper.ts";
import type { Subject } from "./subject.ts";

export const samplePaper = (subject: Subject): Paper => {
  const { gathered, seed, options } = subject;
  const { drawn, of } = gathered.sample;
  const cells = movementCells(subject);
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
          ? ". That is the SHA-256 of manifest.json: whoever made the pack could have made others until the draw pleased. An auditor should state an own seed, which the maker could not know (--seed)."
          : ", which was given.",
      ),
      heading("How it was drawn"),
      text(`Anybody draws the same from ${FILES.movements}:`),
      list([
        "the rank of a line is the SHA-256 of the seed (UTF-8), one LF, and the line without its LF;",
        `the lines with the ${options.sample} smallest ranks are drawn, in the order of their ranks. A larger sample begins with the smaller one.`,
      ]),
      heading("Sheet"),
      text(
        "Tick each after agreeing it to the ledger (the transaction's digest, in an explorer or a node of your own) and to the instruction behind it.",
      ),
      ...(drawn.length === 0
        ? [text("There are no movements between the dates: none.")]
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
