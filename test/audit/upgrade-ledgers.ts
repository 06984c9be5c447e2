/** Demo ledgers whose publisher does something with the contract's upgrade capability after the opening. */

import { Draft } from "../../demo/chain/draft.ts";
import type { Execution } from "../../demo/chain/execution.ts";
import { FRAMEWORK } from "../../demo/chain/ids.ts";
import { OPENING_ENDS } from "../../demo/issuer/advance.ts";
import { upgradeCap } from "../../demo/issuer/coin-objects.ts";
import { PUBLISHER } from "../../demo/issuer/opening.ts";
import { makeImmutable } from "../../demo/issuer/packages.ts";
import { account, perform, type Stage } from "../../demo/issuer/stage.ts";
import { type ListedDemo, listedDemo } from "../ledger/history/listed-demo.ts";
import type { Place } from "../ledger/history/listed-ledger.ts";

/** What the publisher does, one checkpoint each. */
export const DEEDS = {
  /** Nothing: the capability stays as the upgrade left it. */
  keep: [],
  delete: [
    (stage: Stage) => makeImmutable(stage, account(stage, PUBLISHER), stage.world.upgradeCap),
  ],
  /** In one transaction. */
  "upgrade and delete": [
    (stage: Stage) =>
      onCap(stage, (execution, capId) => {
        const [originalId = ""] = stage.world.securities.packages;
        execution.publish({
          ...{ id: execution.newId(), originalId, version: 3n, linkage: [] },
          modules: new Map([["shared_token", Uint8Array.of(1, 2, 3)]]),
          typeOrigins: [{ module: "shared_token", name: "SharedToken", package: originalId }],
        });
        execution.remove(capId);
      }),
  ],
  wrap: [(stage: Stage) => onCap(stage, (execution, capId) => execution.wrap(capId))],
  "wrap and unwrap": [
    (stage: Stage) => onCap(stage, (execution, capId) => execution.wrap(capId)),
    (stage: Stage) =>
      perform(stage, account(stage, PUBLISHER), new Draft(), (execution) => {
        const { upgradeCap: capId, securities } = stage.world;
        execution.create(capId, {
          type: `${FRAMEWORK}::package::UpgradeCap`,
          contents: upgradeCap(capId, securities.packages[1] ?? "", 2n),
          owner: { kind: "address", address: account(stage, PUBLISHER) },
        });
      }),
  ],
} satisfies Readonly<Record<string, readonly ((stage: Stage) => unknown)[]>>;

const onCap = (stage: Stage, run: (execution: Execution, capId: string) => void) => {
  const { upgradeCap: capId } = stage.world;
  const draft = new Draft();
  draft.owned(capId);
  return perform(stage, account(stage, PUBLISHER), draft, (execution) => run(execution, capId));
};

export type UpgradeLedger = ListedDemo & {
  readonly capId: string;
  /** Transactions that touch the capability, in order: publication, upgrade, deeds. */
  readonly ofCap: readonly Place[];
};

/** A ledger of the opening, the deeds, and four checkpoints more. */
export const upgradeLedger = (what: keyof typeof DEEDS): UpgradeLedger => {
  const ledger = listedDemo({ seed: "upgrades", epochLength: 80 }, Number(OPENING_ENDS) + 1);
  let capId = "";
  ledger.demo.act((stage) => {
    capId = stage.world.upgradeCap;
  });
  for (const deed of DEEDS[what]) {
    ledger.demo.act((stage) => void deed(stage));
    ledger.make(1);
  }
  ledger.make(4);
  return {
    ...ledger,
    newest: () => ledger.newest(),
    capId,
    ofCap: ledger.listed(`object ${capId}`),
  };
};
