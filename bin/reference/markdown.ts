/** The first lines of a page that is made: what it is, and that nobody edits it. */
export const head = (title: string, about: string): string =>
  `# ${title}\n\n<!-- Made by \`npm run docs\` from the code: change that, not this page. -->\n\n${about}\n`;

/** A text in a cell of a table: on one line, without what would end the cell. */
export const cell = (text: string): string =>
  text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").trim();

/** A table, or nothing when it would have no rows. */
export const table = (names: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ""
    : [names, names.map(() => "---"), ...rows]
        .map((cells) => `| ${cells.map(cell).join(" | ")} |\n`)
        .join("");

/** As code, when there is something. */
export const code = (text: string): string => (text === "" ? "" : `\`${text}\``);
