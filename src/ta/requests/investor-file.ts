/** Uploaded files: their form, base64 and size. */
import { z } from "zod";
import { strictBase64 } from "../../../client/ed25519.ts";
import { contentIs } from "./file-content.ts";
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
