/** Reads the text of a PDF that is not compressed, as far as tests need it: page by page, in the order drawn. */

/** What is on a page beside its content: headers, numbers, repeated heads, rules. */
const ARTIFACT = /\/Artifact\b[\s\S]*?\bEMC\b/g;

/** The texts of each page, one behind another without anything between; its artifacts are left out where asked. */
export const pageTexts = (pdf: Uint8Array, withArtifacts = true): readonly string[] => {
  const raw = Buffer.from(pdf).toString("latin1");
  const fonts = fontsOf(raw);
  return streamsOf(raw)
    .map((stream) => (withArtifacts ? stream : stream.replace(ARTIFACT, "")))
    .filter((stream) => stream.includes(" Tf"))
    .map((stream) => {
      let text = "";
      let font: readonly string[] = [];
      for (const [, name, pieces = ""] of stream.matchAll(/\/(F\d+) [\d.]+ Tf|\[([^\]]*)\] TJ/g)) {
        if (name !== undefined) font = fonts.get(name) ?? [];
        for (const [, hex = ""] of pieces.matchAll(/<([0-9a-f]*)>/g)) {
          for (const glyph of hex.match(/.{4}/g) ?? []) text += font[Number.parseInt(glyph, 16)];
        }
      }
      return text;
    });
};

/** Contents of all streams: pages, fonts, tables of characters. */
const streamsOf = (raw: string): readonly string[] =>
  raw
    .split(/\bstream\n/)
    .slice(1)
    .map((stream) => stream.slice(0, stream.indexOf("endstream")));

/** By name in the resources of pages, what each glyph stands for. */
const fontsOf = (raw: string): ReadonlyMap<string, readonly string[]> => {
  const objects = new Map(
    raw.split(/^(?=\d+ 0 obj$)/m).map((text) => [text.slice(0, text.indexOf(" ")), text] as const),
  );
  const fonts = new Map<string, readonly string[]>();
  for (const [, name = "", id = ""] of raw.matchAll(/\/(F\d+) (\d+) 0 R/g)) {
    const [, unicode = ""] = /\/ToUnicode (\d+) 0 R/.exec(objects.get(id) ?? "") ?? [];
    const [, ranges = ""] =
      /beginbfrange\n([\s\S]*)endbfrange/.exec(objects.get(unicode) ?? "") ?? [];
    const glyphs = [...ranges.matchAll(/\[([^\]]*)\]/g)].flatMap(([, all = ""]) =>
      [...all.matchAll(/<([0-9a-f ]*)>/g)].map(([, units = ""]) =>
        String.fromCharCode(...units.split(" ").map((unit) => Number.parseInt(unit, 16))),
      ),
    );
    fonts.set(name, glyphs);
  }
  return fonts;
};
