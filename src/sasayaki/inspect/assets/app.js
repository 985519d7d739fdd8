// App: what is selected, and how to select something else.

const REST = 150; // milliseconds
let [remembering, resizing] = [0, 0];
const state = { window: 0, attempt: 0, step: 0, row: 0, shown: null };
const attemptShown = () => state.shown.attempts[state.attempt];

async function openWindow(number, attempt, step) {
  if (!meta.windows[number]) return;
  state.window = number;
  drawOverview(number, openWindow);
  const shown = await loadWindow(number);
  if (state.window !== number) return; // another one was chosen meanwhile
  state.shown = shown;
  const kept = shown.attempts.findIndex((each) => each.isKept);
  openAttempt(shown.attempts[attempt] ? attempt : Math.max(kept, 0), step);
}

function openAttempt(number, step) {
  if (!state.shown?.attempts[number]) return;
  state.attempt = number;
  const attempt = attemptShown();
  drawAttempts(state.shown, number, openAttempt);
  drawWindow(state.window, state.shown, attempt);
  drawTokens(state.shown, attempt, selectStep);
  drawTree(state.shown, attempt);
  drawHypotheses(state.shown, attempt);
  const firstText = attempt.tokens.findIndex((each) => isText(attempt, each.token));
  selectStep(step ?? Math.max(firstText, 0));
}

// Selects a step, and in it the row of the result unless another one is given.
function selectStep(step, row) {
  const attempt = attemptShown();
  if (!attempt.steps.length) {
    clearCandidates();
    return;
  }
  state.step = Math.min(Math.max(step, 0), attempt.steps.length - 1);
  const rows = attempt.steps[state.step][0];
  state.row = Math.min(Math.max(row ?? attempt.path[state.step] ?? 0, 0), rows.length - 1);
  markToken(state.step);
  drawCandidates(state.shown, attempt, state.step, state.row);
  drawCursor(meta.windows[state.window], attempt, state.step);
  markTree(state.step, state.row);
  rememberPlace();
}

// Puts what is selected into the address once the choice rests: browsers limit how often that may be done.
function rememberPlace() {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    history.replaceState(null, "", `#${state.window + 1}.${state.attempt + 1}.${state.step + 1}`);
  }, REST);
}

function setZoom(direction) {
  const next = ZOOMS[ZOOMS.indexOf(zoom) + direction];
  if (!next || !state.shown) return;
  zoom = next;
  drawWindow(state.window, state.shown, attemptShown());
  drawCursor(meta.windows[state.window], attemptShown(), state.step);
}

function redraw() {
  drawOverview(state.window, openWindow);
  if (!state.shown) return;
  drawWindow(state.window, state.shown, attemptShown());
  drawCursor(meta.windows[state.window], attemptShown(), state.step);
}

const KEYS = {
  ArrowLeft: () => selectStep(state.step - 1),
  ArrowRight: () => selectStep(state.step + 1),
  k: () => selectStep(state.step, state.row - 1),
  j: () => selectStep(state.step, state.row + 1),
  "[": () => openWindow(state.window - 1),
  "]": () => openWindow(state.window + 1),
  "+": () => setZoom(1),
  "=": () => setZoom(1),
  "-": () => setZoom(-1),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !state.shown) return;
  const act = KEYS[event.key] ?? (/^[1-9]$/.test(event.key) ? () => openAttempt(Number(event.key) - 1) : null);
  if (!act) return;
  event.preventDefault();
  act();
});

function columnAt(event) {
  const box = event.currentTarget.getBoundingClientRect();
  const summary = meta.windows[state.window];
  return ((event.clientX - box.left) / box.width) * ((summary.end - summary.start) / COLUMN_SECONDS);
}

for (const id of ["wave", "spectrogram"]) {
  byId(id).addEventListener("click", (event) => {
    const token = nearestToken(attemptShown(), columnAt(event));
    if (token !== undefined) selectStep(token);
  });
}
byId("attention").addEventListener("click", (event) => {
  const y = event.clientY - event.currentTarget.getBoundingClientRect().top;
  selectStep(Math.floor(y / attentionRowHeight(attemptShown())));
});
byId("stack").addEventListener("mousemove", (event) => {
  const box = byId("stack-inner").getBoundingClientRect();
  const summary = meta.windows[state.window];
  const at = summary.start + ((event.clientX - box.left) / box.width) * (summary.end - summary.start);
  byId("readout").textContent = `${windowHint(summary)} · at ${at.toFixed(2)} s`;
});
byId("stack").addEventListener("mouseleave", () => {
  byId("readout").textContent = windowHint(meta.windows[state.window]);
});
byId("tree").addEventListener("click", (event) => {
  const node = event.target.closest(".node");
  if (node) selectStep(Number(node.dataset.step), Number(node.dataset.row));
});
byId("previous").addEventListener("click", () => openWindow(state.window - 1));
byId("next").addEventListener("click", () => openWindow(state.window + 1));
byId("zoom-in").addEventListener("click", () => setZoom(1));
byId("zoom-out").addEventListener("click", () => setZoom(-1));
byId("theme").addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
  redraw();
});
darkMedia.addEventListener("change", redraw);
window.addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(redraw, REST);
});

function begin() {
  byId("title").textContent = meta.name;
  const [likeliest] = meta.languageProbs;
  const nRejected = meta.windows.reduce((sum, each) => sum + each.rejected.length, 0);
  const nRetried = meta.windows.filter((each) => each.attempts > 1).length;
  const facts = [
    ["model", meta.model],
    ["language", likeliest ? `${meta.language} (${percent(likeliest[1])})` : meta.language],
    ["length", clock(meta.duration)],
    ["windows", meta.windows.length],
    ["decoded again", nRetried],
    ["rejected", nRejected],
  ];
  byId("facts").replaceChildren(
    ...facts.map(([name, value]) => element("li", {}, `${name} `, element("b", {}, String(value)))),
  );
  const languages = meta.languageProbs.map(([code, prob]) => `${code} ${percent(prob)}`).join(", ");
  const settings = [...(languages ? [["languages", languages]] : []), ...Object.entries(meta.options)];
  byId("options").replaceChildren(
    ...settings.map(([name, value]) =>
      element(
        "div",
        {},
        element("dt", {}, name),
        element("dd", {}, typeof value === "string" ? value : JSON.stringify(value)),
      ),
    ),
  );
  document.querySelector(".scale i").style.background = `linear-gradient(90deg, ${TONES.join(", ")})`;
  if (!meta.windows.length) byId("readout").textContent = "The recording has no window: it is empty.";
  const place = /^#(\d+)\.(\d+)\.(\d+)$/
    .exec(location.hash)
    ?.slice(1)
    .map((part) => Number(part) - 1) ?? [0];
  openWindow(meta.windows[place[0]] ? place[0] : 0, place[1], place[2]);
}

begin();
