/** An operator on call: what is wrong, where, and what to do. */
import { expect } from "vitest";
import { z } from "zod";
import { askedAsOperator, type Desk, rowsOf, type Task, type User, viewOf } from "./desk.ts";

const health = z.object({ status: z.string() });

const wrong: Task = {
  name: "whether anything is wrong",
  does: async ({ page }, desk) => {
    const needs = page.getByRole("region", { name: "Needs attention" });
    const { status } = await askedAsOperator(desk, "/health", health);
    expect(status).toBe("ok");
    await needs.getByText("Up to date", { exact: true }).waitFor();
    await needs.getByText("Failed requests and deliveries").waitFor();
  },
};

const receivers = z.object({
  items: z.array(z.object({ id: z.string(), url: z.string(), state: z.string() })),
});

const failing: Task = {
  name: "which receiver fails",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.visit("Deliveries");
    await viewOf(page, "Deliveries");
    const { items } = await askedAsOperator(desk, "/operator/receivers", receivers);
    expect(items.filter(({ state }) => state === "failing").map(({ url }) => url)).toEqual([
      desk.callers.refusing,
    ]);
    const row = page.getByRole("listitem").filter({ hasText: desk.callers.refusing });
    await row.getByText("Failing", { exact: true }).waitFor();
  },
};

const points = z.object({
  points: z.array(z.object({ at: z.string(), lagSeconds: z.record(z.string(), z.number()) })),
});

const lag: Task = {
  name: "the lag over the last 24 hours",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.visit("Status");
    await viewOf(page, "Status");
    await page.getByRole("slider", { name: /^Lag, last 24 hours/ }).waitFor();
    const rows = await rowsOf(page.getByRole("region", { name: "Lag, last 24 hours, values" }));
    const { points: known } = await askedAsOperator(desk, "/status-history", points);
    const first = known.find(({ lagSeconds }) => Object.keys(lagSeconds).length > 0);
    const most = Math.round(Math.max(...Object.values(first?.lagSeconds ?? {})));
    const time = first?.at.slice(11, 16) ?? "";
    const row = rows.find(([at]) => at?.includes(time)) ?? [];
    expect(Number.parseInt(row[1] ?? "", 10)).toBe(most);
  },
};

const pauses = z.object({ pauses: z.array(z.object({ kind: z.string(), name: z.string() })) });

/** Pauses what a view shows and resumes it, and sees that the service does both. */
const pausesAndResumes =
  (view: string, kind: string, name: (desk: Desk) => Promise<string>): Task["does"] =>
  async (hand, desk) => {
    const { page } = hand;
    await hand.visit(view);
    await viewOf(page, view);
    const paused = await name(desk);
    const areThere = async () =>
      (await askedAsOperator(desk, "/operator/pauses", pauses)).pauses.some(
        (one) => one.kind === kind && one.name === paused,
      );
    for (const verb of ["Pause", "Resume"]) {
      const button = page.getByRole("button", { name: new RegExp(`^${verb}: .*${paused}$`) });
      await hand.use(button);
      await hand.use(
        page.getByRole("alertdialog").getByRole("button", { name: verb, exact: true }),
      );
      await expect.poll(areThere).toBe(verb === "Pause");
    }
  };

const pausedReceiver: Task = {
  name: "a receiver that is paused and resumed",
  does: pausesAndResumes("Deliveries", "receiver", async (desk) => {
    const { items } = await askedAsOperator(desk, "/operator/receivers", receivers);
    return items.find(({ url }) => url === desk.callers.refusing)?.id ?? "";
  }),
};

const pausedPipeline: Task = {
  name: "a pipeline that is paused and resumed",
  does: pausesAndResumes("Status", "pipeline", async () => "role_changes"),
};

const gone: Task = {
  name: "what to do when the service is gone",
  does: async (hand, { demo }) => {
    const { page } = hand;
    await hand.visit("Status");
    await viewOf(page, "Status");
    await page.context().setOffline(true);
    const card = page.locator("section", {
      has: page.getByRole("heading", { name: /has not answered for/ }),
    });
    await card.getByRole("button", { name: "Copy command" }).first().waitFor();
    await hand.use(card.getByRole("button", { name: "Copy command" }).first());
    // The demo is started by hand; the command is that of its documentation.
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("npm start");
    await page.context().setOffline(false);
    expect((await fetch(`${demo.url}/health`)).status).toBe(200);
  },
};

const delivery = z.object({
  attempts: z.array(z.object({ statusCode: z.int().nullable() })),
  attemptCount: z.int(),
});

const byId: Task = {
  name: "a delivery by its id",
  does: async (hand, { callers: { refused } }) => {
    await hand.search(refused.deliveryId);
    await hand.page.waitForURL(/delivery=/);
    await hand.page.getByRole("dialog").getByRole("list", { name: "Attempts" }).waitFor();
  },
};

const attempts: Task = {
  name: "the attempts of a delivery and its body",
  does: async (hand, desk) => {
    const { refused } = desk.callers;
    await hand.search(refused.deliveryId);
    const panel = hand.page.getByRole("dialog");
    await panel.getByRole("list", { name: "Attempts" }).waitFor();
    const path = `/operator/deliveries/${refused.deliveryId}`;
    const { attempts: known } = await askedAsOperator(desk, path, delivery);
    expect(known[0]?.statusCode).toBe(503);
    await panel
      .getByText(/^HTTP 503/)
      .first()
      .waitFor();
    const body = panel.getByRole("region", { name: "Body" });
    await expect.poll(() => body.textContent()).toContain(refused.id);
  },
};

const longest: Task = {
  name: "the requests that are open longest",
  does: async (hand, { callers: { open } }) => {
    const { page } = hand;
    await hand.visit("Requests");
    await viewOf(page, "Requests");
    await hand.choose(page.getByLabel("Status"), "Open");
    await page.waitForURL(/status=OPEN/);
    const table = page.getByRole("region", { name: "Requests, newest first" });
    const rows = await rowsOf(table);
    expect(rows.length).toBe(1);
    const link = table.getByRole("link", { name: /Whitelist/ }).last();
    expect(await link.getAttribute("href")).toContain(open.id);
  },
};

const resent: Task = {
  name: "what failed in a period, sent again",
  does: async (hand, desk) => {
    const { page } = hand;
    const given = await desk.callers.giveUp();
    await hand.visit("Deliveries");
    await viewOf(page, "Deliveries");
    await hand.use(page.getByRole("button", { name: "Send a range again" }));
    await hand.use(page.getByRole("button", { name: "Count them" }));
    await hand.use(page.getByRole("alertdialog").getByRole("button", { name: "Send them" }));
    await page.getByText(/^Sending \d+ again$/).waitFor();
    const delivered = z.object({ deliveredAt: z.string().nullable() });
    await expect
      .poll(async () => {
        const path = `/operator/deliveries/${given}`;
        return (await askedAsOperator(desk, path, delivered)).deliveredAt;
      })
      .not.toBe(null);
  },
};

export const operator: User = {
  name: "operator on call",
  key: "operator",
  tasks: [
    wrong,
    lag,
    failing,
    pausedReceiver,
    pausedPipeline,
    byId,
    attempts,
    gone,
    longest,
    resent,
  ],
};
