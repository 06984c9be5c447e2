/** Freezing wallets, since the package's second version. */
import { removeField, setField } from "./fields.ts";
import { address, bool, frozenEvent } from "./layouts.ts";
import { announceHolderEvent } from "./membership.ts";
import {
  type ContractFunction,
  definedBy,
  ensure,
  ensureRole,
  registerOf,
  treasuryOf,
  writeTreasury,
} from "./securities.ts";

export const setAddressFrozen: ContractFunction<{
  readonly coinType: string;
  readonly wallet: string;
  readonly isFrozen: boolean;
}> = {
  name: "freeze_rule::set_address_frozen",
  inputs: (draft, { coinType, wallet, isFrozen }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.pure(address(wallet)),
    draft.pure(bool(isFrozen)),
  ],
  run: (execution, { coinType, wallet, isFrozen }, state) => {
    ensureRole(execution, state, coinType, "TransferAdmin");
    const { frozen } = registerOf(state, coinType);
    ensure(frozen.has(wallet) !== isFrozen, {
      name: setAddressFrozen.name,
      code: 0n,
      reason: "nothing would change",
    });
    const treasury = treasuryOf(state, coinType);
    const field = {
      parent: treasury.id,
      nameType: `${definedBy(state, "freeze_rule")}::freeze_rule::FrozenKey`,
      name: address(wallet),
    };
    if (isFrozen) {
      setField(execution, field, { type: "bool", bytes: bool(true) });
      execution.set(frozen, wallet, true);
    } else {
      removeField(execution, field);
      execution.drop(frozen, wallet);
    }
    writeTreasury(execution, state, treasury);
    announceHolderEvent(
      { execution, state, by: setAddressFrozen.name, coinType },
      "freeze_rule::AddressFrozen",
      frozenEvent(wallet, isFrozen),
      { eventType: "address_frozen", address: wallet, isFrozen },
    );
  },
};
