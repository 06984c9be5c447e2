/** Buttons and links that look like them. */
import type { ButtonHTMLAttributes } from "react";

export type ButtonLook = "plain" | "strong" | "quiet";

const LOOKS: Readonly<Record<ButtonLook, string>> = {
  plain: "border border-line bg-surface text-ink hover:bg-sunken",
  strong: "border border-transparent bg-accent text-on-accent hover:opacity-90",
  quiet: "border border-transparent text-muted hover:bg-sunken hover:text-ink",
};

/** Classes of a button; for elements that are no button but act like one. */
export const buttonClass = (look: ButtonLook = "plain"): string =>
  `inline-flex h-8 items-center justify-center gap-1.5 rounded-md px-3 text-sm font-medium whitespace-nowrap transition-colors disabled:pointer-events-none disabled:opacity-50 ${LOOKS[look]}`;

export const Button = ({
  look = "plain",
  className = "",
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { readonly look?: ButtonLook }) => (
  <button type="button" className={`${buttonClass(look)} ${className}`} {...rest} />
);
