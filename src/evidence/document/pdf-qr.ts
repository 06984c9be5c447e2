/** QR codes in a PDF, drawn as squares. Loads the encoder on first use. */
import type { Inline } from "./document.ts";
import { LEADING, type PdfPages } from "./pdf-pages.ts";

/** Points, with the quiet zone that the standard asks for. */
export const QR_SIZE = 120;
const QUIET_MODULES = 4;
const CAPTION = 8;

export const drawQr = async (pages: PdfPages, text: string, caption: Inline): Promise<void> => {
  const { encode } = await import("uqr");
  const { data, size } = encode(text, { ecc: "M", border: QUIET_MODULES });
  if (pages.room < QR_SIZE + 2 * CAPTION) pages.next();
  const module = QR_SIZE / size;
  const [left, top] = [pages.left, pages.y];
  pages.figure(`QR code: ${text}`, (doc) => {
    for (const [y, row] of data.entries()) {
      for (const [x, isDark] of row.entries()) {
        if (isDark) doc.rect(left + x * module, top + y * module, module, module);
      }
    }
    doc.fill("#000000");
  });
  pages.y += QR_SIZE;
  const lines = pages.lines(caption, pages.width, CAPTION);
  pages.tagged("P", () => pages.draw(lines, pages.left, pages.y, CAPTION)).end();
  pages.y += lines.length * CAPTION * LEADING;
};
