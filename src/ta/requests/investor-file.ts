/** Uploaded files: their form, base64 and size. */

import { fileTypeFromBuffer, supportedMimeTypes } from "file-type";
import { z } from "zod";
import { strictBase64 } from "../../../client/ed25519.ts";
import type { FileCode } from "./invalid-request.ts";

/** Characters of a media type with its parameters. */
const LONGEST_MEDIA_TYPE = 255;

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const QUOTED = String.raw`"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"`;

/**
 * A media type (RFC 9110, 8.3.1), such as `text/plain; charset=utf-8`. White space before a parameter
 * belongs to that parameter and to nothing else: a text that does not fit is refused without trying
 * every way to share it out.
 */
const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[\\t ]*;(?:[\\t ]*${TOKEN}=(?:${TOKEN}|${QUOTED}))?)*[\\t ]*$`,
);

/** The form of a file; its content is checked below. */
const shape = z.object(
  {
    fileName: z.string("must be text").max(255, "must be at most 255 characters"),
    contentType: z
      .string("must be text")
      .max(LONGEST_MEDIA_TYPE, {
        error: `must be at most ${LONGEST_MEDIA_TYPE} characters`,
        abort: true,
      })
      .regex(MEDIA_TYPE, "must be a media type, such as application/pdf"),
    size: z
      .int("must be the number of bytes of the decoded file")
      .min(0, "must not be negative")
      .describe("Bytes of the decoded file."),
    data: z.string("must be base64 text").describe("Standard base64 with padding."),
  },
  "must be a file object",
);

/** A file, checked: `data` is standard base64 of exactly `size` bytes that begin as `contentType` does. */
export const investorFile = (maxBytes: number) =>
  shape.superRefine(async (file, context) => {
    const refuse = (member: keyof typeof file, message: string, code: FileCode) =>
      context.addIssue({ code: "custom", path: [member], message, params: { code } });
    const tooLarge = `is larger than the limit of ${maxBytes} bytes`;
    if (file.data.length > 4 * Math.ceil(maxBytes / 3)) {
      return refuse("data", tooLarge, "FILE_TOO_LARGE");
    }
    const bytes = strictBase64(file.data);
    if (bytes === undefined) {
      return refuse("data", "must be base64: the standard alphabet with padding", "INVALID_DATA");
    }
    if (bytes.length > maxBytes) return refuse("data", tooLarge, "FILE_TOO_LARGE");
    if (bytes.length !== file.size) {
      return refuse("size", `differs from the decoded size, ${bytes.length}`, "SIZE_MISMATCH");
    }
    if (!(await contentIs(file.contentType, bytes))) {
      refuse("data", "does not hold what contentType says", "INVALID_DATA");
    }
  });

/** Other names of types, as `file-type` calls them. */
const SAME: ReadonlyMap<string, string> = new Map([
  ["image/jpg", "image/jpeg"],
  ["image/pjpeg", "image/jpeg"],
  ["image/x-png", "image/png"],
  // An animation is a PNG too, and calls itself one.
  ["image/apng", "image/png"],
  ["image/x-ms-bmp", "image/bmp"],
  ["image/x-bmp", "image/bmp"],
  ["image/x-windows-bmp", "image/bmp"],
  ["image/x-tiff", "image/tiff"],
  ["image/heif", "image/heic"],
  ["image/vnd.microsoft.icon", "image/x-icon"],
  ["application/x-pdf", "application/pdf"],
  ["text/rtf", "application/rtf"],
  ["application/x-rtf", "application/rtf"],
  ["text/xml", "application/xml"],
  ["application/x-zip-compressed", "application/zip"],
  ["application/x-zip", "application/zip"],
  ["application/x-gzip", "application/gzip"],
]);

/** Type and subtype alone, under the one name that is compared. */
const essenceOf = (mediaType: string): string => {
  const [type = ""] = mediaType.split(";", 1);
  const essence = type.trim().toLowerCase();
  return SAME.get(essence) ?? essence;
};

/** Older Office formats are compound files, told apart by the name of the stream that holds the text. */
const COMPOUND = "application/x-cfb";
const COMPOUND_STREAMS: ReadonlyMap<string, readonly string[]> = new Map([
  ["application/msword", ["WordDocument"]],
  ["application/vnd.ms-excel", ["Workbook", "Book"]],
  ["application/vnd.ms-powerpoint", ["PowerPoint Document"]],
  ["application/vnd.ms-outlook", ["__properties_version1.0"]],
]);

/** Recognised by its declaration, which is optional. */
const XML = "application/xml";
const isXml = (essence: string): boolean => essence === XML || essence.endsWith("+xml");

/** Types that `file-type` recognises by content; it gives some of them parameters. */
const TOLD_BY_CONTENT: ReadonlySet<string> = new Set([
  ...[...supportedMimeTypes].map(essenceOf).filter((essence) => !isXml(essence)),
  ...COMPOUND_STREAMS.keys(),
]);

/** Says nothing about the content, so any content fits, except programs: they identify no person. */
const ANYTHING = "application/octet-stream";
const PROGRAMS: ReadonlySet<string> = new Set([
  "application/x-msdownload",
  "application/x-elf",
  "application/x-mach-binary",
  "application/wasm",
  "application/java-vm",
  "application/java-archive",
  "application/vnd.android.package-archive",
  "application/x-deb",
  "application/x-rpm",
  "application/x-ms-shortcut",
  "application/x-shockwave-flash",
  "application/x-google-chrome-extension",
  "application/x-xpinstall",
]);

/**
 * False when the content is recognised as another type, or is not recognised although its type has
 * telling first bytes. Types without such bytes (text/plain, text/csv, application/json) fit any content
 * that is not recognised.
 */
export const contentIs = async (contentType: string, bytes: Uint8Array): Promise<boolean> => {
  const said = essenceOf(contentType);
  // A damaged file may break its parser: then it is not of the type it claims.
  const type = await fileTypeFromBuffer(bytes).catch(() => "broken" as const);
  if (type === "broken") return said === ANYTHING;
  if (type === undefined) return !TOLD_BY_CONTENT.has(said);
  const found = essenceOf(type.mime);
  if (said === ANYTHING) return !PROGRAMS.has(found);
  if (found === XML) return isXml(said);
  const streams = found === COMPOUND ? COMPOUND_STREAMS.get(said) : undefined;
  if (streams !== undefined) return streams.some((name) => holdsStream(bytes, name));
  return found === said;
};

/** The directory of a compound file names its streams in UTF-16. */
const holdsStream = (bytes: Uint8Array, name: string): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(
    Buffer.from(`${name}\0`, "utf16le"),
  );
