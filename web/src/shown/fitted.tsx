/** Amounts on one line: one that does not fit is rounded, and shown whole on touch or focus. */
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { type AmountForm, amountIn, isRounded, lastStep } from "./amount.ts";
import { CopyButton } from "./copied.tsx";
import { placeBeside } from "./popover.ts";
import { isPhone, useWidth } from "./width.ts";

/** How far amounts are shortened, by steps of `amountIn`. */
type Room = {
  readonly step: number;
  /** One step more. `from` is the step that did not fit: many amounts that ask together get one step. */
  readonly tighten: (from: number) => void;
};

const useRoom = (): Room => {
  const [step, setStep] = useState(0);
  useEffect(() => {
    let width = innerWidth;
    const resized = () => {
      // Phones change the height while one scrolls.
      if (innerWidth === width) return;
      width = innerWidth;
      setStep(0);
    };
    addEventListener("resize", resized);
    return () => removeEventListener("resize", resized);
  }, []);
  const tighten = useCallback((from: number) => setStep((now) => Math.max(now, from + 1)), []);
  return useMemo(() => ({ step, tighten }), [step, tighten]);
};

const SharedRoom = createContext<Room | null>(null);

/** Whether amounts inside are short on a phone, or where they do not fit, and exact one touch away. */
const BriefAmounts = createContext(false);

export const Brief = ({ children }: { readonly children: ReactNode }) => (
  <BriefAmounts value>{children}</BriefAmounts>
);

/** Decimals of short amounts. */
const BRIEF_DECIMALS = 2;

/** Shortens the amounts inside alike, so that the digits of a column line up. */
export const FittedAlike = ({ children }: { readonly children: ReactNode }) => (
  <SharedRoom value={useRoom()}>{children}</SharedRoom>
);

type Shown = {
  readonly units: bigint;
  readonly form: AmountForm;
  readonly symbol: string | null | undefined;
};

/** An amount on one line, exact where it fits. */
export const Amount = ({
  units,
  decimals,
  signed = false,
  fixed = false,
  symbol,
}: {
  readonly units: bigint;
  readonly decimals: number | null;
  readonly signed?: boolean;
  /** With all decimals, for columns. */
  readonly fixed?: boolean;
  readonly symbol?: string | null;
}) => {
  const shared = useContext(SharedRoom);
  const shown = { units, form: { decimals, signed, fixed }, symbol };
  return shared === null ? <Alone {...shown} /> : <Fitted room={shared} {...shown} />;
};

const Alone = (shown: Shown) => <Fitted room={useRoom()} {...shown} />;

const Fitted = ({ room, units, form, symbol }: Shown & { readonly room: Room }) => {
  const box = useRef<HTMLSpanElement>(null);
  const phone = isPhone(useWidth());
  const brief = useContext(BriefAmounts) ? Math.max(0, (form.decimals ?? 0) - BRIEF_DECIMALS) : 0;
  const least = phone || room.step > 0 ? brief : 0;
  const step = Math.min(Math.max(room.step, least), lastStep(form.decimals));
  const whole = amountIn(units, form, 0);
  const text = amountIn(units, form, step);
  const fit = useCallback(() => {
    const place = box.current;
    if (place === null || step >= lastStep(form.decimals)) return;
    if (place.scrollWidth > place.clientWidth) room.tighten(step);
  }, [room, step, form.decimals]);
  // Before painting, so that no digit is seen to vanish.
  useLayoutEffect(fit);
  useEffect(() => {
    if (box.current === null) return;
    const resized = new ResizeObserver(fit);
    resized.observe(box.current);
    return () => resized.disconnect();
  }, [fit]);
  return (
    <span
      ref={box}
      data-amount={whole}
      className="figures inline-block max-w-full align-bottom whitespace-nowrap"
      title={isRounded(text) ? undefined : `${units} in the smallest unit`}
    >
      {isRounded(text) ? (
        <Rounded text={text} whole={symbol ? `${whole} ${symbol}` : whole} />
      ) : (
        text
      )}
      {symbol ? (
        <span className="text-[max(0.75em,11px)] font-medium text-muted"> {symbol}</span>
      ) : null}
    </span>
  );
};

/** A rounded amount: whole for screen readers, and on touch, focus or click. */
const Rounded = ({ text, whole }: { readonly text: string; readonly whole: string }) => {
  const id = useId();
  const around = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const shown = useRef<HTMLSpanElement>(null);
  const hide = useCallback(() => shown.current?.hidePopover(), []);
  const show = () => {
    const [from, box] = [button.current, shown.current];
    if (from === null || box === null) return;
    box.showPopover();
    placeBeside(box, from);
    addEventListener("scroll", hide, { capture: true, once: true });
  };
  useEffect(() => {
    const both = around.current;
    const left = ({ relatedTarget }: FocusEvent) => {
      if (relatedTarget instanceof Node && !both?.contains(relatedTarget)) hide();
    };
    both?.addEventListener("focusout", left);
    return () => {
      both?.removeEventListener("focusout", left);
      removeEventListener("scroll", hide, { capture: true });
    };
  }, [hide]);
  return (
    <span ref={around}>
      <button
        ref={button}
        type="button"
        aria-label={`${text}, exactly ${whole}`}
        aria-describedby={id}
        title={whole}
        className="relative z-10 cursor-help underline decoration-dotted underline-offset-2"
        onFocus={show}
        onClick={show}
      >
        {text}
      </button>
      <span
        ref={shown}
        id={id}
        popover="auto"
        className="fixed inset-auto m-0 rounded-md border border-line bg-surface py-1 pr-1 pl-2.5 text-sm font-normal tracking-normal text-ink shadow-lg"
      >
        <span className="inline-flex items-center gap-1 whitespace-nowrap">
          {whole} <CopyButton text={whole} what="amount" />
        </span>
      </span>
    </span>
  );
};
