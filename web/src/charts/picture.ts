/** A chart as a picture: its title and legend above what is drawn. */
import type { Colours } from "./chart.tsx";

/** Part of a legend, by the name of its colour. */
export type Key = { readonly name: string; readonly colour: keyof Colours };

const SCALE = 2;
const PAD = 16;
const LINE = 22;

/** @throws Error where the browser cannot draw it */
export const pictureOf = async (
  drawn: HTMLCanvasElement,
  { title, about, legend }: { title: string; about: string; legend: readonly Key[] },
  colours: Colours,
): Promise<Blob> => {
  const canvas = document.createElement("canvas");
  const head = PAD + LINE * (legend.length > 1 ? 3 : 2);
  canvas.width = drawn.width + PAD * 2 * SCALE;
  canvas.height = drawn.height + (head + PAD) * SCALE;
  const on = canvas.getContext("2d");
  if (on === null) throw new Error("This browser cannot draw the picture.");
  on.fillStyle = colours.surface;
  on.fillRect(0, 0, canvas.width, canvas.height);
  on.scale(SCALE, SCALE);
  const write = (text: string, x: number, line: number, font: string, colour: string) => {
    on.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
    on.fillStyle = colour;
    on.fillText(text, x, PAD + LINE * line - 8);
    return x + on.measureText(text).width;
  };
  write(title, PAD, 1, "600 15px", colours.ink);
  write(about, PAD, 2, "12px", colours.muted);
  let x = PAD;
  for (const { name, colour } of legend.length > 1 ? legend : []) {
    on.fillStyle = colours[colour];
    on.fillRect(x, PAD + LINE * 3 - 18, 10, 10);
    x = write(name, x + 15, 3, "12px", colours.ink) + 16;
  }
  on.drawImage(drawn, PAD, head, drawn.width / SCALE, drawn.height / SCALE);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) =>
      blob === null ? reject(new Error("This browser cannot draw the picture.")) : resolve(blob),
    ),
  );
};
