/** Light or dark: the system's choice, unless the reader chose here. */
import { useSyncExternalStore } from "react";
import { createStore, kept } from "../data/store.ts";

type Theme = "light" | "dark";

const chosen = kept("holderbook-theme");
const theme = createStore<Theme>("light");

const show = (next: Theme): void => {
  document.documentElement.dataset.theme = next;
  theme.set(next);
};

/** Before anything is drawn. */
export const startTheme = (): void => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    const choice = chosen.get();
    const isChosen = choice === "light" || choice === "dark";
    show(isChosen ? choice : system.matches ? "dark" : "light");
  };
  follow();
  system.addEventListener("change", follow);
};

const choose = (next: Theme): void => {
  chosen.set(next);
  show(next);
};

/** The theme, and a function that changes it. */
export const useTheme = (): readonly [Theme, (theme: Theme) => void] => [
  useSyncExternalStore(theme.watch, theme.get),
  choose,
];
