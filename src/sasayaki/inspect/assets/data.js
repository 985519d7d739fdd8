// Data: what is embedded in the page, unpacked when it is asked for.
"use strict";

const byId = (id) => document.getElementById(id);
const meta = JSON.parse(byId("meta").textContent);
const peaks = new Int8Array(fromBase64(meta.peaks).buffer);
const MOST_OPEN_WINDOWS = 4;
const opened = new Map();

function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unpack(id) {
  const packed = new Blob([fromBase64(byId(id).textContent)]);
  const stream = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A window with its attempts; spectrogram and attention as rows of bytes. The last few are kept.
function loadWindow(number) {
  if (!opened.has(number)) {
    opened.set(number, readWindow(number));
    if (opened.size > MOST_OPEN_WINDOWS) opened.delete(opened.keys().next().value);
  }
  return opened.get(number);
}

async function readWindow(number) {
  const [data, spectrogram, attention] = await Promise.all(
    ["data", "spectrogram", "attention"].map((kind) => unpack(`${kind}-${number}`)),
  );
  const shown = JSON.parse(new TextDecoder().decode(data));
  shown.spectrogram = spectrogram;
  let offset = 0;
  for (const attempt of shown.attempts) {
    attempt.tokens = winningTokens(attempt);
    if (!attempt.attention) continue;
    const size = attempt.attention.columns * attempt.attention.path.length;
    attempt.attention.levels = attention.subarray(offset, offset + size);
    offset += size;
  }
  return shown;
}

// The tokens of the result, each with its probability after the filters where the way to it is known.
function winningTokens(attempt) {
  return (attempt.hypotheses[0]?.tokens ?? []).map((token, step) => {
    const [, candidates] = attempt.steps[step]?.[0][attempt.path[step]] ?? [0, []];
    const candidate = candidates.find(([id]) => id === token);
    return { token, prob: candidate ? probability(candidate.at(-1)) : null };
  });
}

const probability = (hundredths) => (hundredths === null ? 0 : Math.exp(hundredths / 100));
const isText = (attempt, token) => token !== null && token < attempt.eot;
const isTimestamp = (attempt, token) => token !== null && token >= attempt.timestampBegin;

const logprobText = (hundredths) => (hundredths === null ? "−∞" : (hundredths / 100).toFixed(2));

function percent(share) {
  if (share === null) return "";
  if (share <= 0) return "0 %";
  if (share < 0.001) return "<0.1 %";
  return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
}

function clock(seconds) {
  const minutes = Math.floor(seconds / 60);
  return `${minutes}:${(seconds - 60 * minutes).toFixed(1).padStart(4, "0")}`;
}

// A token as it is spelled, for places where its spaces matter.
function spelled(text) {
  if (text === undefined || text === "") return "∅";
  return text
    .replace(/^<\|(.*)\|>$/, "$1")
    .replace(/ /g, "·")
    .replace(/\n/g, "⏎");
}

function markCurrent(item, isCurrent) {
  if (isCurrent) item.setAttribute("aria-current", "true");
  else item.removeAttribute("aria-current");
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick") made.addEventListener("click", value);
    else if (name.startsWith("--")) made.style.setProperty(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}
