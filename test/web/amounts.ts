/** What is seen of amounts by a look into the page: both run in the browser. */

/** Amounts in sight, as they are shown. */
export const amountsShown = (): readonly string[] =>
  [...document.querySelectorAll("[data-amount]")].flatMap((element) => {
    const [shown] = element.querySelectorAll("button");
    const isVisible = element.getClientRects().length > 0;
    return isVisible ? [(shown ?? element).textContent ?? ""] : [];
  });

/** Numbers that stand on two lines, amounts that are not wholly in sight, and digits that are not the amount's. */
export const faultsOfAmounts = (): readonly string[] => {
  const faults: string[] = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const text = node.textContent ?? "";
    for (const found of text.matchAll(
      /[+\u2212]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[+\u2212]?\d+\.\d+/g,
    )) {
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) faults.push(`on ${lines.size} lines: ${found[0]}`);
    }
  }
  for (const element of document.querySelectorAll<HTMLElement>("[data-amount]")) {
    if (element.getClientRects().length === 0) continue;
    const shown = (element.querySelector("button") ?? element).textContent ?? "";
    const whole = element.dataset.amount ?? "";
    const { left, right } = element.getBoundingClientRect();
    const around = (element.closest("section") ?? document.body).getBoundingClientRect();
    const isInside = left >= around.left - 1 && right <= Math.min(around.right, innerWidth) + 1;
    if (!isInside || element.scrollWidth > element.clientWidth) faults.push(`cut off: ${shown}`);
    // Unless it says that it is rounded, it is the amount but for zeros at its end.
    const isExact = whole.startsWith(shown) && /^[.0]*$/.test(whole.slice(shown.length));
    if (!/^[\u2248<>] /.test(shown) && !isExact && !/ [KMBT]$/.test(shown)) {
      const [first = ""] = shown.split(" ");
      if (first !== whole) faults.push(`${shown} is not ${whole}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push("the page scrolls sideways");
  return faults;
};
