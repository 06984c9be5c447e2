/** The first paper (pack, coin, verdict) and the last (sign-off: who prepared and reviewed, conclusions). */
import { TIERS } from "../../../client/verify-audit-pack.ts";
import { VERSION } from "../../telemetry/version.ts";
import {
  type Block,
  code,
  fill,
  heading,
  list,
  type Paper,
  strong,
  type Text,
  table,
  text,
} from "../document/document.ts";
import { HOLDS, type Subject, timeText } from "./subject.ts";

/** @param others the following papers, for the index */
export const coverPaper = (subject: Subject, others: readonly Paper[]): Paper => {
  const { manifest, outcome, manifestSha256, options } = subject;
  const { first, last } = manifest;
  const { decimals } = outcome.last.head;
  const both = (of: (mark: typeof first) => Text) => [of(first), of(last)];
  return {
    number: "1",
    title: "Cover and index",
    file: "1-cover",
    blocks: [
      table({
        columns: [
          { title: "pack", width: 18 },
          { title: "", width: 60 },
        ],
        rows: [
          ["coin", code(manifest.coinType)],
          ["chain", code(manifest.chainId)],
          [
            "contract",
            manifest.packages.flatMap((address, at) =>
              at === 0 ? [code(address)] : [" ", code(address)],
            ),
          ],
          ["SHA-256 of manifest.json", code(manifestSha256)],
          ["form", `audit pack, version ${manifest.version}, opening ${manifest.opening}`],
          ["signed by the key", [code(manifest.publicKey), ` (${manifest.keyId})`]],
          [
            "file of holders' names",
            manifest.holderNames === null
              ? "none belongs to this pack"
              : ["not here; SHA-256 ", code(manifest.holderNames.sha256)],
          ],
          [
            "amounts",
            decimals === null
              ? "in the smallest unit of the token: its decimals are not known"
              : `in whole tokens of ${decimals} decimals`,
          ],
        ],
      }),
      heading("Period"),
      table({
        columns: [
          { title: "", width: 18 },
          { title: "opening", width: 30 },
          { title: "closing", width: 30 },
        ],
        rows: [
          ["time (UTC)", ...both(({ timestampMs }) => timeText(timestampMs))],
          ["checkpoint", ...both(({ checkpoint }) => `${checkpoint}`)],
          ["digest", ...both(({ digest }) => code(digest))],
          ["root of the register", code(manifest.roots.first.root), code(manifest.roots.last.root)],
          ["rows of the register", `${outcome.first.rows.length}`, `${outcome.last.rows.length}`],
        ],
      }),
      heading("What the verification of the pack showed"),
      text(
        "The papers were made from the bytes of the pack alone, after they were verified as ",
        code("holderbook audit-pack verify"),
        " does, with what is given below. What is not shown was not checked.",
      ),
      ...tiers(subject),
      heading("How the papers were made"),
      table({
        columns: [
          { title: "option", width: 18 },
          { title: "value", width: 60 },
        ],
        rows: [
          ["program", `Holderbook ${VERSION}`],
          ...options.given.map(([name, value]) => [name, code(value)]),
          [
            "seed of the sample",
            options.seed === undefined
              ? ["none given: the SHA-256 of manifest.json, ", code(subject.seed)]
              : code(options.seed),
          ],
          ["size of the sample", `${options.sample}`],
          [
            "confirmations",
            options.confirm.length === 0 ? "none asked for" : options.confirm.join(", "),
          ],
        ],
      }),
      heading("Index"),
      table({
        columns: [
          { title: "paper", width: 6 },
          { title: "title", width: 40 },
          { title: "file", width: 30 },
        ],
        rows: [["1", "Cover and index", code("1-cover.md")], ...others.map(indexed)],
      }),
    ],
  };
};

const indexed = ({ number, title, file }: Paper) => [number, title, code(`${file}.md`)];

const tiers = ({ verdict }: Subject): readonly Block[] =>
  (["authentic", "consistent", "complete"] as const).flatMap((name) => {
    const { holds, by, not_shown } = verdict[name];
    return [
      text(strong(name), ` (${TIERS[name]}): `, strong(HOLDS.get(holds) ?? "is false")),
      list([...by.map((what) => `by: ${what}`), ...not_shown.map((what) => `not shown: ${what}`)]),
    ];
  });

/** A written paper, with its file's SHA-256. */
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
