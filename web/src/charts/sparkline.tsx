/** A trend in a line of text's height, drawn without a library, for first views. */

const [WIDTH, HEIGHT] = [120, 28];

export const Sparkline = ({
  values,
  label,
}: {
  /** At equal distances; where they are drawn, exact numbers are elsewhere. */
  readonly values: readonly number[];
  /** What it shows, in words: from where to where. */
  readonly label: string;
}) => {
  if (values.length < 2) return null;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const places = values.map((value, index) => {
    const x = 1 + (index * (WIDTH - 2)) / (values.length - 1);
    // A flat line is in the middle.
    const share = most === least ? 0.5 : (value - least) / (most - least);
    return `${x.toFixed(1)},${(HEIGHT - 2 - share * (HEIGHT - 4)).toFixed(1)}`;
  });
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="mt-1 h-7 w-full max-w-44 text-accent"
    >
      <title>{label}</title>
      <polyline
        points={places.join(" ")}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
};
