/** Light or dark: the system's choice, unless the reader chose here. */
import { useEffect, useState } from "react";

type Theme = "light" | "dark";

const PLACE = "holderbook-theme";

const system = () => matchMedia("(prefers-color-scheme: dark)");

const chosen = (): Theme | null => {
  try {
    const kept = localStorage.getItem(PLACE);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    // The browser may forbid storage.
    return null;
  }
};

const show = (theme: Theme): void => {
  document.documentElement.dataset.theme = theme;
};

/** Before anything is drawn. */
export const startTheme = (): void => show(chosen() ?? (system().matches ? "dark" : "light"));

/** The theme, and a function that changes it. */
export const useTheme = (): readonly [Theme, (theme: Theme) => void] => {
  const [theme, setTheme] = useState<Theme>(() =>
    document.documentElement.dataset.theme === "dark" ? "dark" : "light",
  );
  useEffect(() => {
    const media = system();
    const follow = () => {
      const now = chosen() ?? (media.matches ? "dark" : "light");
      show(now);
      setTheme(now);
    };
    media.addEventListener("change", follow);
    window.addEventListener("holderbook-theme", follow);
    return () => {
      media.removeEventListener("change", follow);
      window.removeEventListener("holderbook-theme", follow);
    };
  }, []);
  const choose = (next: Theme) => {
    try {
      localStorage.setItem(PLACE, next);
    } catch {
      // Without storage it holds until the page is left.
    }
    show(next);
    setTheme(next);
    window.dispatchEvent(new Event("holderbook-theme"));
  };
  return [theme, choose];
};
