export const head = (title: string, about: string): string =>
  `# ${title}\n\n<!-- Made by \`npm run docs\` from the code: change that, not this page. -->\n\n${about}\n`;

/** Escapes a table cell, on one line. */
export const cell = (text: string): string =>
  text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").trim();

export const table = (names: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ""
    : [names, names.map(() => "---"), ...rows]
        .map((cells) => `| ${cells.map(cell).join(" | ")} |\n`)
        .join("");

export const code = (text: string): string => (text === "" ? "" : `\`${text}\``);
