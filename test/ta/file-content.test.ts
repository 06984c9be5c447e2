import { expect, test } from "vitest";
import { contentIs } from "../../src/ta/requests/investor-file.ts";
import { zipOf } from "./zip.ts";

/** A compound file (MS-CFB) with one stream: its header and, in the next sector, its directory. */
const compound = (stream: string): Buffer => {
  const bytes = Buffer.alloc(2_048);
  bytes.write("d0cf11e0a1b11ae1", "hex");
  bytes.write("Root Entry", 512, "utf16le");
  bytes.write(stream, 640, "utf16le");
  return bytes;
};

const OFFICE = "application/vnd.openxmlformats-officedocument";
const DOCX = `${OFFICE}.wordprocessingml.document`;

/** A Word document whose parts come in this order, as some programs write them: a picture first. */
const docx = (pictureBytes: number): Buffer =>
  zipOf([
    ["docProps/thumbnail.jpeg", Buffer.alloc(pictureBytes, 0xff)],
    [
      "[Content_Types].xml",
      Buffer.from(
        `<Types><Override PartName="/word/document.xml" ContentType="${DOCX}.main+xml"/></Types>`,
      ),
    ],
    ["word/document.xml", Buffer.from("<document/>")],
  ]);

const bmp = Buffer.concat([Buffer.from("BM"), Buffer.alloc(60)]);
const exe = Buffer.concat([Buffer.from("MZ"), Buffer.alloc(200)]);
const elf = Buffer.concat([Buffer.from("\x7fELF\x02\x01\x01"), Buffer.alloc(200)]);
const wasm = Buffer.from("0061736d01000000", "hex");
const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const archive = zipOf([["a.txt", Buffer.from("a")]]);
const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
const DECLARED = '<?xml version="1.0" encoding="UTF-8"?>\n';

const GENUINE: readonly (readonly [string, Uint8Array])[] = [
  ["application/msword", compound("WordDocument")],
  ["application/vnd.ms-excel", compound("Workbook")],
  ["application/vnd.ms-excel", compound("Book")],
  ["application/vnd.ms-powerpoint", compound("PowerPoint Document")],
  ["application/x-cfb", compound("Anything")],
  ["text/rtf", Buffer.from("{\\rtf1\\ansi Ring 1}")],
  ["application/rtf", Buffer.from("{\\rtf1\\ansi Ring 1}")],
  ["text/xml", Buffer.from(`${DECLARED}<a/>`)],
  ["text/xml; charset=utf-8", Buffer.from("<a/>")],
  ["application/xml", Buffer.from(`${DECLARED}<a/>`)],
  ["image/svg+xml", Buffer.from(DECLARED + svg)],
  ["image/svg+xml", Buffer.from(svg)],
  ["application/x-zip-compressed", archive],
  ["application/zip", archive],
  ["image/x-ms-bmp", bmp],
  ["image/bmp", bmp],
  [DOCX, docx(1_000)],
  [DOCX, docx(300 * 1024)],
  [DOCX, docx(4 * 1024 * 1024)],
  ["text/plain", Buffer.from("Ring 1, 1010 Wien")],
  ["text/csv", Buffer.from("street,city\nRing 1,Wien")],
  ["application/json", Buffer.from("{}")],
  ["application/octet-stream", Buffer.from([1, 2, 3])],
  ["application/octet-stream", png],
];

test.each(GENUINE)("%s is accepted as such (%#)", async (contentType, bytes) => {
  expect(await contentIs(contentType, bytes)).toBe(true);
});

const FALSE: readonly (readonly [string, Uint8Array])[] = [
  ...["text/plain", "text/csv", "application/json", "text/xml", "application/octet-stream"].flatMap(
    (type) => [exe, elf, wasm].map((program) => [type, program] as const),
  ),
  ["text/plain", png],
  ["image/svg+xml", png],
  ["text/plain", Buffer.from(`${DECLARED}<a/>`)],
  // An installer is a compound file as well.
  ["application/msword", compound("MsiSummary")],
  ["application/msword", compound("Workbook")],
  ["application/msword", Buffer.from("Ring 1")],
  ["application/vnd.ms-excel", archive],
  [DOCX, archive],
  [DOCX, compound("WordDocument")],
  ["application/pdf", Buffer.from(`${DECLARED}<a/>`)],
  ["application/pdf", Buffer.alloc(0)],
  ["image/png", bmp],
];

test.each(FALSE)("content that is not %s is refused as that (%#)", async (contentType, bytes) => {
  expect(await contentIs(contentType, bytes)).toBe(false);
});
