/** A holder's balance over time, and the movements it is made of. */
import { useCallback, useMemo } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Card, Empty } from "../../blocks/blocks.tsx";
import { changeColumns } from "../../blocks/columns.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { Chart, type Colours, overTime } from "../../charts/chart.tsx";
import type { Token } from "../../data/tokens.ts";
import { amountText, countText, mostOf, proportion } from "../../shown/amount.ts";
import { momentText } from "../../shown/moment.ts";
import { balancesOver, useChanges } from "./changes.ts";

export const BalanceOverTime = ({
  token,
  addresses,
  untilMs,
}: {
  readonly token: Token;
  readonly addresses: readonly string[];
  /** Only what was before; all without it. */
  readonly untilMs: number | undefined;
}) => {
  const asked = useChanges(token.coinType, addresses);
  const { data } = asked;
  const changes = useMemo(
    () => (data?.changes ?? []).filter(({ timeMs }) => untilMs === undefined || timeMs <= untilMs),
    [data, untilMs],
  );
  const newestFirst = useMemo(() => changes.toReversed(), [changes]);
  const { decimals } = token;
  const option = useCallback(
    (colours: Colours) => {
      const line = balancesOver(changes);
      const most = mostOf(line.map(({ balance }) => balance));
      const end = line.at(-1);
      const points = line.map(
        ({ timeMs, balance }) => [timeMs, proportion(balance, most)] as const,
      );
      if (end !== undefined) points.push([untilMs ?? Date.now(), proportion(end.balance, most)]);
      return overTime(colours, colours.accent, points, (atMs) => {
        const at = line.findLast(({ timeMs }) => timeMs <= atMs);
        return at === undefined
          ? ""
          : `${amountText(at.balance, decimals)}\nfrom ${momentText(at.timeMs)}`;
      });
    },
    [changes, untilMs, decimals],
  );
  return (
    <Answered of={asked} what="The movements" card>
      {({ whole }) => (
        <>
          {changes.length === 0 ? null : (
            <Card title="Balance over time" about="Tokens and grants of all its wallets">
              <Chart
                label="Balance over time; the movements below say the numbers"
                option={option}
                height={220}
              />
            </Card>
          )}
          <Card
            flush
            title={`${countText(changes.length)} movements`}
            about={
              whole
                ? "Everything that changed a balance of its wallets, newest first"
                : "The oldest 10,000 of each wallet; there are more"
            }
          >
            <DataTable
              label="Movements of this holder"
              height="26rem"
              rows={newestFirst}
              keyOf={({ cursor }) => cursor}
              empty={<Empty title="Nothing ever moved here" />}
              columns={changeColumns(decimals)}
            />
          </Card>
        </>
      )}
    </Answered>
  );
};
