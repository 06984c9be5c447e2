/** Uploaded files: base64, size, and whether the content is what it is said to be. */
import { fileTypeFromBuffer, supportedMimeTypes } from "file-type";
import { z } from "zod";
import { strictBase64 } from "../client/ed25519.mjs";
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

/** A file that is understood; its content is not yet checked. */
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

/** Types of containers are told by what stands in their first part. */
const LOOKED_AT_BYTES = 256 * 1024;

/** Other names of types, as `file-type` calls them. */
const SAME: ReadonlyMap<string, string> = new Map([
  ["image/jpg", "image/jpeg"],
  ["image/pjpeg", "image/jpeg"],
  ["image/x-png", "image/png"],
  ["application/x-pdf", "application/pdf"],
  ["image/heif", "image/heic"],
]);

/** Type and subtype alone, under the one name that is compared. */
const essenceOf = (mediaType: string): string => {
  const [type = ""] = mediaType.split(";", 1);
  const essence = type.trim().toLowerCase();
  return SAME.get(essence) ?? essence;
};

/** Types that `file-type` knows by their content; it gives some of them parameters. */
const TOLD_BY_CONTENT: ReadonlySet<string> = new Set([...supportedMimeTypes].map(essenceOf));

/** Says nothing about the content, so nothing contradicts it. */
const ANYTHING = "application/octet-stream";

const contentIs = async (contentType: string, bytes: Uint8Array): Promise<boolean> => {
  const said = essenceOf(contentType);
  if (said === ANYTHING) return true;
  // A damaged file may break its own parser: then it is not what it is said to be.
  const found = await fileTypeFromBuffer(bytes.subarray(0, LOOKED_AT_BYTES)).catch(() => "broken");
  if (found === "broken") return false;
  if (typeof found === "object") return essenceOf(found.mime) === said;
  // Plain text and the like have no magic bytes; what has them must show them.
  return !TOLD_BY_CONTENT.has(said);
};
