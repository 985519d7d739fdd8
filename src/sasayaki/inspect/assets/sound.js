// Sound: the whole recording, and the open window with segments, words, spectrogram and attention on one time axis.

const COLUMN_SECONDS = 0.02;
const MOST_ATTENTION_HEIGHT = 640;
const ZOOMS = [1, 2, 4, 8];
let zoom = 1;

function drawOverview(current, choose) {
  drawWave(byId("overview-wave"), 0, meta.duration);
  const share = (seconds) => `${(100 * seconds) / meta.duration}%`;
  const holder = byId("overview-windows");
  if (!holder.children.length) {
    meta.windows.forEach((each, number) => {
      const width = Math.min(each.next, meta.duration) - each.start;
      const notes = [
        ...(each.attempts > 1 ? [`${each.attempts} attempts`] : []),
        ...(each.isSilent ? ["silent"] : []),
        ...(each.rejected.length ? ["text rejected"] : []),
      ];
      const button = element(
        "button",
        {
          type: "button",
          class: `${each.attempts > 1 ? "retried" : ""} ${each.isSilent ? "silent" : ""}`,
          title: each.text,
          "aria-label": [`Window ${number + 1}`, `${clock(each.start)} to ${clock(each.end)}`, ...notes].join(", "),
          onclick: () => choose(number),
        },
        String(number + 1),
      );
      button.style.left = share(each.start);
      button.style.width = share(width);
      holder.append(button);
    });
  }
  [...holder.children].forEach((button, number) => {
    markCurrent(button, number === current);
  });
}

function drawWindow(number, shown, attempt) {
  const summary = meta.windows[number];
  byId("stack-inner").style.width = `${100 * zoom}%`;
  byId("window-title").textContent = `Window ${number + 1} of ${meta.windows.length}`;
  byId("readout").textContent = windowHint(summary);
  byId("previous").disabled = number === 0;
  byId("next").disabled = number === meta.windows.length - 1;
  byId("zoom-out").disabled = zoom === ZOOMS[0];
  byId("zoom-in").disabled = zoom === ZOOMS.at(-1);
  drawSegments(summary);
  drawWords(summary, attempt, shown.texts);
  drawWave(byId("wave"), summary.start, summary.end);
  const { context, width, height } = fresh(byId("spectrogram"));
  paint(context, shown.spectrogram, shown.columns, shown.mels, "sound", { width, height, isUpwards: true });
  drawAxis(summary);
  drawAttention(attempt, shown.texts);
}

function windowHint(summary) {
  const reasons = [...new Set(summary.rejected.map((segment) => segment.reason))].join(" and ");
  const notes = [
    `${clock(summary.start)} – ${clock(summary.end)}`,
    summary.language,
    ...(summary.isSilent ? ["skipped as silent"] : []),
    ...(reasons ? [`text rejected for ${reasons}`] : []),
  ];
  return notes.join(", ");
}

function place(item, summary, start, end) {
  const length = summary.end - summary.start;
  item.style.left = `${(100 * (start - summary.start)) / length}%`;
  item.style.width = `max(2px, calc(${(100 * (end - start)) / length}% - 1px))`;
  return item;
}

function drawSegments(summary) {
  byId("segments").replaceChildren(
    ...[...summary.segments, ...summary.rejected].map((segment) => {
      const text = segment.text.trim();
      const notes = [
        `${clock(segment.start)} – ${clock(segment.end)} ${text}`,
        ...(segment.speech === null ? [] : [`${segment.speech.toFixed(1)} s of voice`]),
        ...(segment.reason ? [`rejected: ${segment.reason}`] : []),
        ...(segment.isRecovered ? ["recovered"] : []),
      ];
      const item = element(
        "div",
        {
          role: "listitem",
          class: segment.reason ? "rejected" : segment.isRecovered ? "recovered" : "",
          title: notes.join(" · "),
        },
        segment.reason ? element("s", {}, text) : text,
        segment.reason ? ` ${segment.reason}` : "",
      );
      return place(item, summary, segment.start, segment.end);
    }),
  );
}

