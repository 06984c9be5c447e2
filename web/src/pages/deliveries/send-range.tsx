/** Sends a range of callbacks again: a form, a count, a confirmation. */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Card, Notice } from "../../blocks/blocks.tsx";
import { receiverChoices, useReceivers } from "../../blocks/operator.tsx";
import { Confirm } from "../../controls/confirm.tsx";
import { Button, buttonClass, Choose, TextField, useAction } from "../../controls/controls.tsx";
import type { RangeRedelivery } from "../../data/answers.ts";
import { askPath } from "../../data/ask.ts";
import { useSession } from "../../data/session.ts";
import { countText } from "../../shown/amount.ts";
import { fieldSeconds, fieldText, momentText } from "../../shown/moment.ts";
import { type Range, type RangeState, rangeOf, sendRange } from "./range.ts";

const PATH = "/operator/deliveries/redeliver";
/** The service counts no further. */
const COUNTED = 10_000;
const DAY_SECONDS = 86_400;

const STATES: readonly { readonly state: RangeState; readonly label: string }[] = [
  { state: "failed", label: "Given up" },
  { state: "disabled", label: "Endpoint disabled" },
  { state: "delivered", label: "Delivered" },
];

type Counted = { readonly range: Range; readonly matched: number };
type Ended = { readonly redelivered: number; readonly waiting: number };

export const SendRange = ({ onClose }: { readonly onClose: () => void }) => {
  const { key } = useSession();
  const cache = useQueryClient();
  const receivers = useReceivers().data;
  const [since, setSince] = useState(() => fieldText(Math.floor(Date.now() / 1_000) - DAY_SECONDS));
  const [until, setUntil] = useState("");
  const [receiver, setReceiver] = useState("");
  const [states, setStates] = useState<ReadonlySet<RangeState>>(new Set(["failed", "disabled"]));
  const { busy, fault, setFault, run } = useAction();
  const [counted, setCounted] = useState<Counted | null>(null);
  const [soFar, setSoFar] = useState(0);
  const [ended, setEnded] = useState<Ended | null>(null);
  const [stopped, setStopped] = useState(false);
  const running = useRef<AbortController>(null);
  // The service sends for as long as its caller waits.
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
    await run(async () => {
      const { matched } = await askPath<RangeRedelivery>(PATH, {
        key,
        body: { ...range, dryRun: true },
      });
      setCounted({ range, matched });
    });
  };

  const send = (range: Range) =>
    run(async () => {
      setSoFar(0);
      const controller = new AbortController();
      running.current = controller;
      const { signal } = controller;
      try {
        setEnded(
          await sendRange(
            (after) =>
              askPath<RangeRedelivery>(PATH, {
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
      about="All callbacks enqueued in a period, such as while a receiver was down. They are counted first."
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
              choices={receiverChoices(receivers)}
              onChange={setReceiver}
            />
          </div>
          <fieldset>
            <legend className="mb-1 text-xs font-medium text-muted">States</legend>
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
          <Notice tone="bad" title={counted === null ? "Not counted" : "Not all were sent"}>
            {fault}
          </Notice>
        )}
        {stopped ? (
          <Notice tone="warn" title="Stopped">
            {`${countText(soFar)} or a few more were sent again. The list below shows them.`}
          </Notice>
        ) : null}
        {ended === null ? null : (
          <Notice tone="good" title={`Sending ${countText(ended.redelivered)} again`}>
            {ended.waiting === 0
              ? "The list below shows their outcome."
              : `${countText(ended.waiting)} of them wait until their endpoint is back in the settings.`}
          </Notice>
        )}
        {counted !== null && counted.matched === 0 ? (
          <Notice tone="plain" title="No match">
            No callback of this period is in these states.
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
      Each keeps its message id, so that receivers can detect duplicates. Disabled endpoints are
      enabled again.
    </p>
    {range.states.includes("delivered") ? (
      <p className="mt-2 text-warn">Delivered callbacks are sent again, too.</p>
    ) : null}
  </>
);
