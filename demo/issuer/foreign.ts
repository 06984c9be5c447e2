/**
 * Packages of other people: one that copies ours name by name, with a module that wraps objects of
 * ours, and an exchange that has nothing to do with us.
 */
import { Draft } from "../chain/draft.ts";
import { forgetGrant } from "../contract/grants.ts";
import {
  grantContents,
  roleChangeEvent,
  supplyEvent,
  tokenContents,
  transferEvent,
} from "../contract/layouts.ts";
import { coinOf, rostersOf, typeOf } from "../contract/securities.ts";
import { forgetToken } from "../contract/tokens.ts";
import { enlist } from "../roster.ts";
import { ByteWriter } from "../wire/byte-writer.ts";
import type { Sources } from "./packages.ts";
import { account, type InCustody, perform, type Stage } from "./stage.ts";

/** Modules and types of the copy: same names, other address. */
export const LOOK_ALIKE: Sources = {
  controlled_treasury: ["Burn", "ControlledTreasury", "Mint", "RoleChange"],
  custody: ["Custody"],
  freeze_rule: ["AddressFrozen"],
  group_holder_config: ["HolderAdded", "HolderAddressAdded"],
  roles: ["ContractAdmin", "ReserveAdmin", "TransferAdmin", "WalletsAdmin"],
  shared_token: ["SharedToken", "Transfer"],
  timelock: ["Timelock"],
};

/** Modules and types of the exchange. */
export const EXCHANGE: Sources = { pool: ["Pool", "Swapped"], ticket: ["Ticket"] };

/** Labels of the accounts that publish them. */
export const IMITATOR = "imitator";
export const EXCHANGE_OWNER = "exchange";

/** Look-alike objects that stand at a time; older ones are swept away. */
const MOST_IMITATIONS = 16;

/** Address of the look-alike package. */
export const lookAlike = (stage: Stage): string => stage.world.foreignPackages[0] ?? "";

/**
 * The imitator moves tokens that are not ours: events and objects with the names of ours and with our
 * coin type, of the wrong package.
 */
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

/** Type of the object that wraps one of ours: its own address is foreign, that of its parameter ours. */
const custodyType = (stage: Stage, item: string): string =>
  `${lookAlike(stage)}::custody::Custody<${item}>`;

const itemType = (stage: Stage, kind: InCustody["kind"], coinType: string): string =>
  typeOf(
    stage.world.securities,
    kind === "token" ? "shared_token::SharedToken" : "timelock::Timelock",
    coinType,
  );

/** Wraps a token or grant of its owner into a custody object, until the checkpoint `due`. */
export const deposit = (stage: Stage, kind: InCustody["kind"], id: string, due: bigint): void => {
  const { securities, custody, chain } = stage.world;
  const token = securities.model.tokens.get(id);
  const grant = securities.model.grants.get(id);
  const item = token ?? grant;
  const object = chain.objects.get(id);
  if (item === undefined || object === undefined) return;
  const { coinType, owner } = item;
  const type = itemType(stage, kind, coinType);
  const draft = new Draft();
  draft.call(
    { package: lookAlike(stage), function: "custody::deposit" },
    [type],
    [draft.shared(id, "write")],
  );
  perform(stage, owner, draft, (execution) => {
    const custodyId = execution.newId();
    const amount = token?.balance ?? grant?.leftBalance ?? 0n;
    if (token !== undefined) forgetToken(execution, securities, token);
    if (grant !== undefined) forgetGrant(execution, securities, grant);
    const coin = coinOf(securities, coinType);
    execution.set(securities.model.coins, coinType, {
      ...coin,
      inCustody: coin.inCustody + amount,
    });
    execution.wrap(id);
    execution.create(custodyId, {
      type: custodyType(stage, type),
      contents: new ByteWriter().address(custodyId).raw(object.contents).done(),
      owner: { kind: "address", address: owner },
    });
    execution.set(custody, custodyId, {
      custodyId,
      kind,
      coinType,
      id,
      contents: object.contents,
      owner,
      amount,
      due,
      item,
    });
  });
};

/** Takes what is in custody out again: the same object, the same id, a new version. */
export const withdraw = (stage: Stage, held: InCustody): void => {
  const { securities, custody } = stage.world;
  const { coinType, id, custodyId, item } = held;
  const type = itemType(stage, held.kind, coinType);
  const draft = new Draft();
  draft.call(
    { package: lookAlike(stage), function: "custody::withdraw" },
    [type],
    [draft.owned(custodyId)],
  );
  perform(stage, held.owner, draft, (execution) => {
    execution.remove(custodyId);
    execution.drop(custody, custodyId);
    const coin = coinOf(securities, coinType);
    execution.set(securities.model.coins, coinType, {
      ...coin,
      inCustody: coin.inCustody - held.amount,
    });
    execution.unwrap(id, { type, contents: held.contents, publicTransfer: true });
    const rosters = rostersOf(securities, coinType);
    if ("leftBalance" in item) {
      execution.set(securities.model.grants, id, item);
      execution.onSuccess(() => enlist(rosters.grants, id));
    } else {
      execution.set(securities.model.tokens, id, item);
      execution.onSuccess(() => enlist(rosters.tokens, id));
    }
  });
};

/** Takes out all whose time has come. */
export const withdrawDue = (stage: Stage): void => {
  for (const held of [...stage.world.custody.values()]) {
    if (held.due <= stage.open.sequence) withdraw(stage, held);
  }
};
