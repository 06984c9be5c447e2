/** Results of benches: what is written, compared and shown. A bench measures in one test, as little as it can. */
import { mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { report, type Verdict, verdict } from "../../bench/comparison.ts";
import { type Figure, ratioOf, single, summedUp } from "../../bench/figure.ts";
import { figuresTable } from "../../bench/page.ts";
import { bench as prefilter } from "../../bench/prefilter.ts";
import { measured, newestRuns, type Run, record } from "../../bench/results.ts";

const emptyFolder = () => mkdtempDisposable(join(tmpdir(), "results-"));

const FIGURE: Figure = {
  ...{ name: "rate", what: "Rate / baseline", better: "more", aim: 0.9 },
  ...ratioOf("/s", [700, 712, 690], [1_000, 1_001, 1_010]),
};

const RUN: Run = {
  ...{ at: "2026-11-27T04:00:00.000Z", commit: "0123456789ab", isChanged: false, node: "24.21.0" },
  ...{ cores: 2, memoryGib: 24, load: 0.3, machineMs: 50, seconds: 7, figures: [FIGURE] },
};

test("a run says what was measured, of which commit, on which machine, and at what load", async () => {
  const run = await measured({ bench: prefilter }, "1");
  expect(run).toEqual({
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    commit: expect.stringMatching(/^[0-9a-f]{12}$/),
    isChanged: expect.any(Boolean),
    node: process.versions.node,
    ...{ cores: expect.any(Number), memoryGib: expect.any(Number), load: expect.any(Number) },
    ...{ machineMs: expect.any(Number), seconds: expect.any(Number) },
    figures: [
      {
        ...{ name: "prefilter", unit: "ratio", better: "more", aim: 0.7 },
        what: expect.stringContaining("decompression"),
        value: expect.any(Number),
        samples: [run.figures[0]?.value],
        detail: expect.stringContaining("17 genuine checkpoints"),
      },
    ],
  });
  expect(run.machineMs).toBeGreaterThan(0);
  expect(run.figures[0]?.value).toBeGreaterThan(0);
});

test("a value that is no number is refused, and so are two figures of one name", async () => {
  const missing = { ...FIGURE, ...single("s", Number.NaN) };
  await expect(measured({ bench: async () => missing })).rejects.toThrow(/"value"/);
  const twice = measured({ bench: async () => [FIGURE, FIGURE] });
  await expect(twice).rejects.toThrow('two figures are named "rate"');
});

test("a day's file has the last run of each bench, and the newest day with a bench counts", async () => {
  await using folder = await emptyFolder();
  await record(folder.path, "commit", { ...RUN, at: "2026-11-26T10:00:00.000Z", seconds: 1 });
  await record(folder.path, "graphql", { ...RUN, at: "2026-11-26T11:00:00.000Z" });
  await record(folder.path, "commit", { ...RUN, at: "2026-11-26T12:00:00.000Z", seconds: 2 });
  await record(folder.path, "commit", { ...RUN, at: "2026-11-27T10:00:00.000Z", seconds: 3 });
  expect(await readdir(folder.path)).toEqual(["2026-11-26.json", "2026-11-27.json"]);
  const first: unknown = JSON.parse(await readFile(join(folder.path, "2026-11-26.json"), "utf8"));
  expect(first).toMatchObject({ commit: { seconds: 2 }, graphql: { seconds: 7 } });
  const newest = await newestRuns(folder.path);
  expect([...newest].map(([bench, { seconds }]) => [bench, seconds])).toEqual([
    ["commit", 3],
    ["graphql", 7],
  ]);
});

test("a file of another form is refused by its name and the place in it", async () => {
  await using folder = await emptyFolder();
  const file = join(folder.path, "2026-11-27.json");
  await writeFile(file, JSON.stringify({ commit: { ...RUN, load: "none" } }));
  await expect(newestRuns(folder.path)).rejects.toThrow(/2026-11-27\.json: .*commit\.load/s);
});

test("many measurements are summed up with the value of each quarter of them", () => {
  const mean = (values: readonly number[]) => values.reduce((sum, v) => sum + v, 0) / values.length;
  expect(summedUp("ms", [1, 1, 2, 2, 3, 3, 4, 4], mean)).toEqual({
    ...{ unit: "ms", value: 2.5, samples: [1, 2, 3, 4] },
  });
});

test.each<[string, Partial<Figure>, Partial<Figure>, number, Verdict]>([
  ["apart, and more is better", { value: 2 }, { value: 1 }, 1, "better"],
  ["apart, and less is better", { value: 2, better: "less" }, { value: 1 }, 1, "worse"],
  ["within the noise", { value: 1.08 }, { value: 1 }, 1, "same"],
  ["apart, with samples that meet", { value: 2, samples: [1.5, 3] }, { value: 1.6 }, 1, "same"],
  [
    "as long, on a machine half as fast",
    { unit: "s", value: 2 },
    { unit: "s", value: 1 },
    2,
    "same",
  ],
  [
    "as many, on a machine half as fast",
    { unit: "/s", value: 1 },
    { unit: "/s", value: 1 },
    2,
    "better",
  ],
  ["the same ratio, on a machine half as fast", { value: 1 }, { value: 1 }, 2, "same"],
  ["in another unit", { value: 1 }, { value: 2, unit: "ms" }, 1, "new"],
])("two runs that are %s", (_, now, before, slowdown, expected) => {
  const bare = { ...FIGURE, samples: [] };
  expect(verdict({ ...bare, ...now }, { ...bare, ...before }, slowdown)).toBe(expected);
});

test("a report shows each figure beside the run before, at the machine's speed of now", () => {
  const took = { name: "time", what: "Time", better: "less", aim: null } as const;
  const now: Run = {
    ...{ ...RUN, machineMs: 100 },
    figures: [FIGURE, { ...took, ...single("s", 10), detail: "of nothing else" }],
  };
  const before: Run = { ...RUN, figures: [{ ...took, ...single("s", 10) }] };
  const [head, ...lines] = report("demo", now, before).split("\n  ");
  expect(head).toContain("before: 2026-11-27T04:00:00.000Z at 0123456789ab, load 0.3");
  expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
    ["figure", "now", "aim", "before"],
    ["rate", "0.699 (missed)", "≥ 0.9", "new"],
    ["time", "10 s", "20 s", "better"],
    ["rate: 700/s / 1,001/s"],
    ["time: of nothing else"],
  ]);
});

test("the page has a row for each measurement, with the range of its cases", () => {
  const cases = [0.67, 1.13, 0.4].map((value, n) => ({
    ...{ ...FIGURE, name: `query ${n}`, what: "Queries | all", aim: 0.5, value },
  }));
  const runs = new Map([
    ["graphql", { ...RUN, figures: cases }],
    ["commit", RUN],
    ["commit=1", RUN],
  ]);
  expect(figuresTable(["commit", "freshness", "graphql"], runs)).toBe(
    [
      "| figure | aim | seen | date | load | command |",
      "| --- | --- | --- | --- | --- | --- |",
      "| Rate / baseline | ≥ 0.9 | 0.699 (700/s / 1,001/s), missed | 2026-11-27 | 0.3 | `bench commit` |",
      "| Queries \\| all | ≥ 0.5 | 0.4 to 1.13, 1 of 3 missed | 2026-11-27 | 0.3 | `bench graphql` |",
      "",
    ].join("\n"),
  );
});
