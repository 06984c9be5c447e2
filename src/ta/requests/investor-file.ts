import { fileTypeFromBuffer, supportedMimeTypes } from "file-type";
import { z } from "zod";
import { strictBase64 } from "../../../client/ed25519.ts";
import type { FileCode } from "./invalid-request.ts";

/** Characters, with parameters. */
const LONGEST_MEDIA_TYPE = 255;

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const QUOTED = String.raw`"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"`;

/**
 * A media type (RFC 9110, 8.3.1), such as `text/plain; charset=utf-8`. White space matches only
 * before a parameter, which avoids catastrophic backtracking.
 */
const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[\\t ]*;(?:[\\t ]*${TOKEN}=(?:${TOKEN}|${QUOTED}))?)*[\\t ]*$`,
);

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

/** A file: `data` is standard base64 of exactly `size` bytes that begin as `contentType` does. */
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
      refuse("data", "does not match contentType", "INVALID_DATA");
    }
  });

/** Aliases of media types, with the name that `file-type` uses. */
const SAME: ReadonlyMap<string, string> = new Map([
  ["image/jpg", "image/jpeg"],
  ["image/pjpeg", "image/jpeg"],
  ["image/x-png", "image/png"],
  // An animated PNG may call itself a PNG.
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

/** Type and subtype, with aliases resolved. */
const essenceOf = (mediaType: string): string => {
  const [type = ""] = mediaType.split(";", 1);
  const essence = type.trim().toLowerCase();
  return SAME.get(essence) ?? essence;
};

/** Older Office formats are compound files, distinguished by the name of a stream. */
const COMPOUND = "application/x-cfb";
const COMPOUND_STREAMS: ReadonlyMap<string, readonly string[]> = new Map([
  ["application/msword", ["WordDocument"]],
  ["application/vnd.ms-excel", ["Workbook", "Book"]],
  ["application/vnd.ms-powerpoint", ["PowerPoint Document"]],
  ["application/vnd.ms-outlook", ["__properties_version1.0"]],
]);

/** Detected by its declaration, which is optional. */
const XML = "application/xml";
const isXml = (essence: string): boolean => essence === XML || essence.endsWith("+xml");

/** Types that `file-type` detects by content. */
const DETECTABLE: ReadonlySet<string> = new Set([
  ...[...supportedMimeTypes].map(essenceOf).filter((essence) => !isXml(essence)),
  ...COMPOUND_STREAMS.keys(),
]);

/** Fits any content except programs, which identify no person. */
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
 * False when the content is detected as another type, or not detected although its type has a
 * signature. Types without a signature (text/plain, text/csv, application/json) fit any undetected
 * content.
 */
export const contentIs = async (contentType: string, bytes: Uint8Array): Promise<boolean> => {
  const claimed = essenceOf(contentType);
  // A damaged file may break its parser: then it does not match.
  const type = await fileTypeFromBuffer(bytes).catch(() => "broken" as const);
  if (type === "broken") return claimed === ANYTHING;
  if (type === undefined) return !DETECTABLE.has(claimed);
  const found = essenceOf(type.mime);
  if (claimed === ANYTHING) return !PROGRAMS.has(found);
  if (found === XML) return isXml(claimed);
  const streams = found === COMPOUND ? COMPOUND_STREAMS.get(claimed) : undefined;
  if (streams !== undefined) return streams.some((name) => holdsStream(bytes, name));
  return found === claimed;
};

/** The directory of a compound file names its streams in UTF-16. */
const holdsStream = (bytes: Uint8Array, name: string): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(
    Buffer.from(`${name}\0`, "utf16le"),
  );
