/** How concentrated a token is: a map of the largest holders, and their cumulative share. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { shareOf } from "../../../../client/cap-rows.ts";
import type { Column } from "../../blocks/column.ts";
import { amountColumn } from "../../blocks/columns.tsx";
import { type Colours, filled, member, tooltip } from "../../charts/chart.tsx";
import { ChartCard } from "../../charts/chart-card.tsx";
import { subjectOf, useLabels } from "../../data/labels.ts";
import { keepMoment, type Token, tokenLabel } from "../../data/tokens.ts";
import { curve, type Largest, largest } from "../../register/concentration.ts";
import type { Register } from "../../register/register.ts";
import { STATES, type Tile, tilesOf } from "../../register/tiles.ts";
import { amountText, countText, proportion, shareText } from "../../shown/amount.ts";
import { momentText } from "../../shown/moment.ts";

type Shown = { readonly token: Token; readonly register: Register };

export const Concentration = (shown: Shown) => (
  <div className="space-y-4">
    <HoldingsBySize {...shown} />
    <LargestTogether {...shown} />
  </div>
);

const captionOf = ({ token, register }: Shown): string =>
  `${tokenLabel(token)}, ${momentText(register.timeMs)}, checkpoint ${register.checkpoint}`;

/** Square pixels for a name and a share below it, and for the share alone: the shape of an area wastes some. */
const TWO_LINES = 6_500;
const ONE_LINE = 2_400;
const MAP_HEIGHT = 360;

/** Only for keys that see labels. */
const LABEL: Column<Tile> = {
  header: "Label",
  wideOnly: true,
  cell: ({ label }) =>
    label && (
      <span className="inline-block max-w-44 truncate align-bottom" title={label}>
        {label}
      </span>
    ),
  plain: ({ label }) => label,
};

const HoldingsBySize = (shown: Shown) => {
  const { rows, issued, decimals } = shown.register;
  const { symbol } = shown.token;
  const navigate = useNavigate();
  const { seesLabels, labelOf } = useLabels(shown.token.coinType);
  const tiles = useMemo(
    () => tilesOf(rows, (row) => labelOf(subjectOf(row))?.text ?? undefined),
    [rows, labelOf],
  );
  const describe = useCallback(
    (index: number) => {
      const tile = tiles[index];
      if (tile === undefined) return "";
      const amount = `${amountText(tile.balance, decimals)}${symbol === null ? "" : ` ${symbol}`}`;
      const state = tile.state === "holder" ? [] : [STATES[tile.state].name];
      const label = tile.label === undefined ? [] : [tile.label];
      return [tile.name, ...label, amount, shareText(tile.balance, issued), ...state].join("\n");
    },
    [tiles, issued, decimals, symbol],
  );
  const option = useCallback(
    (colours: Colours, width: number) => ({
      tooltip: tooltip(colours, (point) => {
        const index = member(member(point, "data"), "index");
        return typeof index === "number" ? describe(index) : "";
      }),
      series: [
        {
          type: "treemap",
          // In the order of `tiles`, which is that of the keyboard.
          sort: false,
          data: tiles.map(({ id, name, label, balance, state }, index) => {
            const value = proportion(balance, issued);
            const room = value * width * MAP_HEIGHT;
            return {
              id,
              index,
              value,
              name: `${room < TWO_LINES ? "" : `${label ?? name}\n`}${shareText(balance, issued)}`,
              label: { show: room >= ONE_LINE },
              itemStyle: { color: colours[STATES[state].colour] },
            };
          }),
          roam: false,
          nodeClick: false,
          breadcrumb: { show: false },
          left: 0,
          right: 0,
          top: 0,
          bottom: 0,
          itemStyle: { borderColor: colours.surface, borderWidth: 1, gapWidth: 1 },
          emphasis: { itemStyle: { borderColor: colours.ink, borderWidth: 2 } },
          label: { fontSize: 12, lineHeight: 16, color: colours.surface },
        },
      ],
    }),
    [tiles, issued, describe],
  );
  const columns = useMemo(
    (): readonly Column<Tile>[] => [
      { header: "Holder", cell: ({ name }) => name, plain: ({ id, name }) => id || name },
      ...(seesLabels ? [LABEL] : []),
      amountColumn("Balance", { decimals, symbol }, ({ balance }) => balance),
      {
        header: "Share",
        align: "right",
        cell: ({ balance }) => <span className="figures">{shareText(balance, issued)}</span>,
        plain: ({ balance }) => shareOf(balance, issued),
      },
      {
        header: "State",
        wideOnly: "very",
        cell: ({ state }) => (state === "holder" ? null : STATES[state].name),
        plain: ({ state }) => STATES[state].name,
      },
    ],
    [decimals, symbol, issued, seesLabels],
  );
  const legend = useMemo(
    () =>
      Object.entries(STATES).flatMap(([state, key]) =>
        tiles.some((tile) => tile.state === state) ? [key] : [],
      ),
    [tiles],
  );
  const open = (holder: string) => {
    if (holder === "") return;
    void navigate({ to: "/holder/$holder", params: { holder }, search: keepMoment });
  };
  return (
    <ChartCard
      title="Holdings by size"
      about="Areas are shares of the issued tokens; click one to see the holder"
      caption={captionOf(shown)}
      option={option}
      values={{
        count: tiles.length,
        describe,
        idOf: (index) => tiles[index]?.id ?? "",
        first: 1,
        begin: 0,
      }}
      legend={legend}
      height={MAP_HEIGHT}
      onChoose={open}
      columns={columns}
      rows={tiles}
      keyOf={({ id }) => id}
    />
  );
};

