/** Sends callbacks of a time again: a form, a count, a confirmation. */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Card, Notice } from "../../blocks/blocks.tsx";
import { Button, buttonClass } from "../../controls/button.tsx";
import { Confirm } from "../../controls/confirm.tsx";
import { useDoing } from "../../controls/doing.tsx";
import { TextField } from "../../controls/field.tsx";
import { Choose } from "../../controls/select.tsx";
import { askPath } from "../../data/ask.ts";
import { readRange } from "../../data/operator.ts";
import { useSession } from "../../data/session.ts";
import { countText } from "../../shown/amount.ts";
import { fieldSeconds, fieldText, momentText } from "../../shown/moment.ts";
import { type Range, type RangeState, rangeOf, sendRange } from "./range.ts";
import { useReceivers } from "./receivers.tsx";

const PATH = "/operator/deliveries/redeliver";
/** Counting ends there. */
const COUNTED = 10_000;
const DAY_SECONDS = 86_400;

const STATES: readonly { readonly state: RangeState; readonly label: string }[] = [
  { state: "failed", label: "Given up" },
  { state: "disabled", label: "Address disabled" },
  { state: "delivered", label: "Delivered before" },
];

type Counted = { readonly range: Range; readonly matched: number };
type Ended = { readonly redelivered: number; readonly waiting: number };