function drawAxis(summary) {
  const { context, width } = fresh(byId("axis"));
  const length = summary.end - summary.start;
  const gap = [0.1, 0.2, 0.5, 1, 2, 5].find((seconds) => (seconds / length) * width >= 56) ?? 5;
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = context.strokeStyle = ink().soft;
  for (let tick = Math.ceil(summary.start / gap); tick * gap <= summary.end; tick++) {
    const x = ((tick * gap - summary.start) / length) * width;
    context.fillRect(x, 0, 1, 5);
    const label = clock(tick * gap);
    if (x + 4 + context.measureText(label).width < width) context.fillText(label, x + 4, 15);
  }
}

function attentionRowHeight(attempt) {
  const rows = attempt.attention.path.length;
  return Math.max(2.5, Math.min(13, (MOST_ATTENTION_HEIGHT * zoom) / Math.max(rows, 1)));
}

function drawAttention(attempt, texts) {
  const map = attempt.attention;
  const canvas = byId("attention");
  canvas.hidden = !map || !map.path.length;
  byId("attention-note").textContent = canvas.hidden
    ? "No attention was recorded: the engine cannot tell, or nothing was said."
    : `Mean attention of ${map.heads.length} alignment ${map.heads.length === 1 ? "head" : "heads"}, a row for each ` +
      "token from the top, scaled to its own peak. The line is the best way through that never goes back.";
  if (canvas.hidden) return;
  const rowHeight = attentionRowHeight(attempt);
  const rows = map.path.length;
  canvas.style.height = `${rows * rowHeight}px`;
  const { context, width, height } = fresh(canvas, rows * rowHeight);
  paint(context, map.levels, map.columns, rows, "attention", { width, height, isSmooth: false, gamma: 0.6 });
  const x = (row) => ((map.path[row] + 0.5) / map.columns) * width;
  context.strokeStyle = ink().path;
  context.lineWidth = 1.75;
  context.beginPath();
  for (let row = 0; row < rows; row++) {
    context.lineTo(x(row), row * rowHeight);
    context.lineTo(x(row), (row + 1) * rowHeight);
  }
  context.stroke();
  if (rowHeight < 8.5) return;
  context.font = `${Math.min(11, rowHeight - 1)}px ui-monospace, monospace`;
  context.textBaseline = "middle";
  context.fillStyle = ink().line;
  context.strokeStyle = RAMPS.attention[shade()][0];
  context.lineWidth = 3;
  for (let row = 0; row < rows; row++) {
    const label = spelled(texts[attempt.tokens[row].token]).replace(/^·/, "");
    const size = context.measureText(label).width;
    const isRight = x(row) + size + 16 < width;
    const left = isRight ? x(row) + 10 : x(row) - size - 10;
    context.strokeText(label, left, (row + 0.5) * rowHeight + 0.5);
    context.fillText(label, left, (row + 0.5) * rowHeight + 0.5);
  }
}

// Marks the selected token on the time axis and in the attention map.
function drawCursor(summary, attempt, step) {
  const cursor = byId("cursor");
  const column = attempt.attention?.path[step];
  cursor.hidden = column === undefined;
  markWord(step);
  if (cursor.hidden) return;
  const share = ((column + 0.5) * COLUMN_SECONDS) / (summary.end - summary.start);
  cursor.style.left = `${100 * share}%`;
  const stack = byId("stack");
  const x = share * byId("stack-inner").clientWidth;
  if (x < stack.scrollLeft || x > stack.scrollLeft + stack.clientWidth) stack.scrollLeft = x - stack.clientWidth / 2;
}

// The token whose place on the path is nearest to a column; timestamps only where there is nothing else.
function nearestToken(attempt, column) {
  const path = attempt.attention?.path ?? [];
  let best = null;
  path.forEach((at, index) => {
    const distance = Math.abs(at - column) + (isText(attempt, attempt.tokens[index].token) ? 0 : 1000);
    if (best === null || distance < best.distance) best = { index, distance };
  });
  return best?.index;
}
