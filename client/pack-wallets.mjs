/** What wallets are by the lines of an audit pack: whose, in which group, and whether they are frozen. */
import { stopAt } from "./pack-error.mjs";

/** What an event says that its wallet is then; absent for nothing. The newest one decides, whatever it ends. */
const SAYS = {
  holder_address_added: ({ holderId }) => ["holder", holderId],
  holder_address_removed: () => ["holder", null],
  address_joined_group: ({ groupId }) => ["group", groupId],
  address_left_group: () => ["group", null],
  address_frozen: ({ isFrozen }) => ["freeze", isFrozen ? "1" : null],
};

export class PackWallets {
  #said = { holder: new Map(), group: new Map(), freeze: new Map() };

  stands({ address, aspect, value }) {
    this.#said[aspect].set(address, value);
  }

  happened(event) {
    const [aspect, value] = SAYS[event.eventType]?.(event) ?? [];
    if (aspect === undefined || event.address === null) return;
    if (value === null) this.#said[aspect].delete(event.address);
    else this.#said[aspect].set(event.address, value);
  }

  /** Whether the wallets of a register are what was said. */
  check(file, { wallets }) {
    const { holder, group, freeze } = this.#said;
    const failures = [];
    const holders = new Set();
    for (const [address, { holderId, groupId, isFrozen }] of wallets) {
      if (holderId !== null) holders.add(holderId);
      const isAsSaid =
        (holder.get(address) ?? null) === holderId &&
        (group.get(address) ?? null) === groupId &&
        freeze.has(address) === isFrozen;
      if (!isAsSaid) {
        const what = `${address} has another holder, group or freeze than the lines of the pack say`;
        failures.push({ file, what });
      }
    }
    for (const [address, holderId] of holder) {
      if (holders.has(holderId) && !wallets.has(address)) {
        failures.push({ file, what: `leaves out ${address}, a wallet of holder ${holderId}` });
      }
    }
    stopAt(failures);
  }
}
