/** The last paper: who prepared and reviewed them, what was concluded, and which papers these are. */
import { code, fill, heading, type Paper, table, text } from "./document.ts";

/** A paper that was written: its file, and the SHA-256 of the file. */
export type Written = Pick<Paper, "number" | "title" | "file"> & { readonly sha256: string };

export const signOffPaper = (written: readonly Written[]): Paper => ({
  number: "6",
  title: "Sign-off",
  file: "6-sign-off",
  blocks: [
    table({
      columns: [
        { title: "", width: 16 },
        { title: "name", width: 24 },
        { title: "signature", width: 24 },
        { title: "date", width: 14 },
      ],
      rows: [
        ["prepared by", "", "", ""],
        ["reviewed by", "", "", ""],
      ],
      isSheet: true,
    }),
    heading("Conclusions"),
    fill("Roll-forward", "", "Exceptions", "", "Sample", "", "Confirmations", "", "Overall", ""),
    heading("Papers"),
    text(
      "The Markdown files of these papers, by SHA-256. This one and the PDF cannot name themselves: ",
      code("SHA256SUMS"),
      " has all of them (",
      code("sha256sum -c SHA256SUMS"),
      "). The same pack, options and version of the program give the same bytes.",
    ),
    table({
      columns: [
        { title: "paper", width: 6 },
        { title: "file", width: 26 },
        { title: "SHA-256", width: 46 },
      ],
      rows: written.map(({ number, file, sha256 }) => [number, code(`${file}.md`), code(sha256)]),
    }),
  ],
});
