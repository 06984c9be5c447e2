/** What the tasks took, as a table. */
import type { Hand } from "./hands.ts";

type Took = { readonly effort: Hand["effort"]; readonly seconds: number };

type Row = { readonly user: string; readonly task: string; mouse?: Took; keyboard?: Took };

export type Measured = {
  note(user: string, task: string, hand: Hand, seconds: number): void;
  /** In Markdown, in the order in which they were done. */
  table(): string;
};

const byMouse = ({ effort: { clicks, texts }, seconds }: Took): string =>
  `${clicks}${texts === 0 ? "" : ` + ${texts} ${texts === 1 ? "text" : "texts"}`}, ${seconds.toFixed(1)} s`;

const byKeyboard = ({ effort: { keys }, seconds }: Took): string =>
  `${keys}, ${seconds.toFixed(1)} s`;

export const measured = (): Measured => {
  const rows = new Map<string, Row>();
  return {
    note: (user, task, hand, seconds) => {
      const row: Row = rows.get(`${user} ${task}`) ?? { user, task };
      row[hand.name] = { effort: { ...hand.effort }, seconds };
      rows.set(`${user} ${task}`, row);
    },
    table: () =>
      [
        "| who | task | by mouse: clicks | by keyboard: keys |",
        "| --- | --- | --- | --- |",
        ...[...rows.values()].map(
          ({ user, task, mouse, keyboard }) =>
            `| ${user} | ${task} | ${mouse === undefined ? "failed" : byMouse(mouse)} | ${keyboard === undefined ? "failed" : byKeyboard(keyboard)} |`,
        ),
      ].join("\n"),
  };
};
