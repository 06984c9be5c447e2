/** Treasury of a coin type, and its roles. */
import type { Execution } from "../chain/execution.ts";
import { emptyRoster } from "../random.ts";
import { setEntry } from "./fields.ts";
import {
  address,
  bool,
  roleChangeEvent,
  roleKey,
  type Table,
  treasuryContents,
} from "./layouts.ts";
import {
  announce,
  type ContractFunction,
  definedBy,
  ensure,
  ensureRole,
  type ForeignCaller,
  hasRole,
  type RunningCall,
  roleType,
  type Securities,
  typeOf,
  write,
} from "./securities.ts";

/** Creates the treasury of a new coin type; the sender becomes ContractAdmin. Returns its id. */
export const createTreasury = (
  execution: Execution,
  state: Securities,
  coinType: string,
  through?: ForeignCaller,
): string => {
  const table = (): Table => ({ id: execution.newId(), size: 0n });
  const treasury = {
    id: execution.newId(),
    coinType,
    roles: table(),
    wallets: table(),
    groups: table(),
    holders: table(),
  };
  execution.set(state.treasuries, coinType, treasury);
  execution.set(state.model.roles, coinType, new Map());
  execution.set(state.model.registers, coinType, {
    holders: new Map(),
    wallets: new Map(),
    groups: new Map(),
    frozen: new Map(),
  });
  execution.set(state.rosters, coinType, {
    tokens: emptyRoster(),
    grants: emptyRoster(),
    wallets: emptyRoster(),
  });
  execution.create(treasury.id, {
    type: typeOf(state, "controlled_treasury::ControlledTreasury", coinType),
    contents: treasuryContents(treasury, 0n),
    owner: "share",
  });
  const call = {
    execution,
    state,
    coinType,
    by: "controlled_treasury::create",
    ...(through && { through }),
  };
  changeRole(call, execution.sender, roleType(state, "ContractAdmin"), true);
  return treasury.id;
};

/** The role is a canonical type, of any package. */
const roleFunction = (
  name: string,
  granted: boolean,
  code: bigint,
  reason: string,
): ContractFunction<{ owner: string; role: string }> => ({
  name,
  inputs: ({ treasury, owner }) => [write(treasury), address(owner)],
  moreTypes: ({ role }) => [role],
  run: (call, { owner, role }) => {
    ensureRole(call, "ContractAdmin");
    ensure(hasRole(call.state, call.coinType, owner, role) !== granted, name, code, reason);
    changeRole(call, owner, role, granted);
  },
});

export const grantRole = roleFunction(
  "controlled_treasury::grant_role",
  true,
  1n,
  "the wallet has the role",
);

export const revokeRole = roleFunction(
  "controlled_treasury::revoke_role",
  false,
  2n,
  "the wallet does not have the role",
);

const changeRole = (call: RunningCall, owner: string, role: string, granted: boolean): void => {
  const { execution, state, coinType } = call;
  const key = {
    type: `${definedBy(state, "controlled_treasury")}::controlled_treasury::RoleKey`,
    bytes: roleKey(owner, role),
  };
  setEntry(call, "roles", key, granted ? { type: "bool", bytes: bool(true) } : null);

  const owners = state.model.roles.get(coinType) ?? new Map<string, readonly string[]>();
  const others = (owners.get(owner) ?? []).filter((held) => held !== role);
  const held = granted ? [...others, role] : others;
  if (held.length > 0) execution.set(owners, owner, held);
  else execution.drop(owners, owner);

  const contents = roleChangeEvent(owner, role, granted);
  const event = { owner, role, granted };
  announce(call, "controlled_treasury::RoleChange", contents, state.model.roleEvents, event);
};
