/** Popovers beside what they belong to. */

/** Distance from their place and from the window's edges, pixels. */
const GAP = 6;

/** Places a shown `popover` below an element, or above it where there is no room; right edges are aligned. */
export const placeBeside = (box: HTMLElement, from: HTMLElement): void => {
  const at = from.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const below = at.bottom + GAP + height <= innerHeight;
  box.style.left = `${Math.max(GAP, Math.min(at.right - width, innerWidth - width - GAP))}px`;
  box.style.top = `${below ? at.bottom + GAP : Math.max(GAP, at.top - GAP - height)}px`;
};
