/** Printing beside other work. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { expect, test } from "vitest";
import { code, table } from "../../../src/evidence/document/document.ts";
import { writePdf } from "../../../src/evidence/document/pdf.ts";
import { type PrintOrder, printPdf } from "../../../src/evidence/document/print-pdf.ts";
import { temporaryFolder } from "../../service/process.ts";

const orderIn = (folder: string, name: string, count: number): PrintOrder => ({
  path: join(folder, name),
  papers: [
    {
      number: "",
      title: "Holder register",
      file: "holder-register",
      isLandscape: true,
      blocks: [
        table({
          columns: [
            { title: "Holder", width: 9, isWhole: true },
            { title: "Wallets", width: 40 },
            { title: "Balance", width: 15, isNumber: true },
          ],
          rows: Array.from({ length: count }, (_, at) => [
            `${at}`,
            code(`0x${at.toString(16).padStart(64, "0")}`),
            `${at * 1_000}.000000`,
          ]),
          mostSet: count,
        }),
      ],
    },
  ],
  furniture: { title: "Holder register", header: "ACME", madeMs: 1_700_000_000_000n },
});

const never = new AbortController().signal;

test("a register of 2,000 rows is printed in another thread, which leaves this one free", async () => {
  await using folder = await temporaryFolder();
  const begun = performance.eventLoopUtilization();
  await printPdf(orderIn(folder.path, "printed.pdf", 2_000), never);
  expect(performance.eventLoopUtilization(begun).utilization).toBeLessThan(0.3);
  expect((await readFile(join(folder.path, "printed.pdf"))).subarray(0, 8)).toEqual(
    Buffer.from("%PDF-1.7"),
  );
});

test("a thread prints the same bytes as the papers' command", async () => {
  await using folder = await temporaryFolder();
  const order = orderIn(folder.path, "printed.pdf", 30);
  await printPdf(order, never);
  const here = join(folder.path, "here.pdf");
  await writePdf(here, order.papers, order.furniture);
  expect(await readFile(order.path)).toEqual(await readFile(here));
});

test("printing ends when its caller is gone, and fails by name where it cannot write", async () => {
  await using folder = await temporaryFolder();
  const gone = new AbortController();
  const printing = printPdf(orderIn(folder.path, "printed.pdf", 2_000), gone.signal);
  gone.abort(new Error("the caller hung up"));
  await expect(printing).rejects.toThrow("the caller hung up");
  const nowhere = orderIn(join(folder.path, "missing"), "printed.pdf", 1);
  await expect(printPdf(nowhere, never)).rejects.toThrow("ENOENT");
});
