/** Icons, drawn on a grid of 16 with the colour of their text. */
import type { ReactNode } from "react";

const icon = (drawing: ReactNode) => () => (
  <svg
    viewBox="0 0 16 16"
    width="15"
    height="15"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.5"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    className="shrink-0"
  >
    {drawing}
  </svg>
);

export const CopyIcon = icon(
  <>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.500 2.500h-6a2 2 0 0 0-2 2v6" />
  </>,
);
export const CheckIcon = icon(<path d="M3 8.500 6.500 12 13 4.500" />);
export const OutIcon = icon(<path d="M6 3H3v10h10v-3M9 3h4v4M13 3 7.500 8.500" />);
export const DownIcon = icon(<path d="M4 6l4 4 4-4" />);
export const LeftIcon = icon(<path d="M10 3 5 8l5 5" />);
export const RightIcon = icon(<path d="m6 3 5 5-5 5" />);
export const SaveIcon = icon(<path d="M8 2v8m0 0 3-3m-3 3L5 7M2.500 13.500h11" />);
export const CloseIcon = icon(<path d="m4 4 8 8m0-8-8 8" />);
export const MenuIcon = icon(<path d="M2.500 4.500h11m-11 3.500h11m-11 3.500h11" />);
export const SunIcon = icon(
  <>
    <circle cx="8" cy="8" r="3" />
    <path d="M8 1.500v1m0 11v1m6.500-6.500h-1m-11 0h-1m11.100-4.600-.7.7m-7.800 7.800-.7.7m0-9.200.7.7m7.800 7.800.7.7" />
  </>,
);
export const MoonIcon = icon(<path d="M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7z" />);
export const KeyIcon = icon(
  <>
    <circle cx="5" cy="11" r="2.500" />
    <path d="m7 9 6-6m-2.500 2.500 2 2" />
  </>,
);
export const LinkIcon = icon(
  <path d="m6.500 9.500 3-3M7 4.500l1.300-1.300a3.200 3.200 0 0 1 4.500 4.500L11.500 9M9 11.500l-1.300 1.300a3.200 3.200 0 0 1-4.500-4.500L4.500 7" />,
);
export const PrintIcon = icon(
  <path d="M4.500 6V2.500h7V6M4.500 11.500h-2V6h11v5.500h-2M4.500 9.500h7v4h-7z" />,
);
export const SearchIcon = icon(
  <path d="M11.200 7a4.200 4.200 0 1 1-8.400 0 4.200 4.200 0 0 1 8.400 0zM10 10l3.500 3.500" />,
);
export const EditIcon = icon(<path d="M10.500 3 13 5.500 5.500 13H3v-2.500zM9 4.500 11.500 7" />);
export const WarnIcon = icon(<path d="M8 2 14.500 13.500h-13zM8 6.500v3m0 2.200v.1" />);
export const CalendarIcon = icon(
  <>
    <rect x="2.5" y="3.5" width="11" height="10" rx="1.5" />
    <path d="M2.500 6.500h11M5.500 2v3m5-3v3" />
  </>,
);