const LargestTogether = (shown: Shown) => {
  const { rows, issued, decimals } = shown.register;
  const { symbol } = shown.token;
  const steps = useMemo(() => largest({ rows }), [rows]);
  const points = useMemo(() => curve({ rows }), [rows]);
  const describe = useCallback(
    (index: number) => {
      const { count, held } = points[index] ?? { count: 0, held: 0n };
      return `Largest ${countText(count)}\n${shareText(held, issued)}`;
    },
    [points, issued],
  );
  const line = useCallback(
    (colours: Colours) => ({
      grid: { left: 4, right: 16, top: 12, bottom: 22, outerBoundsMode: "same" },
      tooltip: {
        ...tooltip(colours, (shownPoints) => {
          const index = member(member(shownPoints, "0"), "dataIndex");
          return typeof index === "number" ? describe(index) : "";
        }),
        trigger: "axis",
      },
      xAxis: {
        type: "value",
        max: rows.length,
        name: "largest holders",
        nameLocation: "middle",
        nameGap: 26,
        nameTextStyle: { color: colours.muted },
        axisLabel: { color: colours.muted },
        splitLine: { show: false },
      },
      yAxis: {
        type: "value",
        max: 1,
        axisLabel: { color: colours.muted, formatter: (value: number) => `${value * 100} %` },
        splitLine: { lineStyle: { color: colours.line } },
      },
      series: [
        {
          type: "line",
          showSymbol: false,
          data: points.map(({ count, held }) => [count, proportion(held, issued)]),
          ...filled(colours.accent),
        },
      ],
    }),
    [rows.length, points, issued, describe],
  );
  return (
    <ChartCard
      title="Concentration"
      about="Share of all tokens that the largest holders have together"
      caption={captionOf(shown)}
      option={line}
      values={{ count: points.length, describe }}
      columns={[
        {
          header: "Largest",
          cell: ({ count }) => countText(count),
          plain: ({ count }) => `${count}`,
        },
        amountColumn("Hold together", { decimals, symbol }, ({ held }: Largest) => held),
        {
          header: "Share",
          align: "right",
          cell: ({ held }) => <span className="figures">{shareText(held, issued)}</span>,
          plain: ({ held }) => shareOf(held, issued),
        },
      ]}
      rows={steps}
      keyOf={({ count }) => String(count)}
    />
  );
};
