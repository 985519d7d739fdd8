// Drawing: themes, colour scales and canvases.

const N_LEVELS = 64; // of spectrogram and attention
const RAMPS = {
  sound: {
    light: ["#f0f2f6", "#c3d3ee", "#6f97d8", "#2f5fb5", "#10264f"],
    dark: ["#0f1318", "#2a1a4a", "#8a2a6b", "#e2693d", "#fbe9a6"],
  },
  attention: {
    light: ["#f0f2f6", "#bfe3dc", "#4fb3a5", "#0b7a6f", "#063b36"],
    dark: ["#0f1318", "#123a3a", "#1f8177", "#62d3bb", "#e4fff5"],
  },
};
const TONES = ["#d1443c", "#e28a2b", "#d9b62f", "#5fae6b", "#1f8f86"]; // improbable … certain
const INK = {
  light: { line: "#1a1f29", soft: "#566072", wave: "#6c83b5", path: "#d1443c" },
  dark: { line: "#e6e9ef", soft: "#98a2b3", wave: "#7f97cf", path: "#ff9a62" },
};

const darkMedia = matchMedia("(prefers-color-scheme: dark)");
const THEMES = ["auto", "light", "dark"];
let theme = "auto";

const shade = () => (theme === "auto" ? (darkMedia.matches ? "dark" : "light") : theme);
const ink = () => INK[shade()];

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// The colour at a share of a list of colours, as [red, green, blue].
function mix(colours, share) {
  const place = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const low = Math.min(Math.floor(place), colours.length - 2);
  const [from, to] = [channels(colours[low]), channels(colours[low + 1])];
  return from.map((value, i) => Math.round(value + (to[i] - value) * (place - low)));
}

const tone = (share) => (share === null ? "#8a93a3" : `rgb(${mix(TONES, share).join(" ")})`);

// A context whose unit is a CSS pixel, cleared; the canvas is as wide as it is laid out.
function fresh(canvas, height = canvas.clientHeight) {
  const width = canvas.clientWidth;
  const scale = Math.min(window.devicePixelRatio || 1, 16000 / Math.max(width, 1));
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return { context, width, height };
}

// Draws rows of bytes as a picture; `isUpwards` puts row 0 at the bottom, a `gamma` below 1 brings out what is faint.
function paint(context, levels, columns, rows, ramp, { width, height, isUpwards = false, isSmooth = true, gamma = 1 }) {
  if (!columns || !rows) return;
  const lookup = Array.from({ length: N_LEVELS }, (_, level) =>
    mix(RAMPS[ramp][shade()], (level / (N_LEVELS - 1)) ** gamma),
  );
  const image = new ImageData(columns, rows);
  for (let row = 0; row < rows; row++) {
    const source = (isUpwards ? rows - 1 - row : row) * columns;
    for (let column = 0; column < columns; column++) {
      const [red, green, blue] = lookup[levels[source + column]];
      image.data.set([red, green, blue, 255], 4 * (row * columns + column));
    }
  }
  const picture = new OffscreenCanvas(columns, rows);
  picture.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = isSmooth;
  context.drawImage(picture, 0, 0, width, height);
}

// The waveform between two times in seconds, as vertical strokes.
function drawWave(canvas, start, end) {
  const { context, width, height } = fresh(canvas);
  const rate = meta.peaksPerSecond;
  context.fillStyle = ink().wave;
  for (let x = 0; x < width; x++) {
    const from = Math.floor((start + ((end - start) * x) / width) * rate);
    const to = Math.max(from + 1, Math.floor((start + ((end - start) * (x + 1)) / width) * rate));
    let low = 0;
    let high = 0;
    for (let peak = from; peak < to && 2 * peak + 1 < peaks.length; peak++) {
      low = Math.min(low, peaks[2 * peak]);
      high = Math.max(high, peaks[2 * peak + 1]);
    }
    const top = (height / 2) * (1 - (0.94 * high) / 127);
    const bottom = (height / 2) * (1 - (0.94 * low) / 127);
    context.fillRect(x, top, 1, Math.max(1, bottom - top));
  }
}
