/** The thread of `print-pdf.ts`: prints what it was started with, and ends. */
import { workerData } from "node:worker_threads";
import { writePdf } from "./pdf.ts";
import type { PrintOrder } from "./print-pdf.ts";

const { path, papers, furniture }: PrintOrder = workerData;
await writePdf(path, papers, furniture);
