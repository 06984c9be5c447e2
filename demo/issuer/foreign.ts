/** Other packages: one that copies ours by name, and an unrelated exchange. */
import { Draft } from "../chain/draft.ts";
import {
  grantContents,
  roleChangeEvent,
  supplyEvent,
  tokenContents,
  transferEvent,
} from "../contract/layouts.ts";
import type { Sources } from "./packages.ts";
import { account, perform, type Stage } from "./stage.ts";

/** The copy: same names, other address. */
export const LOOK_ALIKE: Sources = {
  controlled_treasury: ["Burn", "ControlledTreasury", "Mint", "RoleChange"],
  freeze_rule: ["AddressFrozen"],
  group_holder_config: ["HolderAdded", "HolderAddressAdded"],
  roles: ["ContractAdmin", "ReserveAdmin", "TransferAdmin", "WalletsAdmin"],
  shared_token: ["SharedToken", "Transfer"],
  timelock: ["Timelock"],
};

export const EXCHANGE: Sources = { pool: ["Pool", "Swapped"], ticket: ["Ticket"] };

/** Labels of their publishers. */
export const IMITATOR = "imitator";
export const EXCHANGE_OWNER = "exchange";

/** Maximum look-alike objects; older ones are deleted. */
const MOST_IMITATIONS = 16;

export const lookAlike = (stage: Stage): string => stage.world.foreignPackages[0] ?? "";

/** Emits events and creates objects with our names and coin type, but of the wrong package. */
export const imitate = (stage: Stage, coinType: string): void => {
  const sender = account(stage, IMITATOR);
  const copy = lookAlike(stage);
  const target = (name: string) => ({ package: copy, function: name });
  const draft = new Draft();
  draft.call(target("controlled_treasury::mint"), [coinType], []);
  draft.call(target("timelock::fund"), [coinType], []);
  const { imitations } = stage.world;
  const swept = imitations.length < MOST_IMITATIONS ? [] : imitations.splice(0, 2);
  for (const id of swept) {
    draft.call(target("controlled_treasury::sweep"), [coinType], [draft.shared(id, "write")]);
  }
  perform(stage, sender, draft, (execution) => {
    for (const id of swept) execution.remove(id);
    const token = execution.newId();
    execution.create(token, {
      type: `${copy}::shared_token::SharedToken<${coinType}>`,
      contents: tokenContents({ id: token, owner: sender, balance: 1_000_000n }),
      owner: "share",
    });
    const by = { package: copy, module: "controlled_treasury" };
    execution.emit(
      by,
      `${copy}::controlled_treasury::Mint<${coinType}>`,
      supplyEvent(token, sender, 1_000_000n),
    );
    execution.emit(
      by,
      `${copy}::shared_token::Transfer<${coinType}>`,
      transferEvent(token, sender, sender, 1_000_000n),
    );
    execution.emit(
      by,
      `${copy}::controlled_treasury::RoleChange<${coinType}>`,
      roleChangeEvent(sender, `${copy}::roles::ContractAdmin`, true),
    );
    const grant = execution.newId();
    execution.create(grant, {
      type: `${copy}::timelock::Timelock<${coinType}>`,
      contents: grantContents({
        id: grant,
        coinType,
        owner: sender,
        funder: sender,
        releaseScheduleId: 0n,
        releaseCount: 1n,
        delayUntilFirstReleaseMs: 0n,
        periodBetweenReleasesMs: 0n,
        initialReleasePortionBps: 0n,
        commencementTimestampMs: 0n,
        totalAmount: 5n,
        tokensTransferred: 0n,
        leftBalance: 5n,
      }),
      owner: "share",
    });
    imitations.push(token, grant);
  });
};
