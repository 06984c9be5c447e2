/** Writes an audit pack's working papers, from its verified bytes alone. */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { code, type Inline, type Paper } from "../document/document.ts";
import { markdownOf } from "../document/markdown.ts";
import { writeNewFolder } from "../exports/new-folder.ts";
import { FILES, hashed, hashOf, openPack, packError } from "../pack/form.ts";
import {
  type CheckedPack,
  type KnownToAuditor,
  type Rereading,
  verifyPack,
} from "../pack/verify.ts";
import { confirmationPapers } from "./confirmation-papers.ts";
import { coverPaper, signOffPaper, type Written } from "./cover.ts";
import { exceptionsPaper } from "./exceptions-paper.ts";
import { Gathering } from "./gather.ts";
import { assertKnown, requestedRows } from "./letters.ts";
import { rollForwardPaper } from "./roll-forward-paper.ts";
import { samplePaper } from "./sample-paper.ts";
import type { PaperOptions, Subject } from "./subject.ts";

export type CheckOptions = {
  readonly known?: KnownToAuditor;
  readonly entries?: readonly string[] | undefined;
  readonly again?: Rereading | undefined;
};

const PDF = "working-papers.pdf";
const SUMS = "SHA256SUMS";

/**
 * Verifies a pack and writes its papers: Markdown, a PDF of all, a PDF per letter, and their
 * SHA-256.
 * @param into absent, or an empty folder
 * @throws AuditPackError (stop) if the pack is false: no papers are written; ConfirmError,
 * RollForwardError (stop), FolderInUseError
 */
export const writePapers = async (
  packFolder: string,
  into: string,
  options: PaperOptions,
  { known = {}, entries, again }: CheckOptions = {},
): Promise<CheckedPack> => {
  const pack = await openPack(packFolder);
  const manifest = pack.get(FILES.manifest);
  if (manifest === undefined) throw packError(FILES.manifest, "is missing", "authentic");
  const manifestSha256 = await hashOf(manifest);
  const seed = options.seed ?? manifestSha256;
  const rows = await requestedRows(pack, options.confirm);
  const gathered = new Gathering(seed, options.sample, rows);
  const checked = await verifyPack(packFolder, known, { entries, again, witness: gathered });
  assertKnown(rows, checked.outcome);
  const closed = gathered.rollForward.close(checked.outcome.last);
  const subject: Subject = { ...checked, ...closed, manifestSha256, seed, options, gathered };
  await writeNewFolder(into, (folder) => writeAll(folder, subject));
  return checked;
};

const writeAll = async (folder: string, subject: Subject): Promise<void> => {
  if (subject.gathered.letters.size > 0) await mkdir(join(folder, "confirmations"));
  const papers = [
    rollForwardPaper(subject),
    exceptionsPaper(subject),
    samplePaper(subject),
    ...confirmationPapers(subject),
  ];
  const cover = coverPaper(subject, [...papers, signOffPaper([])]);
  const written: Written[] = [];
  const write = async (paper: Paper) => {
    const text = markdownOf(paper);
    await writeFile(join(folder, `${paper.file}.md`), text);
    const sha256 = createHash("sha256").update(text).digest("hex");
    written.push({ ...paper, sha256 });
  };
  for (const paper of [cover, ...papers]) await write(paper);
  const signOff = signOffPaper(written);
  await write(signOff);
  const pdfs = await writePdfs(folder, subject, [cover, ...papers, signOff]);
  const sums = [...written.map(({ file, sha256 }) => ({ file: `${file}.md`, sha256 })), ...pdfs];
  const lines = sums.map(({ file, sha256 }) => `${sha256}  ${file}\n`);
  await writeFile(join(folder, SUMS), lines.join(""));
};

/** A PDF of all papers, and one per letter, whose recipient may see no other. */
const writePdfs = async (
  folder: string,
  { manifest, manifestSha256 }: Subject,
  papers: readonly Paper[],
): Promise<readonly { readonly file: string; readonly sha256: string }[]> => {
  const { writePdf } = await import("../document/pdf.ts");
  const madeMs = BigInt(manifest.last.timestampMs);
  const header: Inline = ["pack ", code(manifestSha256.slice(0, 16)), " ", code(manifest.coinType)];
  const letters = papers.filter(({ file }) => file.startsWith("confirmations/"));
  const wanted = [
    { file: PDF, title: `Working papers: ${manifest.coinType}`, of: papers },
    ...letters.map((paper) => ({ file: `${paper.file}.pdf`, title: paper.title, of: [paper] })),
  ];
  const sums = [];
  for (const { file, title, of } of wanted) {
    const path = join(folder, file);
    await writePdf(path, of, { title, header, madeMs });
    sums.push({ file, sha256: (await hashed(path)).sha256 });
  }
  return sums;
};
