/** The manifest of an audit pack, as far as the page reads it. */
import { AnswerFormError, type Reader, reading, text } from "../../../data/read.ts";

const mark = (it: Reader) => ({
  checkpoint: it.at("checkpoint").text(),
  digest: it.at("digest").text(),
});

const root = (it: Reader) => ({
  root: it.at("root").text(),
  total: it.at("total").text(),
  signature: it.at("signature").text(),
});

const read = reading("manifest", (it) =>
  it.at("format").text() === "holderbook-audit-pack" && it.at("version").amount() === 1n
    ? {
        chainId: it.at("chainId").text(),
        coinType: it.at("coinType").text(),
        first: mark(it.at("first")),
        last: mark(it.at("last")),
        opening: it.at("opening").text(),
        trust: {
          epoch: it.at("trust").at("epoch").text(),
          digest: it.at("trust").at("digest").maybe(text),
        },
        roots: { first: root(it.at("roots").at("first")), last: root(it.at("roots").at("last")) },
        publicKey: it.at("publicKey").text(),
        files: Object.fromEntries(
          it.at("files").entries((file) => ({
            sha256: file.at("sha256").text(),
            size: file.at("size").amount(),
          })),
        ),
      }
    : null,
);
export type Manifest = NonNullable<ReturnType<typeof read>>;

/** Null for what has another form, or another version. */
export const manifestOf = (json: unknown): Manifest | null => {
  try {
    return read(json);
  } catch (error) {
    if (error instanceof AnswerFormError) return null;
    throw error;
  }
};
