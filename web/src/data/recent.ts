/** The last finds that were opened, kept for this tab alone. */

import { addressOf, type Hit } from "./hits.ts";
import { kept } from "./store.ts";

const MOST = 6;

const place = kept("holderbook.recent", { tab: true });

export const forgetRecent = place.remove;

/** Newest first. */
export const recentHits = (): readonly Hit[] => {
  try {
    const found: unknown = JSON.parse(place.get() ?? "[]");
    return Array.isArray(found) ? found.filter(isHit) : [];
  } catch {
    return [];
  }
};

/** Without its label, which may be personal. */
export const rememberHit = ({ label: _, ...hit }: Hit): void => {
  const others = recentHits().filter((one) => addressOf(one) !== addressOf(hit));
  place.set(JSON.stringify([hit, ...others].slice(0, MOST)));
};

const isHit = (value: unknown): value is Hit =>
  typeof value === "object" &&
  value !== null &&
  ["kind", "title", "about", "path"].every(
    (name) => typeof Reflect.get(value, name) === "string",
  ) &&
  typeof Reflect.get(value, "search") === "object";
