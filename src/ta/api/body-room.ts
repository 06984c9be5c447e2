/**
 * Bounds the memory of incoming bodies, in total and per sender. Received bytes count, not
 * announced ones. Bodies arrive before their signatures can be checked and keys are public, so the
 * room is shared out by address, and by key within an address.
 */

/** Bodies up to this size are not counted. */
const SMALL_BYTES = 64 * 1024;

/** Largest shares: of an address in the room, and of a key. */
const SHARE_OF_ADDRESS = 3 / 4;
const SHARE_OF_KEY = 1 / 2;

export type Sender = {
  readonly address: string;
  /** `api_keys.id` of the key it came with. */
  readonly keyId: string;
};

export type Place = {
  /** Reserves room for the received part of a body; false when there is none. */
  grow(toBytes: number): boolean;
  /** Releases all of it; idempotent. */
  leave(): void;
};

export type BodyRoom = (sender: Sender) => Place;

export const bodyRoom = (totalBytes: number): BodyRoom => {
  const taken = new Map<string, number>();
  const add = (name: string, bytes: number) => {
    const now = (taken.get(name) ?? 0) + bytes;
    if (now > 0) taken.set(name, now);
    else taken.delete(name);
  };
  return ({ address, keyId }) => {
    const bounds = new Map([
      ["all", totalBytes],
      [`address ${address}`, totalBytes * SHARE_OF_ADDRESS],
      [`key ${keyId} ${address}`, totalBytes * SHARE_OF_KEY],
    ]);
    let held = 0;
    const hold = (bytes: number) => {
      for (const name of bounds.keys()) add(name, bytes - held);
      held = bytes;
    };
    return {
      grow(toBytes) {
        if (toBytes <= SMALL_BYTES) return true;
        const more = toBytes - held;
        const fits = [...bounds].every(([name, most]) => (taken.get(name) ?? 0) + more <= most);
        if (fits) hold(toBytes);
        return fits;
      },
      leave: () => hold(0),
    };
  };
};
