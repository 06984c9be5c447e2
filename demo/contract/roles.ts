/** Treasury of a coin type, and its roles. */
import type { Execution } from "../chain/execution.ts";
import { emptyRoster } from "../random.ts";
import { grown, removeField, setField } from "./fields.ts";
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
  hasRole,
  roleType,
  type Securities,
  treasuryOf,
  typeOf,
  writeTreasury,
} from "./securities.ts";

/** Function name in the events of a new treasury. */
const CREATE = "controlled_treasury::create";

/**
 * Creates and shares the treasury of a new coin type; the sender becomes ContractAdmin. Returns its
 * id.
 */
export const createTreasury = (
  execution: Execution,
  state: Securities,
  coinType: string,
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
  changeRole(execution, state, CREATE, {
    coinType,
    owner: execution.sender,
    role: roleType(state, "ContractAdmin"),
    granted: true,
  });
  return treasury.id;
};

type RoleArguments = {
  readonly coinType: string;
  readonly owner: string;
  /** Canonical type of the role, of any package. */
  readonly role: string;
};

const roleFunction = (
  name: string,
  granted: boolean,
  refusal: { readonly code: bigint; readonly reason: string },
): ContractFunction<RoleArguments> => ({
  name,
  inputs: (draft, { coinType, owner }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.pure(address(owner)),
  ],
  moreTypes: ({ role }) => [role],
  run: (execution, { coinType, owner, role }, state) => {
    ensureRole(execution, state, coinType, "ContractAdmin");
    ensure(hasRole(state, coinType, owner, role) !== granted, { name, ...refusal });
    changeRole(execution, state, name, { coinType, owner, role, granted });
  },
});

export const grantRole = roleFunction("controlled_treasury::grant_role", true, {
  code: 1n,
  reason: "the wallet has the role",
});

export const revokeRole = roleFunction("controlled_treasury::revoke_role", false, {
  code: 2n,
  reason: "the wallet does not have the role",
});

const changeRole = (
  execution: Execution,
  state: Securities,
  by: string,
  change: RoleArguments & { readonly granted: boolean },
): void => {
  const { coinType, owner, role, granted } = change;
  const treasury = treasuryOf(state, coinType);
  const field = {
    parent: treasury.roles.id,
    nameType: `${definedBy(state, "controlled_treasury")}::controlled_treasury::RoleKey`,
    name: roleKey(owner, role),
  };
  if (granted) setField(execution, field, { type: "bool", bytes: bool(true) });
  else removeField(execution, field);
  writeTreasury(execution, state, {
    ...treasury,
    roles: grown(treasury.roles, granted ? 1n : -1n),
  });

  const owners = state.model.roles.get(coinType) ?? new Map<string, readonly string[]>();
  const others = (owners.get(owner) ?? []).filter((held) => held !== role);
  const held = granted ? [...others, role] : others;
  if (held.length > 0) execution.set(owners, owner, held);
  else execution.drop(owners, owner);

  announce(
    execution,
    state,
    {
      by,
      name: "controlled_treasury::RoleChange",
      coinType,
      contents: roleChangeEvent(owner, role, granted),
    },
    state.model.roleEvents,
    (place) => ({ ...place, owner, role, granted }),
  );
};
