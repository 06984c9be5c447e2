/** What `holderbook doctor` says of full nodes that can guide reading, and of those that cannot. */
import { expect, test } from "vitest";
import { z } from "zod";
import { LIMITS } from "../../ledger/history/list-scan.ts";
import { type ListState, startListServer } from "../../ledger/history/list-server.ts";
import { listedDemo } from "../../ledger/history/listed-demo.ts";
import { runCommand } from "../run-command.ts";

const COUNT = 400;
const ledger = listedDemo({ seed: "doctor", epochLength: 100 }, COUNT);
const other = listedDemo({ seed: "another", epochLength: 100 }, 10);
const SECURITY_TOKEN_PACKAGES = ledger.demo.packages[0] ?? "";

const report = z.object({
  findings: z.array(
    z.object({ state: z.string(), says: z.string(), remedy: z.string().optional() }),
  ),
});

const examined = async (settings: Readonly<Record<string, string>>) => {
  const { code, stdout } = await runCommand(["doctor", "--json", "--only", "guided"], {
    SECURITY_TOKEN_PACKAGES,
    PORT: "0",
    ...settings,
  });
  const { findings } = report.parse(JSON.parse(stdout));
  return {
    code,
    lines: findings.map(({ state, says, remedy }) => [state, says, remedy].join(" ")),
  };
};

const nodeOf = async (of = ledger, lists: Partial<ListState> = {}) => {
  const server = await startListServer(of, lists);
  return Object.assign(server, { setting: `grpc+http://${server.host}` });
};

test("a node with lists says how far back they go, and about what guided reading would fetch", async () => {
  await using node = await nodeOf();

  const { lines } = await examined({ LEDGER_SOURCE: node.setting });

  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/^ok .* lists what transactions touch, checkpoints 0 to 399/);
  const [, about] =
    /fetch about (\d+) of 399 checkpoints, about [\d.]+ [kM]B of/.exec(lines[1] ?? "") ?? [];
  const of = new Set(
    ["event", "call"].flatMap((kind) =>
      ledger.listed(`${kind} ${SECURITY_TOKEN_PACKAGES}`).map(({ checkpoint }) => checkpoint),
    ),
  );
  expect(Number(about)).toBe(of.size);
});

test("without an index it is a fault only where the settings ask for one", async () => {
  await using node = await nodeOf(ledger, { onList: () => "unimplemented" });
  await using archive = await nodeOf();

  const asSource = await examined({ LEDGER_SOURCE: node.setting });
  const asIndex = await examined({ LEDGER_SOURCE: archive.setting, INDEX_SOURCE: node.setting });
  const asGuide = await examined({ LEDGER_SOURCE: node.setting, READING: "guided" });

  expect(asSource.lines.join()).toMatch(/^ok .*does not list.*only guided reading needs that/);
  expect(asIndex.lines.join()).toMatch(/^fail .*does not list .*INDEX_SOURCE/);
  expect(asIndex.code).toBe(1);
  expect(asGuide.lines.join()).toMatch(/^fail .*does not list .*INDEX_SOURCE/);
});

test("lists that begin after the contract, or of another chain, are named", async () => {
  await using node = await nodeOf();
  await using late = await nodeOf(ledger, { limits: { ...LIMITS, floor: 200n } });
  await using stranger = await nodeOf(other);
  const LEDGER_SOURCE = node.setting;

  const begins = await examined({ LEDGER_SOURCE, INDEX_SOURCE: late.setting });
  const strange = await examined({ LEDGER_SOURCE, INDEX_SOURCE: stranger.setting });
  const witness = await examined({ LEDGER_SOURCE, WITNESS_SOURCE: stranger.setting });

  expect(begins.lines.join()).toMatch(
    /^fail .*checkpoints 200 to 399, which begins after the contr/,
  );
  expect(strange.lines.join()).toMatch(/^fail .* is of chain .*, but LEDGER_SOURCE is of chain/);
  expect(witness.lines.join()).toMatch(/fail .* is of chain .*WITNESS_SOURCE/);
});

test("an unreachable index is a fault, and no full node at all is none", async () => {
  await using node = await nodeOf();
  const gone = await nodeOf();
  await gone[Symbol.asyncDispose]();

  const dead = await examined({ LEDGER_SOURCE: node.setting, INDEX_SOURCE: gone.setting });
  const none = await examined({ LEDGER_SOURCE: "https://checkpoints.example" });

  expect(dead.lines.join()).toMatch(/^fail .*UNAVAILABLE.*INDEX_SOURCE/);
  expect(none.lines.join()).toMatch(/^ok no full node is named/);
});
