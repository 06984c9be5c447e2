/** How concentrated a token is: a map of the largest holders, and their cumulative share. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { Card } from "../../blocks/blocks.tsx";
import { amountColumn } from "../../blocks/columns.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { Chart, type Colours, filled, member, pointOf, tooltip } from "../../charts/chart.tsx";
import { keepMoment, type Token } from "../../data/tokens.ts";
import { curve, type Largest, largest } from "../../register/concentration.ts";
import { type Register, rowId, rowLabel } from "../../register/register.ts";
import { amountText, countText, proportion, shareText } from "../../shown/amount.ts";

/** Holders with an area of their own; the others share one. */
const OWN_AREA = 60;

export const Concentration = ({
  token: { symbol },
  register,
}: {
  readonly token: Token;
  readonly register: Register;
}) => {
  const navigate = useNavigate();
  const { rows, issued, decimals } = register;
  const map = useCallback(
    (colours: Colours) => {
      const own = rows.slice(0, OWN_AREA).map((row) => ({
        name: rowLabel(rowId(row), row.holderId),
        id: rowId(row),
        value: proportion(row.balance, issued),
        text: `${amountText(row.balance, decimals)} (${shareText(row.balance, issued)})`,
        // One colour, paler for smaller areas.
        itemStyle: {
          color: colours.accent,
          opacity: 0.55 + 0.45 * proportion(row.balance, rows[0]?.balance ?? 1n),
        },
      }));
      const rest = rows.slice(OWN_AREA).reduce((sum, row) => sum + row.balance, 0n);
      const others = {
        name: `${countText(Math.max(0, rows.length - OWN_AREA))} others`,
        id: "",
        value: proportion(rest, issued),
        text: `${amountText(rest, decimals)} (${shareText(rest, issued)})`,
        itemStyle: { color: colours.muted },
      };
      return {
        tooltip: tooltip(colours, (point) => textOf(point)),
        series: [
          {
            type: "treemap",
            data: rest > 0n ? [...own, others] : own,
            roam: false,
            nodeClick: false,
            breadcrumb: { show: false },
            left: 0,
            right: 0,
            top: 0,
            bottom: 0,
            itemStyle: {
              borderColor: colours.surface,
              borderWidth: 1,
              gapWidth: 1,
              color: colours.accent,
            },
            label: { fontSize: 12, color: colours.surface },
          },
        ],
      };
    },
    [rows, issued, decimals],
  );
  const line = useCallback(
    (colours: Colours) => ({
      grid: { left: 48, right: 16, top: 16, bottom: 40 },
      tooltip: { ...tooltip(colours, curveText), trigger: "axis" },
      xAxis: {
        type: "value",
        max: rows.length,
        name: "largest holders",
        nameLocation: "middle",
        nameGap: 26,
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
          data: curve({ rows, issued }),
          ...filled(colours.accent),
        },
      ],
    }),
    [rows, issued],
  );
  const steps = useMemo(() => largest({ rows }), [rows]);
  const open = (holder: string) =>
    void navigate({ to: "/holder/$holder", params: { holder }, search: keepMoment });
  return (
    <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
      <Card
        title="Holdings by size"
        about="Areas are shares of the issued tokens; click one to see the holder"
        className="lg:col-span-2"
      >
        <Chart label="Map of holdings by size" option={map} height={320} onChoose={open} />
      </Card>
      <Card
        title="Concentration"
        about="Share of all tokens that the largest holders have together"
      >
        <Chart label="Cumulative share of the largest holders" option={line} height={280} />
      </Card>
      <Card title="Concentration in numbers" flush>
        <DataTable
          label="Share of the largest holders"
          rows={steps}
          keyOf={({ count }) => String(count)}
          columns={[
            { header: "Largest", cell: ({ count }) => countText(count) },
            amountColumn("Hold together", { decimals, symbol }, ({ held }: Largest) => held),
            {
              header: "Share",
              align: "right",
              cell: ({ held }) => shareText(held, issued),
            },
          ]}
        />
      </Card>
    </div>
  );
};

const textOf = (point: unknown): string => {
  const data = member(point, "data");
  return `${member(data, "name") ?? ""}\n${member(data, "text") ?? ""}`;
};

const curveText = (points: unknown): string => {
  const point = pointOf(points);
  if (point === null) return "";
  return `largest ${countText(point[0])}: ${(point[1] * 100).toFixed(2)} %`;
};
