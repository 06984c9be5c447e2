/** The dashboard in Grafana's format, built from `rows.ts`. */

import {
  BigValueColorMode,
  BigValueGraphMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from "@grafana/grafana-foundation-sdk/common";
import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  MappingType,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
  VariableRefresh,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as NumberBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as CurveBuilder } from "@grafana/grafana-foundation-sdk/timeseries";
import type { GaugeName } from "../../src/telemetry/catalogue.ts";
import { type Panel, ROWS } from "./rows.ts";

/** Name of the variable below. */
const SOURCE_VARIABLE = "source";

/** The data source, chosen at the top of the dashboard. */
const SOURCE = { type: "prometheus", uid: `\${${SOURCE_VARIABLE}}` };

/** Heights in units of the grid. */
const NUMBER_HEIGHT = 4;
const CURVE_HEIGHT = 8;

/** A metric that every serving process exports; its series list the jobs. */
const EVERYWHERE: GaugeName = "holderbook_database_up";

const queries = ({ lines }: Panel) =>
  lines.map(({ expression, legend }, at) =>
    new DataqueryBuilder()
      .refId(String.fromCharCode("A".charCodeAt(0) + at))
      .expr(expression)
      .legendFormat(legend === "" ? "__auto" : legend),
  );

const mappings = (words: readonly [string, string] | undefined): ValueMapping[] =>
  words === undefined
    ? []
    : [
        {
          type: MappingType.ValueToText,
          options: { "1": { text: words[0], index: 0 }, "0": { text: words[1], index: 1 } },
        },
      ];

const drawn = (panel: Panel) => {
  const { title, about, unit, width } = panel;
  if (panel.kind === "curve") {
    const curve = new CurveBuilder()
      .title(title)
      .description(about)
      .unit(unit)
      .min(0)
      .datasource(SOURCE)
      .span(width)
      .height(CURVE_HEIGHT)
      .fillOpacity(8)
      .lineWidth(1)
      .showPoints(VisibilityMode.Never)
      .legend(
        new VizLegendOptionsBuilder()
          .displayMode(LegendDisplayMode.List)
          .placement(LegendPlacement.Bottom)
          .showLegend(true),
      )
      .tooltip(
        new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending),
      );
    for (const query of queries(panel)) curve.withTarget(query);
    return curve;
  }
  const steps = [
    { value: null, color: "green" },
    ...(panel.warnFrom < panel.alarmFrom ? [{ value: panel.warnFrom, color: "orange" }] : []),
    { value: panel.alarmFrom, color: "red" },
  ];
  const shown = new NumberBuilder()
    .title(title)
    .description(about)
    .unit(unit)
    .noValue("unknown")
    .datasource(SOURCE)
    .span(width)
    .height(NUMBER_HEIGHT)
    .mappings(mappings(panel.words))
    .thresholds(new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps))
    .colorMode(BigValueColorMode.Background)
    .graphMode(BigValueGraphMode.None)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(["lastNotNull"]));
  for (const query of queries(panel)) shown.withTarget(query);
  return shown;
};

/** The whole dashboard. */
export const dashboard = (): Dashboard => {
  const built = new DashboardBuilder("Holderbook")
    .uid("holderbook")
    .description(
      "The holder register; `npm run dashboards` generates this dashboard from its metrics.",
    )
    .tags(["holderbook"])
    .refresh("30s")
    .time({ from: "now-3h", to: "now" })
    .timezone("browser")
    .tooltip(DashboardCursorSync.Crosshair)
    .readonly()
    .withVariable(new DatasourceVariableBuilder(SOURCE_VARIABLE).label("Source").type("prometheus"))
    .withVariable(
      new QueryVariableBuilder("job")
        .label("Job")
        .datasource(SOURCE)
        .query(`label_values(${EVERYWHERE}, job)`)
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .multi(true)
        .includeAll(true)
        .allValue(".+")
        .current({ selected: true, text: "All", value: "$__all" }),
    );
  for (const { title, panels } of ROWS) {
    built.withRow(new RowBuilder(title));
    for (const panel of panels) built.withPanel(drawn(panel));
  }
  return built.build();
};