export const SendRange = ({ onClose }: { readonly onClose: () => void }) => {
  const { key } = useSession();
  const cache = useQueryClient();
  const receivers = useReceivers().data?.items ?? [];
  const [since, setSince] = useState(() => fieldText(Math.floor(Date.now() / 1_000) - DAY_SECONDS));
  const [until, setUntil] = useState("");
  const [receiver, setReceiver] = useState("");
  const [states, setStates] = useState<ReadonlySet<RangeState>>(new Set(["failed", "disabled"]));
  const { busy, fault, setFault, during } = useDoing();
  const [counted, setCounted] = useState<Counted | null>(null);
  const [soFar, setSoFar] = useState(0);
  const [ended, setEnded] = useState<Ended | null>(null);
  const [stopped, setStopped] = useState(false);
  const running = useRef<AbortController>(null);
  // The service goes on for as long as somebody waits for its answer.
  useEffect(() => () => running.current?.abort(), []);

  const count = async (event: FormEvent) => {
    event.preventDefault();
    setEnded(null);
    setStopped(false);
    const range = rangeOf(
      {
        since: fieldSeconds(since),
        until: until === "" ? null : fieldSeconds(until),
        receiver,
        states,
      },
      Date.now(),
    );
    if (typeof range === "string") {
      setFault(range);
      return;
    }
    await during(async () => {
      const { matched } = await askPath(PATH, readRange, { key, body: { ...range, dryRun: true } });
      setCounted({ range, matched });
    });
  };

  const send = (range: Range) =>
    during(async () => {
      setSoFar(0);
      const run = new AbortController();
      running.current = run;
      const { signal } = run;
      try {
        setEnded(
          await sendRange(
            (after) =>
              askPath(PATH, readRange, {
                key,
                signal,
                body: { ...range, ...(after === undefined ? {} : { after }) },
              }),
            setSoFar,
            signal,
          ),
        );
      } catch (error) {
        if (!signal.aborted) throw error;
        setStopped(true);
      } finally {
        setCounted(null);
        void cache.invalidateQueries({ queryKey: ["path"] });
      }
    });

  return (
    <Card
      title="Send a range again"
      about="Every callback enqueued in a span of time, such as while a receiver was down. They are counted first."
      className="mb-4"
    >
      <form onSubmit={(event) => void count(event)}>
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2 lg:grid-cols-4">
          <TextField
            label="From (UTC)"
            type="datetime-local"
            step="1"
            required
            value={since}
            onChange={(event) => setSince(event.target.value)}
          />
          <TextField
            label="Until (UTC), empty for now"
            type="datetime-local"
            step="1"
            value={until}
            onChange={(event) => setUntil(event.target.value)}
          />
          <div className="min-w-0">
            <span className="mb-1 block text-xs font-medium text-muted">Receiver</span>
            <Choose
              label="Receiver of the range"
              className="w-full"
              value={receiver}
              choices={[
                { value: "", label: "All receivers" },
                ...receivers.map(({ id, name, url }) => ({ value: id, label: `${name} · ${url}` })),
              ]}
              onChange={setReceiver}
            />
          </div>
          <fieldset>
            <legend className="mb-1 text-xs font-medium text-muted">That are</legend>
            <div className="flex flex-wrap gap-x-4 gap-y-1 pt-1">
              {STATES.map(({ state, label }) => (
                <label key={state} className="inline-flex items-center gap-1.5 text-sm">
                  <input
                    type="checkbox"
                    className="size-4 accent-accent"
                    checked={states.has(state)}
                    onChange={({ target }) => {
                      const next = new Set(states);
                      if (target.checked) next.add(state);
                      else next.delete(state);
                      setStates(next);
                    }}
                  />
                  {label}
                </label>
              ))}
            </div>
          </fieldset>
        </div>
        <div className="mt-4 flex flex-wrap items-center gap-2">
          <button type="submit" disabled={busy} className={buttonClass("strong")}>
            {busy ? "Counting…" : "Count them"}
          </button>
          <Button look="quiet" onClick={onClose}>
            Close
          </Button>
        </div>
      </form>
      <div className="mt-3 empty:hidden" aria-live="polite">
        {fault === null ? null : (
          <Notice tone="bad" title={counted === null ? "Not done" : "Not all were sent"}>
            {fault}
          </Notice>
        )}
        {stopped ? (
          <Notice tone="warn" title="Stopped">
            {`${countText(soFar)} are sent again, and perhaps some of the next part. The list below shows which.`}
          </Notice>
        ) : null}
        {ended === null ? null : (
          <Notice tone="good" title={`${countText(ended.redelivered)} are sent again`}>
            {ended.waiting === 0
              ? "The list below shows what becomes of them."
              : `${countText(ended.waiting)} of them once their address is configured again.`}
          </Notice>
        )}
        {counted !== null && counted.matched === 0 ? (
          <Notice tone="plain" title="Nothing matches">
            No callback of that time is in one of these states.
          </Notice>
        ) : null}
      </div>
      <Confirm
        open={counted !== null && counted.matched > 0}
        title={`Send ${counted === null ? "" : matchedText(counted.matched)} again?`}
        action={busy ? `Sent ${countText(soFar)}…` : "Send them"}
        busy={busy}
        cancel={busy ? "Stop" : "Cancel"}
        onConfirm={() => {
          if (counted !== null) void send(counted.range);
        }}
        onClose={() => {
          running.current?.abort();
          setCounted(null);
        }}
      >
        {counted === null ? null : <WhatIsSent range={counted.range} />}
      </Confirm>
    </Card>
  );
};

const matchedText = (matched: number): string =>
  matched === 1
    ? "1 callback"
    : `${countText(matched)}${matched >= COUNTED ? " or more" : ""} callbacks`;

const WhatIsSent = ({ range }: { readonly range: Range }) => (
  <>
    <p>
      Enqueued from <strong className="text-ink">{momentText(Date.parse(range.since))}</strong>{" "}
      until <strong className="text-ink">{momentText(Date.parse(range.until))}</strong>, to{" "}
      <strong className="break-all text-ink">{range.receiver ?? "all receivers"}</strong>.
    </p>
    <p className="mt-2">
      Each goes out under the message id that it has, so that receivers can tell what they have
      already. Disabled addresses among them are enabled again.
    </p>
    {range.states.includes("delivered") ? (
      <p className="mt-2 text-warn">Those that were delivered before are sent, too.</p>
    ) : null}
  </>
);
