/** What a task is, what it is done with, and how its answer is checked against the service's interfaces. */
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { z } from "zod";
import { createKey } from "../../../src/http/keys.ts";
import type { Demo } from "../demo.ts";
import { settled } from "../views.ts";
import type { Callers } from "./callers.ts";
import type { Hand } from "./hands.ts";

export type Desk = {
  readonly demo: Demo;
  /** Of an operator who sees labels. */
  readonly operatorKey: string;
  /** What callers of the transfer agent did before. */
  readonly callers: Callers;
  /** Coin types by their symbols. */
  readonly coins: Readonly<Record<"ACME" | "ACMEP" | "ACMEO", string>>;
  /** Of a holder of ACME, as its file. */
  readonly statement: Buffer;
};

export const openDesk = async (demo: Demo, callers: Callers): Promise<Desk> => {
  const made = { kind: "operator", label: "desk", seesLabels: true } as const;
  const { secret } = await createKey(demo.database, made);
  const [ACME = "", ACMEP = "", ACMEO = ""] = demo.coinTypes;
  const file = new URL("/exports/statement", demo.url);
  file.search = `${new URLSearchParams({ coinType: ACME, holderId: "2", version: "2" })}`;
  const response = await fetch(file, { headers: { "x-api-key": demo.readKey } });
  return {
    demo,
    operatorKey: secret,
    callers,
    coins: { ACME, ACMEP, ACMEO },
    statement: Buffer.from(await response.arrayBuffer()),
  };
};

export type Task = {
  /** What the user wants, as the table has it. */
  readonly name: string;
  /** From the start view to an answer that was checked. */
  readonly does: (hand: Hand, desk: Desk) => Promise<void>;
};

export type User = {
  readonly name: string;
  /** Opens the page with this kind of key. */
  readonly key: "read" | "operator" | "none";
  readonly tasks: readonly Task[];
};

/** Until the view with this heading is there, and whole. */
export const viewOf = async (page: Page, heading: string | RegExp): Promise<void> => {
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
  await settled(page);
};

/** A figure's exact amount or its text, by its label. */
export const figure = async (page: Page, label: string): Promise<string> => {
  const value = page
    .locator(
      `xpath=//main//div[contains(@class, "rounded-xl")]/div[1][normalize-space()="${label}"]`,
    )
    .first()
    .locator("xpath=following-sibling::*[1]");
  await value.waitFor();
  const amount = value.locator("[data-amount]").first();
  if ((await amount.count()) > 0) return (await amount.getAttribute("data-amount")) ?? "";
  return (await value.textContent()) ?? "";
};

/** Cells of a table's rows, as texts. */
export const rowsOf = async (table: Locator): Promise<readonly (readonly string[])[]> => {
  await table.locator("tbody tr").first().waitFor();
  return table
    .locator("tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [...row.children].map((cell) => (cell.textContent ?? "").trim())),
    );
};

/** Of an amount as the page writes it exactly, in smallest units. */
export const unitsOf = (text: string, decimals: number): bigint => {
  const digits = text.replaceAll(/[^\d.\u2212-]/g, "").replace("\u2212", "-");
  const [whole = "0", part = ""] = digits.split(".");
  return BigInt(`${whole === "-" ? "-0" : whole}${part.padEnd(decimals, "0").slice(0, decimals)}`);
};

/** What the service answers at `/graphql`, with the demo's read key, in the shape given. */
export const asked = async <Answer>(
  { demo }: Desk,
  query: string,
  shape: z.ZodType<Answer>,
): Promise<Answer> => {
  const response = await fetch(`${demo.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": demo.readKey },
    body: JSON.stringify({ query }),
  });
  return shape.parse(z.object({ data: z.unknown() }).parse(await response.json()).data);
};

/** What the service answers to its operators. */
export const askedAsOperator = async <Answer>(
  { demo }: Desk,
  path: string,
  shape: z.ZodType<Answer>,
): Promise<Answer> => {
  const headers = { "x-api-key": demo.operatorKey };
  return shape.parse(await (await fetch(`${demo.url}${path}`, { headers })).json());
};

/** For how long the page and the service may differ: both go on meanwhile. Milliseconds. */
const PATIENCE_MS = 30_000;

/** Until what the page says and what the service says are equal. */
export const agree = async <Value>(
  seen: () => Promise<Value>,
  known: () => Promise<Value>,
): Promise<void> => {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const [onPage, inService] = await Promise.all([seen(), known()]);
    const isLast = performance.now() > deadlineMs;
    if (isLast || isDeepStrictEqual(onPage, inService)) {
      expect(onPage).toEqual(inService);
      return;
    }
    await delay(100);
  }
};
