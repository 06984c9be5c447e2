/**
 * Bounds the memory of bodies under way: in total, and per sender. Bytes count when they have arrived,
 * not when they are announced: a header field takes no room.
 *
 * A body arrives before its signature can be checked, and a key is public: any sender can name it. So
 * room is shared out by address, and by key within an address.
 */

/** Bodies up to this size are not counted: there is always room for one more. */
const SMALL_BYTES = 64 * 1024;

/** Largest shares of the room: an address leaves some to others, a key some to others at its address. */
const SHARE_OF_ADDRESS = 3 / 4;
const SHARE_OF_KEY = 1 / 2;

/** The sender of a body. */
export type Sender = {
  readonly address: string;
  /** `api_keys.id` of the key it came with. */
  readonly keyId: string;
};

/** The room of one body. */
export type Place = {
  /** Makes room for the part of a body that has arrived; false when there is none. */
  grow(toBytes: number): boolean;
  /** Gives all of it back. Safe to call twice. */
  leave(): void;
};

/** Room for `totalBytes` of bodies. */
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
