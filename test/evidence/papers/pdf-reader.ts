/** Reads the text of a PDF that is not compressed, as far as tests need it: page by page, in the order drawn. */

/** What is on a page beside its content: headers, numbers, repeated heads, rules. */
const ARTIFACT = /\/Artifact\b[\s\S]*?\bEMC\b/g;

/** The texts of each page, one behind another without anything between; its artifacts are left out where asked. */
export const pageTexts = (pdf: Uint8Array, withArtifacts = true): readonly string[] =>
  Buffer.from(pdf)
    .toString("latin1")
    .split(/\bstream\n/)
    .slice(1)
    .map((stream) => stream.slice(0, stream.indexOf("endstream")))
    .map((stream) => (withArtifacts ? stream : stream.replace(ARTIFACT, "")))
    .filter((stream) => stream.includes(" Tf"))
    .map((stream) =>
      [...stream.matchAll(/\[([^\]]*)\] TJ/g)]
        .map(([, pieces = ""]) =>
          [...pieces.matchAll(/<([0-9a-f]*)>/g)]
            .map(([, hex = ""]) => Buffer.from(hex, "hex").toString("latin1"))
            .join(""),
        )
        .join(""),
    );
